#include "src/reproduce/shelf.h"

#include "softamp/report/names.h"

namespace softamp::reproduce {

Watch::Watch(std::function<void(double)> heard, std::function<bool()> stop)
    : heard_(std::move(heard)), stop_(std::move(stop)) {}

void Watch::at(double done, double total) {
  if (stop_ && stop_()) throw Interrupted{};
  if (heard_) heard_(total > 0 ? done / total : 1);
}

const std::vector<Experiment>& shelf() {
  static const std::vector<Experiment> kShelf = {
      tutorial_lines(),   tutorial_sum(), stagnation(),    harmonic_series(),
      recursive_sum(),    matvec_error(), decay(),         unit_circle(),
      heat_equation(),    random_bits(),  half_partials(), loss_scaling(),
      vanishing_update(), fixed_point(),  b200_dumps(),    tensor_cores(),
  };
  return kShelf;
}

const Experiment& experiment_called(const std::string& name) {
  std::vector<std::string> known;
  for (const Experiment& e : shelf()) {
    if (e.name == name) return e;
    known.push_back(e.name);
  }
  throw UnknownName(unknown_name_message("experiment", name, known));
}

}  // namespace softamp::reproduce
