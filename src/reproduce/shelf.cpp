#include "src/reproduce/shelf.h"
#include "src/text/word.h"

#include "softamp/names/names.h"

namespace softamp::reproduce {

Watch::Watch(std::function<void(double)> heard, std::function<bool()> stop)
    : heard_(std::move(heard)), stop_(std::move(stop)) {}

void Watch::at(double done, double total) {
  if (stop_ && stop_()) throw Interrupted{};
  if (heard_) heard_(total > 0 ? done / total : 1);
}

const std::vector<Experiment>& shelf() {
  static const std::vector<Experiment> kShelf = {
      tutorial_lines::experiment(),
      tutorial_sum::experiment(),
      stagnation::experiment(),
      harmonic_series::experiment(),
      recursive_sum::experiment(),
      matvec_error::experiment(),
      decay::experiment(),
      unit_circle::experiment(),
      heat_equation::experiment(),
      random_bits::experiment(),
      half_partials::experiment(),
      loss_scaling::experiment(),
      vanishing_update::experiment(),
      fixed_point::experiment(),
      b200_dumps::experiment(),
      tensor_cores::experiment(),
      tensor_core_vectors::experiment(),
  };
  return kShelf;
}

const Experiment& experiment_called(const std::string& name) {
  std::vector<std::string> known;
  for (const Experiment& e : shelf()) {
    if (same_word(e.name, name)) return e;
    known.push_back(e.name);
  }
  throw UnknownName(unknown_name_message("experiment", name, known));
}

}  // namespace softamp::reproduce
