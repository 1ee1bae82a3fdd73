// What the cases of operations on independent elements share: graphs of many operations on few operands, and settings
// that turn every switch once.
#pragma once

#include "parity.h"
#include "softamp/graph/operation.h"

namespace softamp::parity {

/// A case in the making. All tensors are looked at unless `fetches` says which.
class Elements {
 public:
  Elements(std::string name, const Setting& setting) : name_(std::move(name)), options_(setting.options) {}

  GraphBuilder builder;
  std::vector<std::string> fetches;
  int steps = 3;

  /// A placeholder with a feed: floats() and truths(), int32 of all magnitudes.
  Port operand(const std::string& name, DType type, const Shape& shape) {
    const uint64_t seed = 1 + feeds_.size() * 1000;
    if (is_floating(type))
      feeds_.emplace(name, floats(type, shape, seed));
    else if (type == DType::kBool)
      feeds_.emplace(name, truths(shape, seed));
    else
      feeds_.emplace(name, seed % 3 ? integers(shape, seed, -9, 9) : integers(shape, seed, INT32_MIN, INT32_MAX));
    return builder.placeholder(name, type, shape);
  }

  void run(Suite& suite) {
    if (!suite.wants(name_)) return;
    suite.run({name_, builder.build(), std::move(feeds_), fetches, options_, steps});
  }

 private:
  std::string name_;
  ExecutorOptions options_;
  std::map<std::string, Tensor> feeds_;
};

/// A case `what` of all that `add` makes of two operands of one shape.
template <class Add>
void run_on_two(Suite& suite, const Setting& setting, DType t, const Shape& shape, const std::string& what, int steps,
                const Add& add) {
  const std::string name = what + " " + name_of(t) + " " + setting.name;
  if (!suite.wants(name)) return;
  Elements e(name, setting);
  const Port x = e.operand("x", t, shape), y = e.operand("y", t, shape);
  add(e.builder, x, y);
  e.steps = steps;
  e.run(suite);
}

/// The IPU's preset with one switch turned, under esr and nanoo; and IEEE's with other roundings, with flags that tell
/// of inexact results and without.
inline const std::vector<Setting>& odd_settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list;
    const auto add = [&](const std::string& name, auto&& turn) {
      for (const bool esr : {false, true}) {
        ExecutorOptions o;
        o.config.set("floating_point_behaviour.esr", esr);
        o.config.set("floating_point_behaviour.nanoo", esr);
        o.seed = 99;
        turn(o);
        list.push_back({name + (esr ? " esr nanoo" : ""), o});
      }
    };
    const auto turned = [&](const std::string& name, auto IpuSwitches::*field, auto value) {
      add(name, [=](ExecutorOptions& o) { o.switches.*field = value; });
    };
    turned("positive flush", &IpuSwitches::f32_flush_sign, FlushSign::kPositive);
    turned("operands kept", &IpuSwitches::f32_daz, false);
    turned("results kept", &IpuSwitches::f32_ftz, false);
    add("subnormals kept", [](ExecutorOptions& o) { o.switches.f32_daz = o.switches.f32_ftz = false; });
    turned("infinity greatest", &IpuSwitches::half_inf_operand, InfinityOperand::kMaxFinite);
    turned("infinity NaN", &IpuSwitches::half_inf_operand, InfinityOperand::kNan);
    turned("infinity next binade", &IpuSwitches::half_inf_operand, InfinityOperand::kNextBinade);
    turned("infinity raises both", &IpuSwitches::inf_to_half_flags, InfToHalfFlags::kOfloAndInv);
    turned("overflow exact", &IpuSwitches::overflow_rule, OverflowRule::kExact);
    turned("overflow halfway", &IpuSwitches::overflow_rule, OverflowRule::kHalfway);
    turned("overflow power", &IpuSwitches::overflow_rule, OverflowRule::kPower);
    turned("fp32 saturates", &IpuSwitches::f32_overflow_result, F32OverflowResult::kSaturate);
    turned("fp32 NaN", &IpuSwitches::f32_overflow_result, F32OverflowResult::kNanIfNanoo);
    turned("NaN all ones", &IpuSwitches::nan_pattern, NanPattern::kAllOnes);
    turned("NaN propagates", &IpuSwitches::nan_pattern, NanPattern::kPropagate);
    turned("pole raises nothing", &IpuSwitches::pole_flag, PoleFlag::kNone);
    turned("half form", &IpuSwitches::sr_form, StochasticVariant::kHalf);
    turned("nearest even form", &IpuSwitches::sr_form, StochasticVariant::kRne);
    turned("odd form", &IpuSwitches::sr_form, StochasticVariant::kOdd);
    turned("at least form", &IpuSwitches::sr_form, StochasticVariant::kAtLeast);
    turned("NaN infinite", &IpuSwitches::nan_pattern, NanPattern::kInfinity);
    for (const bool aligned : {false, true})
      add(aligned ? "as if normal" : "unsigned zeros", [=](ExecutorOptions& o) {
        o.semantics = Semantics::ipu(o.config.behaviour(), o.switches);
        o.semantics->wide.signed_zeros = o.semantics->narrow.signed_zeros = aligned;
        if (aligned) o.semantics->narrow.alignment = RandomAlignment::kAsIfNormal;
      });
    for (const int bits : {1, 8, 12, 14, 16, 17, 23, 32})
      turned(std::to_string(bits) + " bits", &IpuSwitches::sr_bits, bits);
    add("tile order", [](ExecutorOptions& o) { o.random = RandomEngine::kXoroshiro128aox; });

    for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero,
                                    RoundingMode::kUp, RoundingMode::kDown, RoundingMode::kStochastic})
      for (const bool quiet : {false, true}) {
        RoundingPolicy policy = RoundingPolicy::ieee(mode);
        if (quiet) policy.flags = kInvalid | kDivideByZero | kOverflow;
        ExecutorOptions o;
        o.semantics = Semantics::ieee(policy);
        list.push_back({"ieee mode " + std::to_string(static_cast<int>(mode)) + (quiet ? " quiet" : ""), o});
        o.semantics->wide = RoundingPolicy::ieee();
        if (quiet) o.semantics->wide.flags = policy.flags;
        list.push_back({list.back().name + ", fp32 nearest", o});
        o.semantics->narrow.subnormals = o.semantics->wide.subnormals = Subnormals::kFlush;
        if (quiet) list.push_back({list.back().name + ", flushed", o});
      }
    return list;
  }();
  return all;
}

}  // namespace softamp::parity
