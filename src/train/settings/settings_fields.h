// The one list of all settings of a training run, by name: JSON, its errors and comparisons use it.
#pragma once

#include "softamp/train/train_settings.h"

namespace softamp::train_detail {

/// Calls visit("key", settings.member) for each setting, in the order of the JSON.
template <class Settings, class Visit>
void for_each_setting(Settings& s, Visit&& visit) {
  visit("program", s.program);
  visit("network", s.network);
  visit("precision", s.precision);
  visit("mechanism", s.mechanism);
  visit("data", s.data);
  visit("generated", s.generated);
  visit("train_images", s.train_images);
  visit("test_images", s.test_images);
  visit("validation_split", s.validation_split);
  visit("batch_size", s.batch_size);
  visit("epochs", s.epochs);
  visit("warmup_epochs", s.warmup_epochs);
  visit("steps", s.steps);
  visit("shuffle", s.shuffle);
  visit("seed", s.seed);
  visit("initial", s.initial);
  visit("optimizer", s.optimizer);
  visit("learning_rate", s.learning_rate);
  visit("learning_rate_schedule", s.learning_rate_schedule);
  visit("warmup_steps", s.warmup_steps);
  visit("decay_steps", s.decay_steps);
  visit("min_learning_rate", s.min_learning_rate);
  visit("momentum", s.momentum);
  visit("rho", s.rho);
  visit("beta1", s.beta1);
  visit("beta2", s.beta2);
  visit("epsilon", s.epsilon);
  visit("weight_decay", s.weight_decay);
  visit("decay_matrices_only", s.decay_matrices_only);
  visit("optimizer_state", s.optimizer_state);
  visit("hyperparameters", s.hyperparameters);
  visit("weight_update", s.weight_update);
  visit("separate_roundings", s.separate_roundings);
  visit("loss_scale", s.loss_scale);
  visit("fold_scale_into_rate", s.fold_scale_into_rate);
  visit("loss_in_float32", s.loss_in_float32);
  visit("stochastic_rounding", s.stochastic_rounding);
  visit("random_bits", s.random_bits);
  visit("rounding_variant", s.rounding_variant);
  visit("chip", s.chip);
  visit("partials", s.partials);
  visit("matmul_partials", s.matmul_partials);
  visit("convolution_partials", s.convolution_partials);
  visit("amp_block", s.amp_block);
  visit("accumulator", s.accumulator);
  visit("tensor_core_operands", s.tensor_core_operands);
  visit("bias_in_accumulator", s.bias_in_accumulator);
  visit("use_stable_statistics", s.use_stable_statistics);
  visit("preset", s.preset);
  visit("behaviour", s.behaviour);
  visit("clip_value", s.clip_value);
  visit("clip_norm", s.clip_norm);
  visit("clip_global_norm", s.clip_global_norm);
  visit("accumulation", s.accumulation);
  visit("accumulation_dtype", s.accumulation_dtype);
  visit("accumulation_reduction", s.accumulation_reduction);
  visit("replicas", s.replicas);
  visit("replica_reduction", s.replica_reduction);
  visit("replica_drift", s.replica_drift);
  visit("replica_invariant", s.replica_invariant);
  visit("strict", s.strict);
  visit("evaluate_every", s.evaluate_every);
  visit("evaluate", s.evaluate);
  visit("threads", s.threads);
  visit("backend", s.backend);
}

/// The first single setting that is out of its range, as {key, "is -1; expected ..."}; the key is empty if all are
/// valid.
struct SettingFault {
  std::string key, what;
};
SettingFault first_fault(const TrainSettings& settings);

/// Replaces other names of a precision, a dtype or partials ("fp16", "half") by ours ("float16"; of partials "half"),
/// which logs, checkpoints and comparisons then hold. Words that name nothing stay, for first_fault to refuse.
void use_our_names(TrainSettings& settings);

/// The same run, with the hyperparameters that the optimizer has written out. Throws as parse_optimizer.
TrainSettings with_hyperparameters(TrainSettings settings);

/// Settings that differ and decide bits, "seed is 1, and was 0"; empty if a run with `asked` can resume from a
/// checkpoint of one with `was` (both JSON of TrainSettings). A hyperparameter that is null, or was, is the optimizer's
/// default. These may differ: the length of a run (epochs, steps),
/// its output (program, evaluate, evaluate_every), what it runs on (threads, backend), and the place of the images
/// (data, generated), because their contents are compared instead, and where the first weights came from (initial). So
/// may replicas and accumulation where both have replica_invariant.
std::string difference_that_decides(const std::string& asked, const std::string& was);

}  // namespace softamp::train_detail
