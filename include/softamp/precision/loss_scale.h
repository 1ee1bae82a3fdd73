// Loss scaling: one state machine, driven by a table with one row for each system that softamp reproduces.
//
// Sources: mixed-precision guides of TensorFlow r2.3, Keras 2.4, MindSpore r1.5, PyTorch, apex and Graphcore's SDK 2.5.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// How gradients are unscaled.
enum class Unscale : uint8_t {
  kDivide,                     ///< g / S in float32
  kReciprocal,                 ///< g * RN32(1 / S) in float32
  kReciprocalInGradientDtype,  ///< g * (1 / S) in the gradient's own dtype (MindSpore)
  kFoldedIntoRate,             ///< not at all: the learning rate is lr / S. Linear optimizers only (TUTORIAL G26)
};

/// What tells that a step has overflowed (N263).
// implements: N263
enum class OverflowFrom : uint8_t {
  kGradients,  ///< an element of a gradient is not finite
  kStatus,     ///< the step raised overflow or invalid: the device's sticky flag
  kBoth,       ///< either
};

/// What one step says to the machine.
// implements: N254
struct LossScaleEvidence {
  bool finite = true;      ///< nothing overflowed, by overflow_from
  int64_t elements = 0;    ///< of all gradients; for `histogram`
  int64_t above_edge = 0;  ///< of these, with |scaled gradient| >= histogram_edge
};

/// A rule of the user's own for a dynamic scale: to derive from, as TensorFlow's LossScale is (MIXED_PRECISION T02).
/// It keeps nothing from step to step, so that equal machines stay equal and a checkpoint holds all.
class LossScaleRule {
 public:
  struct Step {
    float scale = 1;          ///< of this step
    int64_t good_steps = 0;   ///< finite ones in a row, this one included; 0: it overflowed
    int64_t consecutive = 0;  ///< overflows in a row, this one included
    LossScaleEvidence evidence{};
  };
  virtual ~LossScaleRule() = default;
  /// The next step's scale, which is rounded to float32 and must lie in [min, max].
  virtual double next(const Step& step) const = 0;
};

/// One row of the table. Scales are float32 numbers.
// implements: N252, N281
struct LossScaleOptions {
  std::string name = "fixed";  ///< of the preset; printed with results
  bool dynamic = false;        ///< (false: always `initial`)
  double initial = 1;          ///< [min, max]
  double growth = 2;           ///< > 1: factor after `window` finite steps in a row
  double backoff = 0.5;        ///< (0, 1): factor after an overflow
  int64_t window = 2000;       ///< >= 1: finite steps until the scale grows
  /// Float32 numbers; the scale stays between them. The defaults stand for "no floor" and "no cap".
  double min = 0x1p-149, max = 0x1.fffffep127;
  /// growth * scale > max: true: the scale becomes max; false: it stays (TensorFlow's "only if finite")
  bool clamp_at_max = true;
  /// MindSpore's own machine: growth and backoff may be any positive numbers, nothing caps the scale, which may become
  /// infinite, and min is a floor after an overflow alone [=false].
  bool unbounded = false;
  int64_t max_consecutive = 0;       ///< (0: no limit) overflows in a row; one more throws std::runtime_error
  bool skip_overflowed = true;       ///< an overflowed step is not applied
  bool count_skipped_steps = false;  ///< the optimizer's step counter moves on a skipped step (TUTORIAL X6)
  Unscale unscale = Unscale::kDivide;
  OverflowFrom overflow_from = OverflowFrom::kGradients;
  /// Graphcore's automatic loss scaling: judged every `window` steps by the share of gradient values whose magnitude,
  /// scaled, is at least `histogram_edge`: above `histogram_threshold` the scale is multiplied by backoff, else by
  /// growth. Elements that are not finite (NaNs, too) only count there; a step is skipped for them only if
  /// skip_overflowed is set. After a window without values the scale grows, because in the vendor's code 0 / 0 >
  /// threshold is false.
  bool histogram = false;
  double histogram_edge = 0,    ///< > 0
      histogram_threshold = 0;  ///< [0, 1)

  /// What moves the scale in the place of growth, backoff and window [=these]; only where dynamic, not with histogram.
  std::shared_ptr<const LossScaleRule> rule{};

  // Presets: the rows of one table, src/precision/loss_scale_presets.cpp, which says where each number comes from.
  static LossScaleOptions none();                     ///< 1, fixed, never skips
  static LossScaleOptions fixed(double scale = 256);  ///< the tutorial's; never skips
  static LossScaleOptions graphcore_automatic();      ///< ALS: 1, judged every 8 steps, below 2^15; never skips
  static LossScaleOptions tensorflow();               ///< 2^15, 2000, 2, floor 1
  static LossScaleOptions keras();                    ///< the same, counts skipped steps
  static LossScaleOptions mindspore();                ///< 2^24, floor 1, at most 1000 in a row
  static LossScaleOptions mindspore_fixed(double scale = 128, bool drop_overflow_update = true);
  static LossScaleOptions torch();  ///< 2^16, no floor
  static LossScaleOptions apex();   ///< 2^16, cap 2^24
  /// A dynamic scale that moves by the user's rule, from this one on; an overflowed step is not applied. It unscales as
  /// TensorFlow's.
  static LossScaleOptions own(std::shared_ptr<const LossScaleRule> rule, double initial, std::string name = "own");
  /// A number ("256", "2^15", "0.125", "2^-3"; a fixed scale), or a preset's name, without regard to case: none fixed
  /// graphcore_automatic tensorflow dynamic (= tensorflow) keras mindspore mindspore_fixed torch apex. Throws
  /// std::invalid_argument, beginning "Could not interpret loss scale identifier: ", with the names there are; for a
  /// number that is no scale, as validate does.
  static LossScaleOptions parse(std::string_view text);
  static std::vector<std::string> preset_names();

  /// Throws std::invalid_argument naming the field, its value and what was expected. A fixed scale may be any positive
  /// float32 number; under MindSpore's name one below 1 is refused as there, "loss_scale must be at least 1, but got
  /// loss_scale 0.5", as one that is NaN is in TensorFlow: "loss_scale_value must be a Python int or float.".
  void validate() const;
  /// One JSON object on one line: every field under its own name, enumerators as words ("reciprocal"). Throws as
  /// validate.
  std::string to_json() const;
  bool operator==(const LossScaleOptions&) const = default;
};

/// A dynamic loss scale that has overflowed more often in a row than its options allow: training has failed.
class ContinuousOverflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The machine: options and state. A value; equal machines given equal evidence stay equal.
class LossScale {
 public:
  explicit LossScale(LossScaleOptions options = {});

  float scale() const { return state_.scale; }
  /// Whether the step is applied; moves the scale: new = RN32(scale * factor), the product in binary64. Throws
  /// ContinuousOverflow "Dynamic loss scale Continuous overflow <n> times" past max_consecutive, and
  /// std::invalid_argument for counts that cannot be (negative ones, more above the edge than there are) and for a
  /// scale of a rule that is outside [min, max]; nothing has moved then.
  bool update(const LossScaleEvidence& evidence);

  struct State {
    float scale = 1;
    /// Finite ones since the last overflow or growth, under a rule since the last overflow; of a histogram: steps of
    /// its window.
    int64_t good_steps = 0;
    int64_t consecutive = 0;                    ///< overflows in a row
    int64_t seen_elements = 0, seen_above = 0;  ///< of the running window of a histogram
    bool operator==(const State&) const = default;
  };
  const State& state() const { return state_; }
  /// Throws std::invalid_argument for a state that the machine cannot reach: a scale outside [min, max] (of an
  /// unbounded one: a negative or NaN), or another one than the fixed one; negative counts, or good_steps of `window`
  /// and more.
  void set_state(const State& state);
  const LossScaleOptions& options() const { return options_; }

 private:
  LossScaleOptions options_;
  State state_;
};

/// The largest power of two S in [1, most] for which step(S) reports no overflow, found by doubling from 1
/// (TUTORIAL G23); 0 where even S = 1 overflows.
template <class Step>
double find_max_loss_scale(Step&& overflows, double most = 0x1p64) {
  double best = 0;
  for (double scale = 1; scale <= most && !overflows(scale); scale *= 2) best = scale;
  return best;
}

}  // namespace softamp
