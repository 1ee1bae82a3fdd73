// Valid settings, and the trainer's options that follow from them.
#include "softamp/train/train_settings.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "softamp/chips/chip_table.h"
#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/train/network_file.h"
#include "src/names/name_rows.h"
#include "src/numbers/decimal_text.h"
#include "src/text/comma_list.h"
#include "src/text/printable.h"
#include "src/train/settings/idle_settings.h"
#include "src/train/settings/settings_fields.h"
#include "src/train/visible_overflow.h"

namespace softamp {
namespace {

using train_detail::SettingFault;

using name_rows::Names;
using name_rows::our_name;

constexpr Names kWeightUpdates[] = {{"default"}, {"nearest"}, {"stochastic"}, {"kahan"}};
/// TensorFlow for the IPU takes True and False, too; Graphcore's examples call the third RI.
constexpr Names kStochasticRoundings[] = {{"off", "false"}, {"on", "true"}, {"replica_identical_only", "ri"}};
constexpr Names kPartials[] = {{"float"}, {"half"}};
constexpr Names kSumFirst[] = {{"sum"}, {"mean"}}, kMeanFirst[] = {{"mean"}, {"sum"}};
constexpr Names kBehaviours[] = {{"inv"}, {"div0"}, {"oflo"}, {"nanoo"}, {"all"}, {"off", "none"}};

/// A setting that is one word of a list.
struct WordSetting {
  const char* key;
  std::string TrainSettings::*setting;
  std::span<const Names> words;
};
constexpr WordSetting kWordSettings[] = {
    {"weight_update", &TrainSettings::weight_update, kWeightUpdates},
    {"stochastic_rounding", &TrainSettings::stochastic_rounding, kStochasticRoundings},
    {"partials", &TrainSettings::partials, kPartials},
    {"accumulation_reduction", &TrainSettings::accumulation_reduction, kSumFirst},
    {"replica_reduction", &TrainSettings::replica_reduction, kMeanFirst},
    {"backend", &TrainSettings::backend, name_rows::kBackends},
};

/// Keeps the first fault; later checks do nothing then.
class Checker {
 public:
  template <class T>
  void at_least(const char* key, T value, T least) {
    if (value < least) note(key, "is " + std::to_string(value) + "; expected " + std::to_string(least) + " or more");
  }
  template <class T>
  void within(const char* key, T value, T least, T most) {
    if (value < least || value > most)
      note(key, "is " + std::to_string(value) + "; expected " + std::to_string(least) + ".." + std::to_string(most));
  }
  void number(const char* key, const std::optional<double>& value, bool good, const char* expected) {
    if (value && !good) note(key, "is " + significant_digits(*value, 9) + "; expected " + expected);
  }
  void word(const char* key, const std::string& value, std::span<const Names> known) {
    std::string list;
    for (size_t i = 0; i < known.size(); ++i) {
      if (known[i].front() == value) return;
      list += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + std::string(known[i].front());
    }
    note(key, "is '" + files::excerpt(value) + "'; expected " + list);
  }
  void dtype(const char* key, const std::optional<std::string>& value) {
    if (!value) return;
    const std::optional<DType> parsed = parse_dtype(*value);
    if (!parsed || *parsed > DType::kFloat32)
      note(key, "is '" + files::excerpt(*value) + "'; expected float16, bfloat16 or float32");
  }
  /// Checks a value with the parser of another part.
  template <class Read>
  void readable(const char* key, Read&& read, const char* fault = "is not understood: ") {
    try {
      read();
    } catch (const std::invalid_argument& e) {
      note(key, std::string(fault) + e.what());
    }
  }
  void note(const char* key, const std::string& what) {
    if (fault_.key.empty()) fault_ = {key, what};
  }
  const SettingFault& fault() const { return fault_; }

 private:
  SettingFault fault_;
};

/// "all" stands for four: set_all would mean all five, stochastic rounding among them.
void set_behaviour(IpuConfig::FloatingPoint& f, const std::string& text) {
  for (const std::string& word : words_of_list(text)) {
    const bool all = word == "all", off = word == "off";
    if (all || off) f.inv = f.div0 = f.oflo = f.nanoo = all;
    if (word == "inv") f.inv = true;
    if (word == "div0") f.div0 = true;
    if (word == "oflo") f.oflo = true;
    if (word == "nanoo") f.nanoo = true;
  }
}

ExecutorOptions executor_options(const TrainSettings& s) {
  ExecutorOptions o;
  o.backend = s.backend;
  o.seed = s.seed;
  o.threads = s.threads;
  o.device.memory_per_tile = 0;  // no setting asks for a device: what the engine's machine has is the limit
  o.amp_block = s.amp_block;
  o.preset = preset_from_name(s.preset);
  o.switches.sr_bits = s.random_bits;
  o.switches.sr_form = variant_from_name(s.rounding_variant);
  auto& f = o.config.floating_point_behaviour;
  set_behaviour(f, s.behaviour);
  if (s.stochastic_rounding == "on") f.esr = StochasticRoundingBehaviour::kOn;
  if (s.stochastic_rounding == "replica_identical_only") {
    f.esr = StochasticRoundingBehaviour::kReplicaIdenticalOnly;
    o.config.experimental.enable_prng_stability = !s.replica_drift;  // identical seeds on all replicas
  }
  const std::string matmuls = s.matmul_partials.value_or(s.partials),
                    convolutions = s.convolution_partials.value_or(s.partials);
  if (matmuls != "float") o.config.matmuls.poplar_options["partialsType"] = matmuls;
  if (convolutions != "float") o.config.convolutions.poplar_options["partialsType"] = convolutions;
  o.accumulator = accumulator_from_name(s.accumulator);
  o.tensor_core_operands = tensor_core_operands_from_name(s.tensor_core_operands);
  o.config.norms.use_stable_statistics = s.use_stable_statistics;
  return o;
}

/// What the run computes in where that has 16 bits.
std::optional<DType> narrow_dtype(const TrainSettings& s) {
  for (const DType dtype : {s.precision_value().compute, s.mechanism_value().low_dtype()})
    if (size_of(dtype) == 2) return dtype;
  return {};
}

/// The conversion of the settings' chip. Throws std::invalid_argument where the chip has none, or not with so many
/// bits.
ChipRounding chip_conversion(const TrainSettings& s, DType to) {
  const Chip chip = chip_from_name(s.chip);
  const ChipRounding usual = require_chip_rounding(chip, format_of(to));
  if (s.random_bits == 0 || s.random_bits == usual.special.random_bits) return usual;
  return require_chip_rounding(chip, format_of(to), ChipOverflow::kUsual, s.random_bits);
}

/// A chip that would round nothing, or that the other settings contradict.
SettingFault first_fault_of_chip(const TrainSettings& s) {
  if (s.chip.empty()) return {};
  const std::string is = "is '" + s.chip + "', but ";
  if (s.stochastic_rounding == "off")
    return {"chip", is + "'stochastic_rounding' is off; expected on or replica_identical_only"};
  const std::optional<DType> narrow = narrow_dtype(s);
  if (!narrow) return {"chip", is + "nothing is computed in 16 bits; expected a precision or a mechanism of 16 bits"};
  try {
    const ChipRounding c = chip_conversion(s, *narrow);
    if (c.special.alignment != RandomAlignment::kTopOfDiscarded)
      return {"chip", "is '" + s.chip +
                          "', which adds its random bits to the source, and training does not; expected a chip that "
                          "aligns them with what is discarded"};
    if (s.rounding_variant != "carry" && s.rounding_variant != name_of(c.special.variant))
      return {"chip", is + "'rounding_variant' is " + s.rounding_variant + "; expected the chip's " +
                          name_of(c.special.variant)};
  } catch (const std::invalid_argument& e) {
    return {"chip", std::string("does not go with the rest: ") + e.what()};
  }
  return {};
}

/// A hyperparameter that optimizers may or may not have.
struct OwnHyperparameter {
  const char* key;
  std::optional<double> TrainSettings::*setting;
  double OptimizerOptions::*option;
  bool (*has)(OptimizerKind);
  const char* owners;
};
bool has_momentum(OptimizerKind k) {
  return k == OptimizerKind::kMomentum || k == OptimizerKind::kNesterov || k == OptimizerKind::kRmsProp;
}
bool has_rho(OptimizerKind k) { return k == OptimizerKind::kRmsProp; }
bool has_betas(OptimizerKind k) { return k == OptimizerKind::kAdam || k == OptimizerKind::kAdamW; }
bool has_epsilon(OptimizerKind k) { return has_rho(k) || has_betas(k); }
bool has_decay(OptimizerKind k) { return k == OptimizerKind::kAdamW; }
constexpr OwnHyperparameter kOwn[] = {
    {"momentum", &TrainSettings::momentum, &OptimizerOptions::momentum, has_momentum, "momentum, nesterov or rmsprop"},
    {"rho", &TrainSettings::rho, &OptimizerOptions::rho, has_rho, "rmsprop"},
    {"beta1", &TrainSettings::beta1, &OptimizerOptions::beta1, has_betas, "adam or adamw"},
    {"beta2", &TrainSettings::beta2, &OptimizerOptions::beta2, has_betas, "adam or adamw"},
    {"epsilon", &TrainSettings::epsilon, &OptimizerOptions::epsilon, has_epsilon, "rmsprop, adam or adamw"},
    {"weight_decay", &TrainSettings::weight_decay, &OptimizerOptions::weight_decay, has_decay, "adamw"},
};

OptimizerOptions optimizer_options(const TrainSettings& s) {
  OptimizerOptions o = OptimizerOptions::of(parse_optimizer(s.optimizer));
  o.learning_rate = s.learning_rate;
  o.schedule = {parse_schedule(s.learning_rate_schedule), s.warmup_steps, s.decay_steps, s.min_learning_rate};
  o.decay_matrices_only = s.decay_matrices_only;
  for (const OwnHyperparameter& h : kOwn)
    if (s.*h.setting) o.*h.option = *(s.*h.setting);
  if (s.optimizer_state) o.state = parse_dtype(*s.optimizer_state);
  if (s.hyperparameters) o.hyperparameters = parse_dtype(*s.hyperparameters);
  o.weight_update = parse_weight_update(s.weight_update);
  o.separate_roundings = s.separate_roundings;
  o.strict = s.strict;
  return o;
}

/// A hyperparameter that the optimizer does not have would silently do nothing.
SettingFault first_idle_hyperparameter(const TrainSettings& s) {
  const OptimizerKind kind = parse_optimizer(s.optimizer);
  for (const OwnHyperparameter& h : kOwn)
    if (s.*h.setting && !h.has(kind))
      return {h.key, "has no effect on the optimizer " + s.optimizer + "; expected it with " + h.owners + " alone"};
  if (s.decay_matrices_only && !has_decay(kind))
    return {"decay_matrices_only", "is true, but " + s.optimizer + " has no decay; expected it with adamw alone"};
  return {};
}

/// A schedule that says two things, or whose settings would silently do nothing.
SettingFault first_fault_of_schedule(const TrainSettings& s) {
  if (parse_schedule(s.learning_rate_schedule) == ScheduleKind::kConstant) {
    const char* const idle = s.decay_steps != 0 ? "decay_steps" : s.min_learning_rate != 0 ? "min_learning_rate" : "";
    if (*idle != 0) return {idle, "has no effect on a constant rate; expected it with a schedule, cosine or linear"};
    return {};
  }
  if (s.decay_steps != 0 && s.decay_steps <= s.warmup_steps)
    return {"decay_steps", "is " + std::to_string(s.decay_steps) + "; expected 0, or more than the " +
                               std::to_string(s.warmup_steps) + " of 'warmup_steps'"};
  if (s.min_learning_rate > s.learning_rate)
    return {"min_learning_rate", "is " + shortest_decimal(s.min_learning_rate) +
                                     "; expected at most 'learning_rate', " + shortest_decimal(s.learning_rate)};
  return {};
}

/// A number of replicas that would change bits where none may.
SettingFault first_dependence_on_replicas(const TrainSettings& s) {
  const int64_t slices = s.replica_invariant;
  if (slices == 0) return {};
  const std::string of_slices = "the " + std::to_string(slices) + " slices of 'replica_invariant'";
  if (slices % s.replicas != 0)
    return {"replicas", "is " + std::to_string(s.replicas) + ", which does not divide " + of_slices +
                            "; expected a power of two up to " + std::to_string(slices)};
  if (s.accumulation != 1 && s.accumulation != slices / s.replicas)
    return {"accumulation", "is " + std::to_string(s.accumulation) + "; expected 1, or " +
                                std::to_string(slices / s.replicas) + ": " + of_slices + " over 'replicas' " +
                                std::to_string(s.replicas)};
  if (s.accumulation_dtype)
    return {"accumulation_dtype",
            "is " + *s.accumulation_dtype + ", but " + of_slices + " are summed in float32; expected none"};
  if (s.accumulation_reduction != "sum")
    return {"accumulation_reduction", "is " + s.accumulation_reduction + ", but " + of_slices +
                                          " are reduced as 'replica_reduction' says; expected sum"};
  if (s.replica_drift) return {"replica_drift", "is true, and 'replica_invariant' is on; expected one of them"};
  return {};
}

/// The first conflict between settings.
SettingFault first_clash(const TrainSettings& s) {
  if (SettingFault fault = first_dependence_on_replicas(s); !fault.key.empty()) return fault;
  if (SettingFault idle = first_idle_hyperparameter(s); !idle.key.empty()) return idle;
  if (SettingFault fault = first_fault_of_schedule(s); !fault.key.empty()) return fault;
  if (SettingFault fault = first_fault_of_chip(s); !fault.key.empty()) return fault;
  const bool linear = optimizer_options(s).linear();
  if (s.fold_scale_into_rate && !linear)
    return {"fold_scale_into_rate",
            "is true, but " + s.optimizer + " is not linear in the gradient; expected sgd, momentum or nesterov"};
  if (s.mechanism_value().kind != Mechanism::Kind::kNone && s.precision_value() != Precision{})
    return {"mechanism", "is '" + s.mechanism + "', but 'precision' is '" + s.precision +
                             "', which says itself what computes in which dtype; expected precision float32, or the "
                             "mechanism none"};
  if (s.optimizer_state &&
      (s.precision_value().parameters == DType::kFloat64 || s.mechanism_value().low_dtype() == DType::kFloat64))
    return {"optimizer_state",
            "is " + *s.optimizer_state + ", but variables of float64 keep their state in float64; expected none"};
  const TrainSettings all = s.spelled_out();
  if (all.preset == "ieee" && executor_options(all).config.behaviour().nanoo)
    return {"preset", "is 'ieee', in which an overflow is infinite, but 'behaviour' is '" + s.behaviour +
                          "'; expected no nanoo, or the preset ipu"};
  const std::string& loss_scale = all.loss_scale;
  if (s.fold_scale_into_rate && LossScaleOptions::parse(loss_scale).dynamic)
    return {"fold_scale_into_rate",
            "is true, but the loss scale '" + loss_scale + "' moves; expected a fixed loss scale"};
  if (s.fold_scale_into_rate && (s.clip_value || s.clip_norm || s.clip_global_norm))
    return {"fold_scale_into_rate", "is true, but clipping acts on unscaled gradients; expected no clipping"};
  return {};
}

}  // namespace

train_detail::SettingFault train_detail::first_fault(const TrainSettings& s) {
  constexpr int64_t kMost = int64_t{1} << 40;
  Checker c;
  c.readable(
      "network", [&] { find_network(s.network); },
      names_network_file(s.network) ? "cannot be read: " : "is not understood: ");
  c.readable("precision", [&] { Precision::parse(s.precision); });
  c.readable("mechanism", [&] { Mechanism::parse(s.mechanism); });
  c.within<int64_t>("train_images", s.train_images, 0, kMost);
  c.within<int64_t>("test_images", s.test_images, 0, kMost);
  c.number("validation_split", s.validation_split, s.validation_split >= 0 && s.validation_split < 1,
           "a number from 0 up to, but not including, 1");
  c.within<int64_t>("batch_size", s.batch_size, 1, 1 << 20);
  c.within<int64_t>("epochs", s.epochs, 1, 1 << 30);
  c.within<int64_t>("warmup_epochs", s.warmup_epochs, 0, 1 << 30);
  c.within<int64_t>("steps", s.steps, 0, kMost);
  c.readable("optimizer", [&] { parse_optimizer(s.optimizer); });
  const auto rate = [](const std::optional<double>& x) { return x && *x >= 0 && *x < 1; };
  const auto positive = [](const std::optional<double>& x) { return x && *x > 0 && std::isfinite(*x); };
  const auto not_negative = [](const std::optional<double>& x) { return x && *x >= 0 && std::isfinite(*x); };
  c.number("learning_rate", s.learning_rate, not_negative(s.learning_rate), "a finite number, 0 or more");
  c.readable("learning_rate_schedule", [&] { parse_schedule(s.learning_rate_schedule); });
  c.within<int64_t>("warmup_steps", s.warmup_steps, 0, kMost);
  c.within<int64_t>("decay_steps", s.decay_steps, 0, kMost);
  c.number("min_learning_rate", s.min_learning_rate, not_negative(s.min_learning_rate), "a finite number, 0 or more");
  c.number("momentum", s.momentum, rate(s.momentum), "a number from 0 up to, but not including, 1");
  c.number("rho", s.rho, rate(s.rho), "a number from 0 up to, but not including, 1");
  c.number("beta1", s.beta1, rate(s.beta1), "a number from 0 up to, but not including, 1");
  c.number("beta2", s.beta2, rate(s.beta2), "a number from 0 up to, but not including, 1");
  c.number("epsilon", s.epsilon, positive(s.epsilon), "a finite number above 0");
  c.number("weight_decay", s.weight_decay, not_negative(s.weight_decay), "a finite number, 0 or more");
  c.dtype("optimizer_state", s.optimizer_state);
  c.dtype("hyperparameters", s.hyperparameters);
  for (const WordSetting& w : kWordSettings) c.word(w.key, s.*w.setting, w.words);
  if (!s.loss_scale.empty()) c.readable("loss_scale", [&] { LossScaleOptions::parse(s.loss_scale).validate(); });
  c.within("random_bits", s.random_bits, 0, 32);
  c.readable("rounding_variant", [&] { variant_from_name(s.rounding_variant); });
  if (!s.chip.empty()) c.readable("chip", [&] { chip_from_name(s.chip); });
  c.word("matmul_partials", s.matmul_partials.value_or("float"), kPartials);
  c.word("convolution_partials", s.convolution_partials.value_or("float"), kPartials);
  c.readable("accumulator", [&] { accumulator_from_name(s.accumulator); });
  c.readable("tensor_core_operands", [&] { tensor_core_operands_from_name(s.tensor_core_operands); });
  if (s.amp_block != 0 && s.amp_block != 1 && s.amp_block != 4 && s.amp_block != 16)
    c.note("amp_block", "is " + std::to_string(s.amp_block) + "; expected 1, 4, 16, or 0 for all of k");
  if (!s.preset.empty()) c.readable("preset", [&] { preset_from_name(s.preset); });
  for (const std::string& word : words_of_list(s.behaviour)) c.word("behaviour", word, kBehaviours);
  c.number("clip_value", s.clip_value, positive(s.clip_value), "a finite number above 0");
  c.number("clip_norm", s.clip_norm, positive(s.clip_norm), "a finite number above 0");
  c.number("clip_global_norm", s.clip_global_norm, positive(s.clip_global_norm), "a finite number above 0");
  c.within<int64_t>("accumulation", s.accumulation, 1, 1 << 20);
  c.dtype("accumulation_dtype", s.accumulation_dtype);
  c.within("replicas", s.replicas, 1, 256);
  if (s.replica_invariant < 0 || s.replica_invariant > 65536 || (s.replica_invariant & (s.replica_invariant - 1)) != 0)
    c.note("replica_invariant",
           "is " + std::to_string(s.replica_invariant) + "; expected 0, or a power of two up to 65536");
  c.within<int64_t>("evaluate_every", s.evaluate_every, 0, 1 << 30);
  c.within("threads", s.threads, 0, 1024);
  return c.fault();
}

namespace {

std::string our_network(const std::string& word) {
  constexpr std::string_view kResnet = "resnet";  // of any depth
  if (same_word(std::string_view(word).substr(0, kResnet.size()), kResnet))
    return std::string(kResnet) + word.substr(kResnet.size());
  return our_word(network_names(), word);
}

/// "TensorFlow=MKL,dtype=bf16" as "tensorflow=mkl,dtype=bf16"; without a value it stays without.
std::string our_mechanism(const std::string& text) {
  Mechanism m = Mechanism::parse(text);
  const size_t dtype = std::min(text.rfind(",dtype="), text.size());
  if (text.find('=') >= dtype) m.value.clear();
  m.low.reset();
  return m.text() + text.substr(dtype);
}

}  // namespace

void train_detail::use_our_names(TrainSettings& s) {
  for (auto* dtype : {&s.optimizer_state, &s.hyperparameters, &s.accumulation_dtype})
    if (*dtype)
      if (const auto known = parse_dtype(**dtype)) *dtype = name_of(*known);
  s.partials = name_rows::our_partials(s.partials);
  for (auto* partials : {&s.matmul_partials, &s.convolution_partials})
    if (*partials) *partials = our_name(kPartials, name_rows::our_partials(**partials));
  for (const WordSetting& w : kWordSettings) s.*w.setting = our_name(w.words, s.*w.setting);
  s.loss_scale = our_word(LossScaleOptions::preset_names(), s.loss_scale);
  s.behaviour = name_rows::our_names(kBehaviours, s.behaviour);
  const auto rename = [](std::string& word, const auto& ours) {
    try {
      word = ours(word);
    } catch (const std::invalid_argument&) {  // first_fault says it with its key
    }
  };
  if (!names_network_file(s.network)) rename(s.network, our_network);
  rename(s.mechanism, our_mechanism);
  rename(s.precision, [](const std::string& word) { return Precision::parse(word).name; });
  rename(s.optimizer, [](const std::string& word) { return std::string(name_of(parse_optimizer(word))); });
  rename(s.learning_rate_schedule, [](const std::string& word) { return std::string(name_of(parse_schedule(word))); });
  rename(s.rounding_variant, [](const std::string& word) { return name_of(variant_from_name(word)); });
  rename(s.accumulator, [](const std::string& word) { return std::string(name_of(accumulator_from_name(word))); });
  rename(s.tensor_core_operands,
         [](const std::string& word) { return std::string(name_of(tensor_core_operands_from_name(word))); });
  if (!s.preset.empty()) rename(s.preset, [](const std::string& word) { return name_of(preset_from_name(word)); });
  if (!s.chip.empty()) rename(s.chip, [](const std::string& word) { return name_of(chip_from_name(word)); });
}

void TrainSettings::validate() const {
  const engine::DefaultEnvironment guard;
  SettingFault fault = train_detail::first_fault(*this);
  if (fault.key.empty()) fault = first_clash(*this);
  if (!fault.key.empty()) throw std::invalid_argument("settings: '" + fault.key + "' " + fault.what);
}

void TrainSettings::refuse_idle(std::span<const TrainSettings> cases) {
  const SettingFault fault = train_detail::first_idle_setting(cases);
  if (!fault.key.empty()) throw std::invalid_argument("settings: '" + fault.key + "' " + fault.what);
}

TrainSettings train_detail::with_hyperparameters(TrainSettings s) {
  const OptimizerOptions usual = OptimizerOptions::of(parse_optimizer(s.optimizer));
  for (const OwnHyperparameter& h : kOwn)
    if (h.has(usual.kind) && !(s.*h.setting)) s.*h.setting = usual.*h.option;
  return s;
}

namespace {

/// The preset of settings that name none, but say their loss scale.
std::string usual_preset(const TrainSettings& s) {
  IpuConfig::FloatingPoint f;
  set_behaviour(f, s.behaviour);
  if (f.nanoo) return name_of(Preset::kIpu);
  if (s.mechanism_value().kind != Mechanism::Kind::kNone) return name_of(Preset::kIeee);
  return name_of(preset_of_training(Graph(), LossScaleOptions::parse(s.loss_scale)).value_or(Preset::kIpu));
}

}  // namespace

TrainSettings TrainSettings::spelled_out() const {
  const engine::DefaultEnvironment guard;
  TrainSettings all = train_detail::with_hyperparameters(*this);
  const Mechanism chosen = mechanism_value();
  const bool none = chosen.kind == Mechanism::Kind::kNone;
  if (replica_invariant > 0 && replicas > 0 && accumulation == 1) all.accumulation = replica_invariant / replicas;
  if (loss_scale.empty()) all.loss_scale = none ? "256" : chosen.loss_scale().name;
  if (preset.empty()) all.preset = usual_preset(all);
  if (behaviour.empty()) all.behaviour = none || all.preset == "ieee" ? "off" : "nanoo";
  if (const auto narrow = narrow_dtype(*this); !chip.empty() && narrow) {
    const ChipRounding c = chip_conversion(*this, *narrow);
    all.random_bits = c.special.random_bits;
    all.rounding_variant = name_of(c.special.variant);
  }
  return all;
}

TrainerOptions TrainSettings::trainer_options() const {
  const engine::DefaultEnvironment guard;
  validate();
  const TrainSettings all = spelled_out();
  TrainerOptions o;
  o.executor = executor_options(all);
  o.optimizer = optimizer_options(*this);
  o.loss_scale = LossScaleOptions::parse(all.loss_scale);
  if (fold_scale_into_rate) o.loss_scale.unscale = Unscale::kFoldedIntoRate;
  o.clipping = {clip_value, clip_norm, clip_global_norm};
  o.replicas = replicas;
  o.reduction = replica_reduction == "sum" ? ReplicaReduction::kSum : ReplicaReduction::kMean;
  o.bias_in_accumulator = bias_in_accumulator;
  o.replica_drift = replica_drift;
  o.replica_invariant = replica_invariant > 0;
  o.accumulation = static_cast<int>(all.accumulation);
  if (accumulation_reduction == "mean") o.accumulation_reduction = ReplicaReduction::kMean;
  if (accumulation_dtype) o.accumulation_dtype = parse_dtype(*accumulation_dtype);
  o.strict = strict;
  if (const Mechanism chosen = mechanism_value(); chosen.rewrites()) o.pass = chosen.pass();
  return o;
}

}  // namespace softamp
