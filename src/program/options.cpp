#include "src/program/options.h"

#include <iostream>

namespace softamp::program {

void RoundingOptions::add_rounding(CLI::App& app) {
  add_word(app, "--rounding", mode, rounding_from_name,
           "nearest (ties to even), nearest-away, zero, up, down, stochastic, odd [=nearest]");
}

void RoundingOptions::add_bits(CLI::App& app) {
  add_whole(app, "--bits", bits, 1, 32, "random bits of a stochastic rounding, 1..32 [=13; 16 with xoroshiro128aox]");
  add_word(app, "--variant", variant, variant_from_name,
           "how the random bits decide: carry (the IPU's), half, rne, odd, at-least [=carry]");
}

void RoundingOptions::add_seed(CLI::App& app) {
  add_whole(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(), "seed of the random bits, 64 bits [=0]");
}

void RoundingOptions::add_engine(CLI::App& app) {
  add_word(app, "--random", engine, engine_from_name,
           "philox (10 rounds), philox7, xoroshiro128aox (the order of the hardware) [=philox]");
}

void RoundingOptions::add_overflow(CLI::App& app) {
  add_word(app, "--overflow", overflow, overflow_from_name,
           "a result too large becomes: infinity, saturate (the largest number), nan [=infinity; saturate in ipu]");
}

void RoundingOptions::add_preset(CLI::App& app) {
  add_word(app, "--preset", preset, preset_from_name, "ieee (IEEE 754-2019), ipu (the accelerator's unit) [=ieee]");
}

void RoundingOptions::add_chip(CLI::App& app) {
  CLI::Option* option = add_word(app, "--chip", chip, chip_from_name,
                                 "round stochastically as this chip does, see `softamp chips`; --overflow and --bits "
                                 "only where the chip leaves a choice");
  for (const char* other : {"--rounding", "--variant", "--preset"})
    if (CLI::Option* excluded = app.get_option_no_throw(other)) option->excludes(excluded);
}

int RoundingOptions::random_bits() const {
  if (bits != 0) return bits;
  return engine == RandomEngine::kXoroshiro128aox ? 16 : 13;
}

Semantics RoundingOptions::semantics() const {
  if (preset == Preset::kIeee) {
    RoundingPolicy policy = RoundingPolicy::ieee(mode);
    policy.random_bits = random_bits();
    policy.variant = variant;
    policy.overflow = overflow.value_or(Overflow::kInfinity);
    return Semantics::ieee(policy);
  }
  if (mode != RoundingMode::kNearestEven && mode != RoundingMode::kStochastic)
    throw UsageError("--rounding: '" + name_of(mode) + "': expected nearest or stochastic with --preset ipu");
  if (overflow == Overflow::kInfinity)
    throw UsageError("--overflow: 'infinity': expected saturate or nan with --preset ipu");
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = mode == RoundingMode::kStochastic;
  behaviour.nanoo = overflow == Overflow::kNan;
  IpuSwitches switches;
  switches.sr_bits = random_bits();
  switches.sr_form = variant;
  return Semantics::ipu(behaviour, switches, engine);
}

ChipOverflow RoundingOptions::chip_overflow() const {
  return !overflow                          ? ChipOverflow::kUsual
         : *overflow == Overflow::kSaturate ? ChipOverflow::kSaturating
                                            : ChipOverflow::kSpecial;
}

Semantics RoundingOptions::semantics(const FloatFormat& f) const {
  if (!chip) return semantics();
  const ChipOverflow answer = chip_overflow();
  try {
    const ChipRounding rounding = require_chip_rounding(*chip, f, answer, bits);
    const bool nan = rounding.special.overflow == Overflow::kNan || !f.has_infinity();
    if (overflow && answer == ChipOverflow::kSpecial && nan != (*overflow == Overflow::kNan))
      throw UsageError("--overflow: '" + name_of(*overflow) + "': expected " + (nan ? "nan" : "infinity") +
                       (rounding.has_saturating ? " or saturate" : "") + " with --chip " + name_of(*chip) +
                       " --format " + format_name(f));
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("--chip: ") + e.what());
  }
  return chip_semantics(*chip, f, answer, bits);
}

RoundingPolicy RoundingOptions::policy(const FloatFormat& f) const {
  if (chip) return semantics(f).rounding(f);
  const RoundingPolicy policy = semantics().rounding(f);
  if (policy.mode != mode)
    throw UsageError("--rounding: '" + name_of(mode) + "': expected nearest for " + format_name(f) +
                     " with --preset ipu, which rounds formats of at most 16 bits stochastically");
  return policy;
}

Json RoundingOptions::settings(const FloatFormat& f) const {
  const RoundingPolicy applied = policy(f);
  Json json;
  json["format"] = format_name(f);
  json["rounding"] = name_of(applied.mode);
  if (applied.stochastic()) {
    json["bits"] = applied.random_bits;
    json["variant"] = name_of(applied.variant);
    json["random"] = name_of(engine);
    json["seed"] = seed;
  }
  json["overflow"] = name_of(applied.overflow);
  if (chip)
    json["chip"] = name_of(*chip);
  else
    json["preset"] = name_of(preset);
  return json;
}

std::string RoundingOptions::description(const FloatFormat& f) const {
  const RoundingPolicy applied = policy(f);
  std::string text = format_name(f) + ", rounding " + name_of(applied.mode);
  if (applied.stochastic())
    text += " (" + name_of(applied.variant) + ", " + std::to_string(applied.random_bits) + " bits, " + name_of(engine) +
            ", seed " + std::to_string(seed) + ")";
  return text + ", overflow " + name_of(applied.overflow) +
         (chip ? ", chip " + name_of(*chip) : ", preset " + name_of(preset));
}

CLI::Option* add_compute_format(CLI::App& app, FloatFormat& target, const std::string& description) {
  const auto parse = [](const std::string& name) {
    const FloatFormat format = format_from_name(name);
    if (format == kBinary64)
      throw UsageError("--format: '" + name +
                       "': expected a format of at most 24 bits of precision; fp64 is for "
                       "conversions only");
    return format;
  };
  CLI::Option* option = add_word(app, "--format", target, parse, description);
  offer(app, "--format", names_of_compute_formats);
  return option;
}

void print_json(const Json& document) { std::cout << document.dump(2) << '\n'; }

}  // namespace softamp::program
