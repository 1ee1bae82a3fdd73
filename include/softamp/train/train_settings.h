// Everything that decides a training run, as one value, from the programs' options or `softamp train`'s JSON file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "softamp/precision/mechanism.h"
#include "softamp/train/trainer.h"

namespace softamp {

struct TrainSettings {
  std::string program = "softamp train";  ///< name of the program; in the log
  std::string network = "small_cnn";      ///< network_names(), or a file (network_file.h)
  std::string precision = "float32";      ///< Precision::names()
  /// Mechanism::parse: which system decides what computes in low precision; only with precision float32.
  std::string mechanism = "none";
  /// Folder of images or arrays, .npz file, or text, as the network's input asks; "": SOFTAMP_DATA, else the generated
  /// set.
  std::string data;
  bool generated = false;         ///< the generated set even where SOFTAMP_DATA is set
  int64_t train_images = 0;       ///< (0: all) the first ones
  int64_t test_images = 0;        ///< (0: all)
  double validation_split = 0.1;  ///< [0, 1) of data in one part: the last ones are the test set
  int64_t batch_size = 32, epochs = 5, warmup_epochs = 0;
  int64_t steps = 0;     ///< (0: epochs decide) at most, the warm-up's included
  bool shuffle = false;  ///< per epoch, keyed by (seed, epoch)
  uint64_t seed = 0;
  /// .npz or .safetensors file of the first weights [="": initialisers and seed]: an array for each variable, under its
  /// name, or (.npz) a checkpoint. Other floating dtypes are rounded to the variable's, to nearest even.
  std::string initial;
  std::string optimizer = "momentum";
  double learning_rate = 0.01;
  std::string learning_rate_schedule = "constant";  ///< schedule_names(): constant, cosine, linear (schedule.h)
  int64_t warmup_steps = 0;                         ///< (0 ..) first updates whose rates rise
  int64_t decay_steps = 0;  ///< (0: as many as the run has) updates after which a cosine or linear rate is at its least
  double min_learning_rate = 0;  ///< (0 .. learning_rate) of cosine and linear
  std::optional<double> momentum, rho, beta1, beta2, epsilon, weight_decay;  ///< [=the optimizer's]
  bool decay_matrices_only = false;                                          ///< adamw: biases and norms do not decay
  std::optional<std::string> optimizer_state;                                ///< dtype of slots [=the variable's]
  std::optional<std::string> hyperparameters;  ///< (float16, bfloat16, float32) what they round to [=the variable's]
  std::string weight_update = "default";       ///< (default, nearest, stochastic, kahan) WeightUpdate
  bool separate_roundings = false;
  /// LossScaleOptions::parse [="": 256; under a mechanism the mechanism's (MIXED_PRECISION K23)]
  std::string loss_scale;
  bool fold_scale_into_rate = false;  ///< linear optimizers: lr / S instead of g / S
  bool loss_in_float32 = true;
  std::string stochastic_rounding = "off";  ///< (off, on, replica_identical_only)
  int random_bits = 0;                      ///< (0: 13; 1 .. 32)
  std::string rounding_variant = "carry";   ///< variant_from_name: carry, half, rne, odd, at-least
  /// chip_from_name ("": none): random_bits and rounding_variant are those of its conversion to the 16-bit dtype that
  /// the run computes in; its overflow, flags and NaN patterns stay those of `behaviour`. Only with stochastic
  /// rounding.
  std::string chip;
  std::string partials = "float";  ///< (float, half) of convolutions and products
  /// (float, half) of products alone, of convolutions alone [=partials]
  std::optional<std::string> matmul_partials, convolution_partials;
  int amp_block = 16;
  std::string accumulator = "ipu_model_a";   ///< accumulator_from_name: ExecutorOptions::accumulator
  std::string tensor_core_operands = "own";  ///< ExecutorOptions::tensor_core_operands
  bool bias_in_accumulator = false;          ///< TrainerOptions::bias_in_accumulator
  bool use_stable_statistics = false;        ///< norms.use_stable_statistics of IpuConfig
  /// (ieee, ipu) ExecutorOptions::preset [="": ipu where behaviour has nanoo; else ieee under a mechanism, and where
  /// the loss scale looks for gradients that are not finite; else ipu]
  std::string preset;
  /// Words inv div0 oflo nanoo, "all" (except esr), "off" [="": off; under a mechanism with the preset ipu nanoo, so
  /// that an overflow is seen]
  std::string behaviour;
  std::optional<double> clip_value, clip_norm, clip_global_norm;
  int64_t accumulation = 1;
  std::optional<std::string> accumulation_dtype;  ///< [=each variable's]
  std::string accumulation_reduction = "sum";     ///< (sum, mean) TrainerOptions::accumulation_reduction
  int replicas = 1;
  std::string replica_reduction = "mean";  ///< (mean, sum)
  bool replica_drift = false;              ///< TrainerOptions::replica_drift
  /// (0: off; a power of two up to 65536) slices of a step, batch_size images each: the number of replicas, which must
  /// divide it, changes no bit. Each replica takes as many slices one after the other: that is `accumulation`, 1 or
  /// left out.
  int64_t replica_invariant = 0;
  bool strict = false;
  int64_t evaluate_every = 0;  ///< epochs (0: only at the end, where evaluate is on)
  bool evaluate = true;

  // Not part of what decides the bits:
  int threads = 0;
  std::string backend = "emu";  ///< (emu, cuda or gpu, auto: cuda where there is a device)

  /// A JSON object; unknown keys, wrong types and values out of range throw std::invalid_argument: "settings.json: line
  /// 3: 'lerning_rate' is not a setting. Did you mean 'learning_rate'?". Keys left out keep their defaults.
  static TrainSettings from_json(std::string_view text, std::string_view place = "settings");
  /// The same, over other defaults.
  static TrainSettings from_json(std::string_view text, std::string_view place, const TrainSettings& defaults);
  /// The keys, in this order. Some that are at their default are left out unless `whole`, so that logs keep the bytes
  /// that they had before there were such settings: mechanism, validation_split.
  std::string to_json(bool with_backend = true, bool whole = false) const;
  void validate() const;
  /// Throws std::invalid_argument for a setting that differs from its default and changes nothing in any of the cases:
  /// "settings: 'random_bits' has no effect: no rounding is stochastic; expected ...". What reads settings from a
  /// person calls it, with all cases of a study at once; a run itself does not, so that one case may leave unused what
  /// another needs.
  static void refuse_idle(std::span<const TrainSettings> cases);
  void refuse_idle() const { refuse_idle({this, 1}); }
  /// With decay_steps 0 the schedule's, too: who knows how many steps the run has, sets it.
  TrainerOptions trainer_options() const;
  Precision precision_value() const { return Precision::parse(precision); }
  Mechanism mechanism_value() const { return Mechanism::parse(mechanism); }
  /// The same settings with one changed, as by `softamp train --set KEY=TEXT`: the text is JSON, or a word without its
  /// quotes. Throws as from_json.
  TrainSettings with(std::string_view key, std::string_view text, std::string_view place = "settings") const;
  /// The same run, with what follows from other settings written out: loss_scale, preset, behaviour, accumulation where
  /// replica_invariant decides it, random_bits and rounding_variant of a chip, and the hyperparameters that the
  /// optimizer has, as its defaults have them. Throws as Mechanism::parse and parse_optimizer.
  TrainSettings spelled_out() const;
};

}  // namespace softamp
