// Optimizers. Each is a function from (gradients, variables, slots) to new variables and slots, expressed as nodes of a
// graph: one Apply... operation per variable, which rounds every stored value once: from the exact value if the formula
// is a sum of products, else from binary64 (formulas: kernel/optimizers.h).
//
// Sources of formulas: TensorFlow's training operations ApplyGradientDescent, ApplyMomentum, ApplyRMSProp, ApplyAdam;
// AdamW: Loshchilov, Hutter 2019. Defaults are those of TensorFlow 1's optimizers too, except where OptimizerOptions
// says otherwise; docs/TRAINING.md has a table of what differs in Keras and PyTorch.
//
// Hyperparameters reach an update rounded to nearest even to their dtype. Attributes and constants are rounded here;
// the learning rate is an input, and the caller who feeds it rounds it. 1 - beta and 1 - rho are formed in binary64
// from the rounded beta and rho.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/graph/gradients.h"
#include "softamp/train/indexed_slices.h"
#include "softamp/train/schedule.h"
#include "softamp/train/variable.h"

namespace softamp {

enum class OptimizerKind : uint8_t {
  kSgd,       ///< w = round(w - lr g)
  kMomentum,  ///< acc = round(m acc + g); w = round(w - lr acc)
  kNesterov,  ///< acc as in kMomentum; w = round(w - lr (g + m acc))
  kRmsProp,   ///< ms = round(rho ms + (1 - rho) g^2); mom = round(m mom + lr g / sqrt(ms + eps)); w = round(w - mom)
  kAdam,      ///< m, v moving means; w = round(w - lr_t m / (sqrt(v) + eps)), lr_t = lr sqrt(1 - b2^t) / (1 - b1^t)
  kAdamW,     ///< Adam, and w shrinks by lr weight_decay w in the same rounding
};

/// How the update is added to the weights, where they have few bits (N246). Slots are rounded as always.
enum class WeightUpdate : uint8_t {
  kDefault,     ///< by the policy of the weights' format: to nearest, or stochastically where the run is
  kNearest,     ///< to nearest even, whatever the policy
  kStochastic,  ///< stochastically, whatever the policy; at the addresses that a stochastic run has, with its random
                ///< bits and their variant
  /// The update u, what kDefault would add to the weight, is rounded to the weight's dtype, and what adding it loses is
  /// kept in a compensation c of the weight's dtype, which begins at zero: y = u - c; s = w + y; c = (s - w) - y;
  /// w = s, all to nearest even (Zamirai et al., "Revisiting BFloat16 Training", 2020). u has the sign of the change,
  /// -lr g for kSgd; the weight that is meant is w - c. With separate_roundings u is rounded as they are.
  kKahan,
};
const char* name_of(WeightUpdate update);                 ///< "default", "nearest", "stochastic", "kahan"
WeightUpdate parse_weight_update(std::string_view text);  ///< throws std::invalid_argument with the names

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kMomentum;
  double learning_rate = 0.01;  ///< >= 0, finite; as in the tutorial (Adam elsewhere: 0.001)
  double momentum = 0.9;        ///< [0, 1): kMomentum, kNesterov (TensorFlow 1: no default), kRmsProp (there [=0])
  double rho = 0.9;             ///< [0, 1): kRmsProp
  double beta1 = 0.9, beta2 = 0.999;  ///< [0, 1): kAdam, kAdamW
  /// > 0; kAdam and kAdamW outside the root of v as it is, as TensorFlow 1 has it, 1e-8 too (Keras: 1e-7; PyTorch: 1e-8
  /// outside the root of the corrected v); kRmsProp inside the root, where TensorFlow 1 has 1e-10 and Keras 1e-7
  /// (PyTorch: 1e-8 outside)
  double epsilon = 1e-8;
  /// What becomes of learning_rate, its highest value, from update to update [=nothing].
  LearningRateSchedule schedule{};
  /// >= 0: only kAdamW [=0.01 there, as in PyTorch; Keras 0.004]. An update subtracts learning_rate weight_decay w, the
  /// product of the two numbers computed in binary64 and rounded. Where the schedule varies it is the update's rate,
  /// and the product is fed; else the product is a constant of the graph, and the fed rate does not change it.
  double weight_decay = 0;
  /// Only kAdamW: variables of fewer than two axes (biases, norms) do not decay, as is usual for transformers.
  bool decay_matrices_only = false;
  /// (float16, bfloat16, float32) of every slot but Kahan's compensation [=the variable's dtype]
  std::optional<DType> state;
  WeightUpdate weight_update = WeightUpdate::kDefault;
  /// (float16, bfloat16, float32) dtype that hyperparameters are rounded to, to nearest even [=the variable's dtype]
  std::optional<DType> hyperparameters;
  /// Every product, sum, quotient and root is rounded, each with its own operation id: plain nodes Mul, AddV2, Sub, ...
  /// instead of one Apply operation. Those of a slot have the slot's dtype, those of the variable the variable's. An
  /// operand of another dtype is cast first, with a rounding of its own; 1 - beta and 1 - rho are constants of the
  /// slot's dtype. A skipped update still runs, with a gradient of zeros, and its results are dropped.
  bool separate_roundings = false;
  /// A hyperparameter that underflows to 0 or to a subnormal, overflows, or 1 - beta that vanishes in its dtype: an
  /// error instead of a warning.
  bool strict = false;

  /// An update by S g at the rate lr / S is that by g at the rate lr (TUTORIAL G26).
  bool linear() const { return kind <= OptimizerKind::kNesterov; }
  /// Defaults of a kind: those above.
  static OptimizerOptions of(OptimizerKind kind);
  /// Throws std::invalid_argument naming the field, its value and its range.
  void validate() const;
};

const char* name_of(OptimizerKind kind);               ///< "sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"
OptimizerKind parse_optimizer(std::string_view text);  ///< throws std::invalid_argument with the names

/// What a HyperparameterCheck looks at: a hyperparameter; 1 - x of one that is a mean's, such as "1 - beta2"; or the
/// second moment of Adam's and AdamW's gradients.
enum class CheckedQuantity { kHyperparameter, kComplement, kSecondMoment };

/// One hyperparameter, rounded to its dtype.
struct HyperparameterCheck {
  std::string name;  ///< "epsilon"
  double asked = 0, got = 0;
  DType dtype = DType::kFloat32;
  bool doubtful = false;  ///< 0 or subnormal while `asked` is not 0, infinite, or off by more than half a percent
  /// Set by Optimizer::check where settings of `softamp train` take the doubt away without raising another one: "--set
  /// hyperparameters=float32", which is OptimizerOptions::hyperparameters; perhaps optimizer_state, which is `state`,
  /// and epsilon, too.
  std::string cure{};
  CheckedQuantity of = CheckedQuantity::kHyperparameter;
  /// Of a kSecondMoment: gradients smaller than this leave 0 of it in `dtype`; `got` is the largest
  /// step that they then make, in learning rates, and `asked` the bound of steps where nothing underflows, (1 - beta1)
  /// / sqrt(1 - beta2) (Kingma, Ba, "Adam", 2015, 2.1). It is doubtful where `got` is above `asked`.
  double least_gradient = 0;
  std::string text() const;     ///< "epsilon 1e-08 is 0 in float16 (smallest positive 5.9604645e-08)"
  std::string warning() const;  ///< the text, and "; to cure it: --set hyperparameters=float32" where there is a cure
};
/// Rounds to nearest even; "divided first" as in TUTORIAL G27: pass lr / S. Throws std::invalid_argument where asked is
/// not finite or dtype is not floating.
HyperparameterCheck check_hyperparameter(std::string_view name, double asked, DType dtype);

/// Clipping, after unscaling, in float32; where several are set, in the order of the fields. A gradient that is within
/// its bound keeps every bit: c / max(norm, c) is 1 there. A norm that is infinite or NaN makes NaNs of all gradients
/// that it scales (TensorFlow's rule for the global norm), so that an overflowed step is still recognised.
struct GradientClipping {
  std::optional<double> value;        ///< > 0, as all three: every element into [-value, value]
  std::optional<double> norm;         ///< each gradient's `L2` norm to at most this
  std::optional<double> global_norm;  ///< the norm of all gradients together to at most this
  void validate() const;              ///< throws std::invalid_argument naming field, value and range
};

/// TUTORIAL G29: minimize = compute_gradients, then apply_gradients. A gradient is dense, or sparse, or missing.
struct GradientAndVariable {
  std::optional<Port> gradient;
  Variable variable;
  std::optional<IndexedSlices> slices{};  ///< in the place of `gradient`

  bool missing() const { return !gradient && !slices; }
};

class Optimizer {
 public:
  /// Throws as validate.
  explicit Optimizer(OptimizerOptions options);
  const OptimizerOptions& options() const { return options_; }

  /// Names and types of the slots of a variable: {"conv/kernel/Momentum", float16 [3,3,1,8]}; for RMSProp "/RMSProp"
  /// and
  /// "/Momentum" (TensorFlow 1: "/RMSProp_1"), for Adam "/Adam" and "/Adam_1". They start at zeros, RMSProp's mean
  /// square at ones, as in TensorFlow 1 (Keras: zeros). With WeightUpdate::kKahan the last is "/Compensation", of the
  /// variable's dtype.
  std::vector<VariableSpec> slots(const VariableSpec& variable) const;
  /// All hyperparameters in the dtype that variables of `dtype` give them, learning rate first divided by a
  /// `loss_scale` that is folded in; also "1 - beta1", "1 - beta2", "1 - rho" as rounded, and AdamW's "learning_rate *
  /// weight_decay", and Adam's "second moment". With separate_roundings constants are rounded again, to the dtype that
  /// their nodes compute in. In strict mode throws std::invalid_argument with all doubtful ones.
  std::vector<HyperparameterCheck> check(DType dtype, double loss_scale = 1) const;

  /// The learning rate that the update of step t (from 1) gets, before it is rounded: lr / loss_scale, lr as the
  /// schedule has it, for Adam times
  /// sqrt(1 - b2^t) / (1 - b1^t), in binary64 with the betas before rounding, powers by repeated multiplication. (Feed
  /// it, rounded to the hyperparameter dtype, as "learning_rate".) Throws std::invalid_argument for t < 1, and for a
  /// loss scale that is not positive and finite.
  double rate(int64_t t, double loss_scale = 1) const;
  /// What AdamW's update t takes off each weight, as a share of it, before it is rounded: the schedule's rate times
  /// weight_decay.
  double decay(int64_t t) const;
  /// Whether `decay` differs from update to update, so that it is fed.
  bool feeds_decay() const;

  /// Adds gradients of `loss` to the builder.
  std::vector<GradientAndVariable> compute_gradients(GraphBuilder& builder, Port loss, ListView<Variable> variables,
                                                     const GradientOptions& options = {}) const;
  /// Adds slots (VariableV2), and in scope "update" Apply operations and Assigns. `learning_rate`: float32 scalar.
  /// `apply`: bool scalar; if it is false, no bit changes and no gradient raises a flag in the update. Gradients may be
  /// float16, bfloat16 or float32, of the variable's shape. Variables without a gradient are unchanged; if none has
  /// one: std::invalid_argument "No gradients provided for any variable". Throws GraphError where a variable is no
  /// VariableV2 of the builder, comes twice, has a gradient of another shape, or a dense and a sparse one; in strict
  /// mode as `check` does.
  ///
  /// Slices (N264): those of one row are summed first, as to_dense does. kSgd, kMomentum, kNesterov and kRmsProp then
  /// change these rows alone, of the variable and of its slots; other rows keep every bit and raise no flag. kAdam and
  /// kAdamW change all rows, as by the dense gradient. A run stops at an index that is no row of the variable.
  ///
  /// decay: scalar as learning_rate, in the place of the constant learning_rate weight_decay [=the constant].
  void apply_gradients(GraphBuilder& builder, ListView<GradientAndVariable> gradients, Port learning_rate, Port apply,
                       std::optional<Port> decay = {}) const;
  /// Both.
  void minimize(GraphBuilder& builder, Port loss, ListView<Variable> variables, Port learning_rate, Port apply) const;

 private:
  OptimizerOptions options_;
};

/// Adds the clipping of all gradients (float32) in scope "clip"; returns them in order. Throws as validate, and
/// GraphError for a gradient that is not float32.
std::vector<Port> clip_gradients(GraphBuilder& builder, ListView<Port> gradients, const GradientClipping& clipping);

/// MIXED_PRECISION T12: the same pairs, with slices in the place of each gradient that slices_of finds some in.
std::vector<GradientAndVariable> sparse_gradients(GraphBuilder& builder, std::vector<GradientAndVariable> gradients);

/// The sum of gradients of one variable, as of replicas or micro-batches; missing ones are left out. All sparse: their
/// slices one after the other. Otherwise dense, slices summed first: one AddN in the order given. Throws GraphError for
/// none, and where the variables are not the same.
GradientAndVariable sum_gradients(GraphBuilder& builder, ListView<GradientAndVariable> parts);

/// MIXED_PRECISION T12, K24: loss times scale in the loss's dtype; gradients in float32 (cast first: TUTORIAL G25)
/// divided by the scale (or times its reciprocal); a missing gradient stays missing. `scale`: float32 scalar. Nodes
/// "scaled_loss", "unscaled", ... in the builder's scope.
Port get_scaled_loss(GraphBuilder& builder, Port loss, Port scale);
std::vector<std::optional<Port>> get_unscaled_gradients(GraphBuilder& builder,
                                                        std::span<const std::optional<Port>> gradients, Port scale,
                                                        bool reciprocal = true);
/// The same for pairs; of slices the values are unscaled, indices and shape stay as they are.
std::vector<GradientAndVariable> get_unscaled_gradients(GraphBuilder& builder, ListView<GradientAndVariable> gradients,
                                                        Port scale, bool reciprocal = true);

}  // namespace softamp
