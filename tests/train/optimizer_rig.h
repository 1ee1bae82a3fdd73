// What tests of optimizers share: one variable whose gradient is fed, on an executor; and the formulas of the updates
// from exact numbers.
#pragma once

#include <bit>
#include <cmath>
#include <memory>

#include "softamp/numerics/random.h"
#include "softamp/train/optimizer.h"
#include "tests/graph/executor_check.h"
#include "tests/oracle/exact_rounding.h"

namespace softamp::test {

constexpr DType kF16 = DType::kFloat16, kB16 = DType::kBFloat16, kF32 = DType::kFloat32;

/// w, its slots, and an update from the fed gradient: placeholders "g", "lr", "apply".
struct UpdateRig {
  UpdateRig(const OptimizerOptions& options, const TensorType& w, DType gradient, ExecutorOptions run_options = {})
      : optimizer(options), gradient_dtype(gradient), type(w) {
    GraphBuilder b;
    const Variable variable{"w", b.add_named("w", "VariableV2", {}, {{"dtype", w.dtype}, {"shape", w.shape}})};
    const Port g = b.placeholder("g", gradient, w.shape);
    const Port lr = b.placeholder("lr", DType::kFloat32, {}), apply = b.placeholder("apply", DType::kBool, {});
    optimizer.apply_gradients(b, std::vector<GradientAndVariable>{{g, variable}}, lr, apply);
    run_options.status = true;
    executor = make_executor(b.build(), std::move(run_options));
    for (const VariableSpec& s : optimizer.slots({"w", w, {}, true})) {
      slots.push_back(s.name);
      const double first = s.initializer == Initializer::ones() ? 1 : 0;
      executor->set_variable(s.name, Tensor::full(s.type.dtype, s.type.shape, first));
    }
  }

  void set(const std::string& name, const std::vector<double>& values) {
    executor->set_variable(name, tensor(executor->variable(name).dtype(), type.shape, values));
  }
  uint8_t step(const std::vector<double>& g, double rate, bool apply = true) {
    const Tensor gradient = tensor(gradient_dtype, type.shape, g), lr = Tensor::full(DType::kFloat32, {}, rate),
                 flag = Tensor::full(DType::kBool, {}, apply);
    return run(*executor, {{"g", &gradient}, {"lr", &lr}, {"apply", &flag}}, {}).flags;
  }
  const Tensor& w() const { return executor->variable("w"); }
  const Tensor& slot(size_t i) const { return executor->variable(slots[i]); }

  Optimizer optimizer;
  DType gradient_dtype;
  TensorType type;
  std::unique_ptr<Executor> executor;
  std::vector<std::string> slots;
};

/// A binary64 number, exactly.
inline oracle::Dyadic exact(double x) { return oracle::decode(kBinary64, std::bit_cast<uint64_t>(x)).value(); }

/// r of kernel/optimizers.h for the sum a + b: site -> code.
using Store = std::function<double(int site, const oracle::Dyadic& sum, bool negative_zero)>;

/// One element by the formulas; slots are updated, the new w is returned. Every inner step is one rounding of binary64;
/// a product of two numbers of 24 bits is exact in it.
inline double expected_update(const OptimizerOptions& o, double w, double slot[2], double g, double lr, double decay,
                              const Store& store) {
  const auto r = [&](int site, double a, double b) {
    return store(site, exact(a) + exact(b), std::signbit(a) && std::signbit(b));
  };
  switch (o.kind) {
    case OptimizerKind::kSgd: return r(0, w, -(lr * g));
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov: {
      const double acc = slot[0] = r(1, o.momentum * slot[0], g);
      if (o.kind == OptimizerKind::kMomentum) return r(0, w, -(lr * acc));
      const double ahead = g + o.momentum * acc;
      return r(0, w, -(lr * ahead));
    }
    case OptimizerKind::kRmsProp: {
      const double rest = (1 - o.rho) * (g * g);
      const double ms = slot[0] = r(1, o.rho * slot[0], rest);
      const double inner = ms + o.epsilon;
      const double root = std::sqrt(inner), scaled = lr * g;
      const double mom = slot[1] = r(2, o.momentum * slot[1], scaled / root);
      return r(0, w, -mom);
    }
    default: {
      const double first = (1 - o.beta1) * g, second = (1 - o.beta2) * (g * g);
      const double m = slot[0] = r(1, o.beta1 * slot[0], first);
      const double v = slot[1] = r(2, o.beta2 * slot[1], second);
      const double root = std::sqrt(v);
      const double divisor = root + o.epsilon;
      const double quotient = lr * m / divisor;
      return r(0, w, -(quotient + decay * w));
    }
  }
}

/// The options with all hyperparameters rounded to nearest to their dtype, by the oracle's rounding.
inline OptimizerOptions rounded_options(OptimizerOptions o, DType dtype) {
  const FloatFormat f = format_of(o.hyperparameters.value_or(dtype));
  for (double* x : {&o.momentum, &o.rho, &o.beta1, &o.beta2, &o.epsilon}) {
    const uint64_t code = oracle::round_value(f, exact(*x), RoundingPolicy{}).code;
    const oracle::Dyadic v = oracle::decode(f, code).value();
    *x = std::ldexp(static_cast<double>(v.significand), v.exponent);
  }
  return o;
}

inline double value_of_code(const FloatFormat& f, uint64_t code) {
  const oracle::Decoded d = oracle::decode(f, code);
  if (d.nan()) return std::nan("");
  if (d.infinite()) return d.negative ? -HUGE_VAL : HUGE_VAL;
  const double magnitude = std::ldexp(static_cast<double>(d.magnitude.significand), d.magnitude.exponent);
  return d.negative ? -magnitude : magnitude;
}

}  // namespace softamp::test
