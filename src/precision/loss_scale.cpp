// The state machine of loss scales: what changes the scale, and which rows of the table are valid.
#include "softamp/precision/loss_scale.h"

#include <limits>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"

namespace softamp {
namespace {

bool is_nan(double value) { return value != value; }
/// Finite, and a float32 number.
bool is_float32(double value) {
  return value >= -0x1.fffffep127 && value <= 0x1.fffffep127 && static_cast<double>(static_cast<float>(value)) == value;
}

/// scale * factor in float32; beyond float32's range 2^128.
// implements: N250
double moved(float scale, double factor) {
  const double product = static_cast<double>(scale) * factor;
  return product >= 0x1.ffffffp127 ? 0x1p128 : static_cast<double>(static_cast<float>(product));
}
/// 2^128 and above become infinite.
float as_scale(double moved_scale) {
  return moved_scale > 0x1.fffffep127 ? std::numeric_limits<float>::infinity() : static_cast<float>(moved_scale);
}

}  // namespace

void LossScaleOptions::validate() const {
  const engine::DefaultEnvironment guard;
  const auto expect = [&](bool good, const char* field, const std::string& value, const std::string& expected) {
    if (!good)
      throw std::invalid_argument("loss scale '" + name + "': " + field + " is " + value + "; expected " + expected);
  };
  if (!dynamic) {
    if (is_nan(initial)) throw std::invalid_argument("loss_scale_value must be a Python int or float.");
    if (initial < 1 && name.starts_with("mindspore"))
      throw std::invalid_argument("loss_scale must be at least 1, but got loss_scale " + shortest_decimal(initial));
  }
  expect(is_float32(min) && min > 0, "min", shortest_decimal(min), "a positive float32 number");
  expect(is_float32(max) && max >= min, "max", shortest_decimal(max),
         "a float32 number of at least min, " + shortest_decimal(min));
  expect(initial >= min && initial <= max, "initial", shortest_decimal(initial),
         "a number of min .. max, " + shortest_decimal(min) + " .. " + shortest_decimal(max));
  expect(unscale <= Unscale::kFoldedIntoRate, "unscale", std::to_string(static_cast<int>(unscale)), "an Unscale");
  expect(overflow_from <= OverflowFrom::kBoth, "overflow_from", std::to_string(static_cast<int>(overflow_from)),
         "an OverflowFrom");
  expect(max_consecutive >= 0, "max_consecutive", std::to_string(max_consecutive), "0 (no limit) or more");
  expect(window >= 1, "window", std::to_string(window), "1 or more");
  const double one = unbounded ? 0 : 1;
  expect(growth > one && growth <= 0x1.fffffep127, "growth", shortest_decimal(growth),
         unbounded ? "a positive finite number" : "a finite number above 1");
  expect(backoff > 0 && (unbounded ? backoff <= 0x1.fffffep127 : backoff < 1), "backoff", shortest_decimal(backoff),
         unbounded ? "a positive finite number" : "a number of (0, 1)");
  expect(!rule || (dynamic && !histogram), "rule", "given",
         dynamic ? "none beside a histogram" : "none, because the scale is fixed");
  if (!histogram) return;
  expect(dynamic, "histogram", "true", "false, because the scale is fixed");
  expect(histogram_edge > 0 && histogram_edge <= 0x1.fffffep127, "histogram_edge", shortest_decimal(histogram_edge),
         "a positive finite number");
  expect(histogram_threshold >= 0 && histogram_threshold < 1, "histogram_threshold",
         shortest_decimal(histogram_threshold), "a share of [0, 1)");
}

LossScale::LossScale(LossScaleOptions options) : options_(std::move(options)) {
  const engine::DefaultEnvironment guard;
  options_.validate();
  // Rounding to float32 cannot leave [min, max], whose ends are float32 numbers.
  state_.scale = static_cast<float>(options_.initial);
}

// implements: N250, N252, N253
bool LossScale::update(const LossScaleEvidence& evidence) {
  const engine::DefaultEnvironment guard;
  if (evidence.elements < 0 || evidence.above_edge < 0 || evidence.above_edge > evidence.elements)
    throw std::invalid_argument("loss scale '" + options_.name + "': evidence of " +
                                std::to_string(evidence.above_edge) + " values above the edge of " +
                                std::to_string(evidence.elements) + "; expected 0 <= above_edge <= elements");
  State s = state_;
  s.consecutive = evidence.finite ? 0 : s.consecutive + 1;
  if (options_.max_consecutive > 0 && s.consecutive > options_.max_consecutive)
    throw ContinuousOverflow("Dynamic loss scale Continuous overflow " + std::to_string(s.consecutive) + " times");

  const auto grow = [&] {
    const double grown = moved(s.scale, options_.growth);
    if (grown <= options_.max || options_.unbounded)
      s.scale = as_scale(grown);
    else if (options_.clamp_at_max)
      s.scale = static_cast<float>(options_.max);
  };
  const auto back_off = [&] {
    const double reduced = moved(s.scale, options_.backoff);
    s.scale = as_scale(reduced < options_.min ? options_.min : reduced);
  };

  if (options_.histogram) {
    s.seen_elements += evidence.elements;
    s.seen_above += evidence.above_edge;
    if (++s.good_steps == options_.window) {
      const double allowed = options_.histogram_threshold * static_cast<double>(s.seen_elements);
      if (static_cast<double>(s.seen_above) > allowed)
        back_off();
      else
        grow();
      s.good_steps = s.seen_elements = s.seen_above = 0;
    }
  } else if (options_.rule) {
    s.good_steps = evidence.finite ? s.good_steps + 1 : 0;
    const double next = options_.rule->next({s.scale, s.good_steps, s.consecutive, evidence});
    if (!(next >= options_.min && next <= options_.max))
      throw std::invalid_argument("loss scale '" + options_.name + "': its rule gives " + shortest_decimal(next) +
                                  " after " + shortest_decimal(static_cast<double>(s.scale)) + "; expected " +
                                  shortest_decimal(options_.min) + " .. " + shortest_decimal(options_.max));
    s.scale = static_cast<float>(next);
  } else if (options_.dynamic) {
    if (!evidence.finite) {
      back_off();
      s.good_steps = 0;
    } else if (++s.good_steps == options_.window) {
      grow();
      s.good_steps = 0;
    }
  }
  state_ = s;
  return evidence.finite || !options_.skip_overflowed;
}

void LossScale::set_state(const State& s) {
  const engine::DefaultEnvironment guard;
  const auto refuse = [&](const char* field, const std::string& value, const std::string& expected) {
    throw std::invalid_argument("state of loss scale '" + options_.name + "': " + field + " is " + value +
                                "; expected " + expected);
  };
  const double scale = static_cast<double>(s.scale);
  const bool reached = options_.unbounded ? scale >= 0 : scale >= options_.min && scale <= options_.max;
  if (options_.dynamic && !reached)
    refuse("scale", shortest_decimal(scale), shortest_decimal(options_.min) + " .. " + shortest_decimal(options_.max));
  if (!options_.dynamic && !(s.scale == static_cast<float>(options_.initial)))
    refuse("scale", shortest_decimal(scale), shortest_decimal(options_.initial));
  if (s.good_steps < 0 || (!options_.rule && s.good_steps >= options_.window))
    refuse("good_steps", std::to_string(s.good_steps), "0 .. " + std::to_string(options_.window - 1));
  if (s.consecutive < 0) refuse("consecutive", std::to_string(s.consecutive), "0 or more");
  if (s.seen_above < 0 || s.seen_elements < s.seen_above)
    refuse("seen_above", std::to_string(s.seen_above) + " of " + std::to_string(s.seen_elements),
           "0 <= seen_above <= seen_elements");
  state_ = s;
}

}  // namespace softamp
