#include "src/train/run/compare_training.h"

#include <array>
#include <bit>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "softamp/data/sampler.h"
#include "softamp/findings/exception.h"
#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "src/train/run/run_data.h"
#include "src/train/run/run_length.h"
#include "src/train/weights/weight_files.h"

namespace softamp {
namespace {

std::string bits_text(DType dtype, uint64_t code) {
  if (dtype == DType::kInt32) return std::to_string(static_cast<int32_t>(code));
  if (!is_floating(dtype)) return std::to_string(code);
  const FloatFormat format = format_of(dtype);
  return shortest_decimal(format, code) + " (" + code_text(format, code) + ")";
}

/// "gradient 'dense/kernel' of replica 1, element 3".
std::string place_of(const TrainingDifference& d) {
  std::string place = d.part;
  if (!d.tensor.empty()) place += " '" + d.tensor + "'";
  if (d.replica > 0) place += " of replica " + std::to_string(d.replica);
  if (d.part != "loss" && d.part != "result" && d.part != "exception") place += ", element " + std::to_string(d.index);
  return place;
}

class Comparison {
 public:
  Comparison(const TrainSettings& settings, const TrainingComparisonOptions& options)
      : s_(train_detail::settled(settings)),
        o_(options),
        network_(find_network(s_.network)),
        data_(train_detail::load_data(s_, network_)),
        sampler_(data_.train->count(), s_.batch_size, s_.shuffle, s_.seed) {
    if (o_.steps < 1) throw std::invalid_argument("steps is " + std::to_string(o_.steps) + "; expected 1 or more");
    TrainSettings other = s_;
    other.backend = o_.other;
    other = train_detail::settled(other);
    found_.left = s_.backend;
    found_.right = other.backend;
    const int64_t epoch = train_detail::steps_per_epoch(s_, network_, data_.train->count());
    const int64_t steps = train_detail::steps_of_run(s_, epoch);
    const TrainSettings* const sides[] = {&s_, &other};
    for (size_t i = 0; i < trainers_.size(); ++i) {
      TrainerOptions t = train_detail::options_of_run(*sides[i], steps);
      t.keep_gradients = true;
      t.executor.stop = o_.stop;
      trainers_[i] = std::make_unique<Trainer>(train_detail::model_of(*sides[i], network_), std::move(t));
    }
    if (!s_.initial.empty())
      for (const auto& trainer : trainers_) train_detail::set_weights(*trainer, s_.initial);
    for (const VariableSpec& v : left().model().variables) variables_.emplace_back("parameter", v.name);
    const size_t parameters = variables_.size();
    const Trainer::State state = left().state();
    for (size_t i = parameters; i < state.tensors[0].size(); ++i)
      variables_.emplace_back("slot", state.tensors[0][i].first);
  }

  TrainingComparison run() {
    if (o_.on_step) o_.on_step(step_, left(), right());
    if (!same_variables()) return found_;
    for (step_ = 0; step_ < o_.steps; ++step_) {
      try {
        if (!same_step()) return found_;
      } catch (const RunStopped&) {
        found_.stopped = true;
        return found_;
      }
      ++found_.steps;
      if (step_ + 1 < o_.steps && o_.stop && o_.stop()) {
        found_.stopped = true;
        return found_;
      }
    }
    return found_;
  }

 private:
  Trainer& left() { return *trainers_[0]; }
  Trainer& right() { return *trainers_[1]; }

  struct Stepped {
    StepResult result;
    std::string exception;
  };
  static Stepped stepped(Trainer& trainer, std::span<const Batch> batches) {
    try {
      return {trainer.step(batches), ""};
    } catch (const FloatingPointError& e) {
      return {{}, e.what()};
    }
  }

  /// False: the run ends here, with a difference or with an exception that is the same on both.
  bool same_step() {
    if (o_.on_step) o_.on_step(step_, left(), right());
    const std::vector<Batch> batches = train_detail::batches_of(s_, *data_.train, sampler_, step_);
    const Stepped a = stepped(left(), batches), b = stepped(right(), batches);
    if (a.exception != b.exception) {
      const auto said = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
      return differ("exception", "", 0, 0, said(a.exception), said(b.exception));
    }
    if (!a.exception.empty()) {
      found_.exception = a.exception;
      return false;
    }
    return same_number("loss", "", std::bit_cast<uint64_t>(a.result.loss), std::bit_cast<uint64_t>(b.result.loss),
                       [](uint64_t code) { return bits_text(DType::kFloat64, code); }) &&
           same_gradients() && same_variables() && same_rest(a.result, b.result);
  }

  bool same_gradients() {
    const Trainer::Gradients &a = left().gradients(), &b = right().gradients();
    for (size_t r = 0; r < a.size(); ++r)
      for (size_t v = 0; v < a[r].size(); ++v)
        if (!same_tensor("gradient", a[r][v].first, static_cast<int>(r), a[r][v].second, b.at(r).at(v).second))
          return false;
    return true;
  }

  bool same_variables() {
    for (int r = 0; r < s_.replicas; ++r)
      for (const auto& [part, name] : variables_)
        if (!same_tensor(part, name, r, left().variable(name, r), right().variable(name, r))) return false;
    return true;
  }

  bool same_rest(const StepResult& a, const StepResult& b) {
    const auto whole = [](uint64_t x) { return std::to_string(x); };
    const auto flags = [](uint64_t x) { return x ? flag_names(static_cast<uint8_t>(x)) : std::string("no flag"); };
    const auto scale = [](uint64_t x) { return bits_text(DType::kFloat32, x); };
    return same_number("result", "applied", a.applied, b.applied, whole) &&
           same_number("result", "status", a.status, b.status, flags) &&
           same_number("result", "nonfinite", static_cast<uint64_t>(a.nonfinite), static_cast<uint64_t>(b.nonfinite),
                       whole) &&
           same_number("result", "scale_after", std::bit_cast<uint32_t>(a.scale_after),
                       std::bit_cast<uint32_t>(b.scale_after), scale);
  }

  template <class Text>
  bool same_number(const char* part, const char* name, uint64_t a, uint64_t b, Text&& text) {
    ++found_.tensors;
    ++found_.elements;
    return a == b || differ(part, name, 0, 0, text(a), text(b));
  }

  bool same_tensor(const char* part, const std::string& name, int replica, const Tensor& a, const Tensor& b) {
    ++found_.tensors;
    if (a.same_bits(b)) {
      found_.elements += a.elements();
      return true;
    }
    // The same graph gave both types.
    int64_t i = 0;
    while (a.code(i) == b.code(i)) ++i;
    found_.elements += i + 1;
    return differ(part, name, replica, i, bits_text(a.dtype(), a.code(i)), bits_text(b.dtype(), b.code(i)));
  }

  bool differ(std::string part, std::string name, int replica, int64_t index, std::string a, std::string b) {
    found_.difference =
        TrainingDifference{step_, std::move(part), std::move(name), replica, index, std::move(a), std::move(b)};
    return false;
  }

  TrainSettings s_;
  const TrainingComparisonOptions& o_;
  NetworkInfo network_;
  train_detail::SampleSets data_;
  Sampler sampler_;
  std::array<std::unique_ptr<Trainer>, 2> trainers_;
  std::vector<std::pair<const char*, std::string>> variables_;  ///< "parameter" or "slot", name
  int64_t step_ = -1;
  TrainingComparison found_;
};

}  // namespace

std::string TrainingComparison::text() const {
  std::string said;
  if (difference) {
    const TrainingDifference& d = *difference;
    said = (d.step < 0 ? std::string("before the first step") : "step " + std::to_string(d.step)) + ": " + place_of(d) +
           ": " + left + " has " + d.left + ", " + right + " has " + d.right + '\n';
  }
  const auto count = [](int64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
  said += "compared " + left + " with " + right + ": " + count(steps, "equal step") + ", " + count(tensors, "tensor") +
          ", " + count(elements, "element") + ": " +
          (difference           ? "the last one differs"
           : !exception.empty() ? "all equal, up to an exception that both raise: " + exception
           : stopped            ? "all equal, interrupted"
                                : "all equal");
  return said;
}

TrainingComparison compare_training(const TrainSettings& settings, const TrainingComparisonOptions& options) {
  const engine::DefaultEnvironment guard;
  return Comparison(settings, options).run();
}

}  // namespace softamp
