// Hyperparameters: their ranges, and their values in the dtype of an update (TUTORIAL G27, G30, G36).
#include <algorithm>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/train/optimizer.h"
#include "src/numbers/decimal_text.h"
#include "src/text/word.h"

namespace softamp {
namespace {

constexpr double kInfinity = __builtin_huge_val();

bool is_finite(double x) { return x - x == 0; }
double magnitude(double x) { return x < 0 ? -x : x; }

/// Enough to tell values of float16 and bfloat16 apart.
std::string short_text(double value) { return significant_digits(value, 8); }

double rounded(double value, DType dtype) { return Tensor::full(dtype, {}, value).value(0); }
double smallest_normal(DType dtype) { return value_of(format_of(dtype), format_of(dtype).min_normal_code()); }
double smallest(DType dtype) { return value_of(format_of(dtype), 1); }
double largest(DType dtype) { return value_of(format_of(dtype), format_of(dtype).max_finite_code()); }

// implements: N258
bool is_doubtful(double asked, double got, DType dtype) {
  if (asked == 0) return false;
  return magnitude(got) < smallest_normal(dtype) || !is_finite(got) ||
         magnitude(got - asked) > 0.005 * magnitude(asked);
}

/// 1 - x of a rounded x: nothing in it underflows, but it keeps few digits of x.
// implements: N256
HyperparameterCheck complement(const HyperparameterCheck& x) {
  HyperparameterCheck c{"1 - " + x.name, 1 - x.asked, 1 - x.got, x.dtype, false};
  c.of = CheckedQuantity::kComplement;
  c.doubtful = c.got <= 0 || magnitude(c.got - c.asked) > 0.005 * c.asked;
  return c;
}

/// What becomes of a weight while the second moment of its gradients rounds to 0, as it does where (1 - beta2) g^2 is
/// at most half the smallest number: a step is the first moment, at most g, over epsilon.
HyperparameterCheck second_moment(double beta1, double beta2, double epsilon, DType slot) {
  HyperparameterCheck c{"second moment", (1 - beta1) / __builtin_sqrt(1 - beta2), 0, slot};
  c.of = CheckedQuantity::kSecondMoment;
  c.least_gradient = __builtin_sqrt(smallest(slot) / 2 / (1 - beta2));
  c.got = c.least_gradient / epsilon;
  c.doubtful = c.got > c.asked;
  return c;
}

struct KindName {
  OptimizerKind kind;
  const char* name;
};
constexpr KindName kKinds[] = {
    {OptimizerKind::kSgd, "sgd"},           {OptimizerKind::kMomentum, "momentum"},
    {OptimizerKind::kNesterov, "nesterov"}, {OptimizerKind::kRmsProp, "rmsprop"},
    {OptimizerKind::kAdam, "adam"},         {OptimizerKind::kAdamW, "adamw"},
};

constexpr const char* kWeightUpdates[] = {"default", "nearest", "stochastic", "kahan"};

bool narrow_enough(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16 || t == DType::kFloat32; }

}  // namespace

const char* name_of(OptimizerKind kind) {
  for (const KindName& k : kKinds)
    if (k.kind == kind) return k.name;
  return "unknown";
}

OptimizerKind parse_optimizer(std::string_view text) {
  std::vector<std::string> known;
  for (const KindName& k : kKinds) {
    if (same_word(text, k.name)) return k.kind;
    known.emplace_back(k.name);
  }
  throw UnknownName(unknown_name_message("optimizer", text, known));
}

const char* name_of(WeightUpdate update) {
  return update <= WeightUpdate::kKahan ? kWeightUpdates[static_cast<size_t>(update)] : "unknown";
}

WeightUpdate parse_weight_update(std::string_view text) {
  std::vector<std::string> known;
  for (const char* name : kWeightUpdates) {
    if (same_word(text, name)) return static_cast<WeightUpdate>(known.size());
    known.emplace_back(name);
  }
  throw UnknownName(unknown_name_message("weight update", text, known));
}

OptimizerOptions OptimizerOptions::of(OptimizerKind kind) {
  OptimizerOptions o;
  o.kind = kind;
  if (kind == OptimizerKind::kRmsProp) o.momentum = 0;
  if (kind == OptimizerKind::kAdamW) o.weight_decay = 0.01;
  return o;
}

void OptimizerOptions::validate() const {
  const engine::DefaultEnvironment guard;
  const std::string who = std::string("optimizer ") + name_of(kind) + ": ";
  const auto expect = [&](bool good, const char* field, const std::string& value, const char* expected) {
    if (!good) throw std::invalid_argument(who + field + " is " + value + "; expected " + expected);
  };
  const auto number = [&](bool good, const char* field, double value, const char* expected) {
    expect(good, field, shortest_decimal(value), expected);
  };
  expect(kind <= OptimizerKind::kAdamW, "kind", std::to_string(static_cast<int>(kind)), "an OptimizerKind");
  number(learning_rate >= 0 && learning_rate < kInfinity, "learning_rate", learning_rate, "a finite number from 0");
  number(momentum >= 0 && momentum < 1, "momentum", momentum, "a number of [0, 1)");
  number(rho >= 0 && rho < 1, "rho", rho, "a number of [0, 1)");
  number(beta1 >= 0 && beta1 < 1, "beta1", beta1, "a number of [0, 1)");
  number(beta2 >= 0 && beta2 < 1, "beta2", beta2, "a number of [0, 1)");
  number(epsilon > 0 && epsilon < kInfinity, "epsilon", epsilon, "a finite number above 0");
  number(weight_decay >= 0 && weight_decay < kInfinity, "weight_decay", weight_decay, "a finite number from 0");
  number(weight_decay == 0 || kind == OptimizerKind::kAdamW, "weight_decay", weight_decay,
         "0: adamw alone has a decay of weights");
  expect(!decay_matrices_only || kind == OptimizerKind::kAdamW, "decay_matrices_only", "true",
         "false: adamw alone has a decay of weights");
  try {
    schedule.validate(learning_rate);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(who + e.what());
  }
  expect(weight_update <= WeightUpdate::kKahan, "weight_update", std::to_string(static_cast<int>(weight_update)),
         "a WeightUpdate");
  if (state) expect(narrow_enough(*state), "state", name_of(*state), "float16, bfloat16 or float32");
  if (hyperparameters)
    expect(narrow_enough(*hyperparameters), "hyperparameters", name_of(*hyperparameters),
           "float16, bfloat16 or float32");
}

// implements: N258
HyperparameterCheck check_hyperparameter(std::string_view name, double asked, DType dtype) {
  const engine::DefaultEnvironment guard;
  if (!is_finite(asked))
    throw std::invalid_argument("hyperparameter " + std::string(name) + " is " + shortest_decimal(asked) +
                                "; expected a finite number");
  if (!is_floating(dtype))
    throw std::invalid_argument("hyperparameter " + std::string(name) + ": dtype is " + name_of(dtype) +
                                "; expected a floating one");
  const double got = rounded(asked, dtype);
  return {std::string(name), asked, got, dtype, is_doubtful(asked, got, dtype)};
}

std::string HyperparameterCheck::text() const {
  const engine::DefaultEnvironment guard;
  std::string said = name + " " + short_text(asked) + " is " + short_text(got) + " in " + name_of(dtype);
  if (of == CheckedQuantity::kSecondMoment)
    return name + ": 0 in " + name_of(dtype) + " for gradients below " + significant_digits(least_gradient, 3) +
           ", which then move a weight by up to " + significant_digits(got, 3) + " learning rates, not " +
           significant_digits(asked, 3);
  const double size = magnitude(got), error = magnitude(got - asked);
  if (of == CheckedQuantity::kComplement) {
    if (doubtful && got <= 0) return said + ": " + name.substr(4) + " is rounded to 1";
  } else if (asked != 0 && got == 0) {
    return said + " (smallest positive " + short_text(smallest(dtype)) + ")";
  } else if (asked != 0 && size < smallest_normal(dtype)) {
    return said + ", a subnormal number (smallest normal " + short_text(smallest_normal(dtype)) + ")";
  } else if (!is_finite(got)) {
    return said + " (largest " + short_text(largest(dtype)) + ")";
  }
  if (doubtful) said += " (off by " + short_text(static_cast<double>(static_cast<float>(100 * error / asked))) + " %)";
  return said;
}

std::string HyperparameterCheck::warning() const {
  return text() + (cure.empty() ? std::string() : "; to cure it: " + cure);
}

namespace {

std::vector<HyperparameterCheck> all_checks(const OptimizerOptions& o, DType variable, double loss_scale) {
  const DType in = o.hyperparameters.value_or(variable), slot = o.state.value_or(variable);
  std::vector<HyperparameterCheck> all;
  // Plain nodes take constants of the dtype that they compute in.
  const auto add = [&](const char* name, double asked, DType constant) {
    HyperparameterCheck c = check_hyperparameter(name, asked, in);
    if (o.separate_roundings && constant != in && is_finite(c.got)) {
      c.got = rounded(c.got, constant);
      c.dtype = constant;
      c.doubtful = is_doubtful(asked, c.got, constant);
    }
    all.push_back(c);
  };
  const auto add_mean = [&](const char* name, double asked) {
    add(name, asked, slot);
    all.push_back(complement(HyperparameterCheck(all.back())));
  };
  add("learning_rate", o.learning_rate / loss_scale, in);
  switch (o.kind) {
    case OptimizerKind::kSgd: break;
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov: add("momentum", o.momentum, slot); break;
    case OptimizerKind::kRmsProp:
      add_mean("rho", o.rho);
      add("momentum", o.momentum, slot);
      add("epsilon", o.epsilon, slot);
      break;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      add_mean("beta1", o.beta1);
      add_mean("beta2", o.beta2);
      add("epsilon", o.epsilon, variable);
      // Where 1 - beta2 or epsilon is 0, that is a doubt of its own.
      if (const HyperparameterCheck& beta1 = all[1], &beta2 = all[3], &epsilon = all[5]; beta2.got < 1)
        all.push_back(second_moment(beta1.got, beta2.got, epsilon.got > 0 ? epsilon.got : epsilon.asked, slot));
      if (o.kind == OptimizerKind::kAdamW)
        add("learning_rate * weight_decay", o.learning_rate * o.weight_decay, variable);
      break;
  }
  return all;
}

/// The first of these that takes the doubt from a hyperparameter. An epsilon that is no longer 0, beside a second
/// moment that is, would only be the smaller of two divisors: none is offered that leaves such a second moment.
// implements: N258
void find_cures(std::vector<HyperparameterCheck>& all, OptimizerOptions o, DType variable, double loss_scale) {
  std::string settings;
  const auto offer = [&](const char* setting) {
    settings += (settings.empty() ? "--set " : " --set ") + std::string(setting);
    const std::vector<HyperparameterCheck> then = all_checks(o, variable, loss_scale);
    const auto still_doubtful = [&](const auto& is_meant) {
      return std::any_of(then.begin(), then.end(), [&](const auto& c) { return c.doubtful && is_meant(c); });
    };
    if (still_doubtful([](const auto& c) { return c.of == CheckedQuantity::kSecondMoment; })) return;
    for (HyperparameterCheck& c : all)
      if (c.doubtful && c.cure.empty() && !still_doubtful([&](const auto& t) { return t.name == c.name; }))
        c.cure = settings;
  };
  o.hyperparameters = DType::kFloat32;
  offer("hyperparameters=float32");
  o.state = DType::kFloat32;
  offer("optimizer_state=float32");
}

}  // namespace

std::vector<HyperparameterCheck> Optimizer::check(DType dtype, double loss_scale) const {
  const engine::DefaultEnvironment guard;
  if (!(loss_scale > 0 && is_finite(loss_scale)))
    throw std::invalid_argument("optimizer " + std::string(name_of(options_.kind)) + ": loss scale is " +
                                shortest_decimal(loss_scale) + "; expected a positive finite number");
  std::vector<HyperparameterCheck> all = all_checks(options_, dtype, loss_scale);
  find_cures(all, options_, dtype, loss_scale);
  if (!options_.strict) return all;
  std::string doubts;
  for (const HyperparameterCheck& c : all)
    if (c.doubtful) doubts += (doubts.empty() ? "" : "; ") + c.warning();
  if (!doubts.empty()) throw std::invalid_argument("optimizer " + std::string(name_of(options_.kind)) + ": " + doubts);
  return all;
}

// implements: N257
double Optimizer::rate(int64_t t, double loss_scale) const {
  return engine::in_default_environment([&] {
    const std::string who = std::string("optimizer ") + name_of(options_.kind) + ": ";
    if (t < 1) throw std::invalid_argument(who + "step is " + std::to_string(t) + "; expected 1 or more");
    if (!(loss_scale > 0 && is_finite(loss_scale)))
      throw std::invalid_argument(who + "loss scale is " + shortest_decimal(loss_scale) +
                                  "; expected a positive finite number");
    const double divided = options_.schedule.rate(options_.learning_rate, t) / loss_scale;
    if (options_.kind != OptimizerKind::kAdam && options_.kind != OptimizerKind::kAdamW) return divided;
    // Powers below 2^-60 do not change 1 - power.
    const auto power = [t](double beta) {
      double p = 1;
      for (int64_t i = 0; i < t && p > 0x1p-60; ++i) p *= beta;
      return p;
    };
    const double root = __builtin_sqrt(1 - power(options_.beta2));
    return divided * root / (1 - power(options_.beta1));
  });
}

bool Optimizer::feeds_decay() const {
  return options_.kind == OptimizerKind::kAdamW && options_.weight_decay > 0 && options_.schedule.varies();
}

double Optimizer::decay(int64_t t) const {
  return engine::in_default_environment(
      [&] { return options_.schedule.rate(options_.learning_rate, t) * options_.weight_decay; });
}

}  // namespace softamp
