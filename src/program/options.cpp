#include "src/program/options.h"
#include "src/text/counted.h"

#include "softamp/numerics/convert.h"

#include <nlohmann/json.hpp>

#include <iostream>

#include "src/program/provenance.h"
#include "src/text/printable.h"

namespace softamp::program {

cli::Option add_text(const cli::App& app, const std::string& name, std::function<void(const std::string&)> take,
                     const std::string& description, const std::string& value) {
  return app.add_option_function(name, take, description).type_name(value);
}

void RoundingOptions::add_rounding(const cli::App& app) {
  add_word(app, "--rounding", mode, rounding_from_name,
           "nearest (ties to even), nearest-away, zero, up, down, stochastic, odd [=nearest]");
}

void RoundingOptions::add_bits(const cli::App& app) {
  add_whole(app, "--bits", bits, 1, 32, "random bits of a stochastic rounding, 1..32 [=13; 16 with xoroshiro128aox]");
  add_word(app, "--variant", variant, variant_from_name,
           "how the random bits decide: carry (the IPU's), half, rne, odd, at-least [=carry]");
}

void RoundingOptions::add_seed(const cli::App& app) {
  add_whole(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(), "seed of the random bits, 64 bits [=0]");
}

void RoundingOptions::add_engine(const cli::App& app) {
  add_word(app, "--random", engine, engine_from_name,
           "philox (10 rounds), philox7, xoroshiro128aox (the order of the hardware) [=philox]");
}

void RoundingOptions::add_overflow(const cli::App& app) {
  add_word(app, "--overflow", overflow, overflow_from_name,
           "a result too large becomes: infinity, saturate (the largest number), nan [=infinity; saturate in ipu]");
}

void RoundingOptions::add_preset(const cli::App& app) {
  add_word(app, "--preset", preset, preset_from_name, "ieee (IEEE 754-2019), ipu (the accelerator's unit) [=ieee]");
}

void RoundingOptions::add_cast(const cli::App& app) {
  cli::Option option = add_word(app, "--cast", cast, cast_from_name,
                                "convert as a specification has it: ocp, ocp_saturate, onnx, onnx_saturate, ml_dtypes, "
                                "nvidia_satfinite, amd, amd_saturate; to nearest even");
  for (const char* other : {"--rounding", "--bits", "--variant", "--overflow", "--preset", "--chip", "--random"})
    if (cli::Option excluded = app.find_option(other)) option.excludes(excluded);
}

void RoundingOptions::add_chip(const cli::App& app) {
  cli::Option option = add_word(app, "--chip", chip, chip_from_name,
                                "round stochastically as this chip does, see `softamp chips`; --overflow and --bits "
                                "only where the chip leaves a choice");
  for (const char* other : {"--rounding", "--variant", "--preset"})
    if (cli::Option excluded = app.find_option(other)) option.excludes(excluded);
}

namespace {

/// What `make` gives; what it refuses is bad usage.
template <typename Make>
auto checked(Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
}

}  // namespace

Semantics RoundingOptions::semantics() const {
  return checked([this] { return RoundingChoice::semantics(); });
}
Semantics RoundingOptions::semantics(const FloatFormat& f) const {
  return checked([&] { return RoundingChoice::semantics(f); });
}
RoundingPolicy RoundingOptions::policy(const FloatFormat& f) const {
  return checked([&] {
    const RoundingPolicy applied = RoundingChoice::policy(f);
    require_overflow(f, applied);
    return applied;
  });
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
  if (cast) json["cast"] = name_of(*cast);
  if (chip)
    json["chip"] = name_of(*chip);
  else
    json["preset"] = name_of(preset);
  return json;
}

std::string RoundingOptions::description(const FloatFormat& f, const std::string& random_bits) const {
  const RoundingPolicy applied = policy(f);
  std::string text = format_name(f) + ", rounding " + name_of(applied.mode);
  if (applied.stochastic())
    text += " (" + name_of(applied.variant) + ", " + counted(applied.random_bits, "bit") +
            (random_bits.empty() ? ", " + name_of(engine) + ", seed " + std::to_string(seed) : " from " + random_bits) +
            ")";
  return text + ", overflow " + name_of(applied.overflow) +
         (cast   ? std::string(", cast ") + name_of(*cast)
          : chip ? ", chip " + name_of(*chip)
                 : ", preset " + name_of(preset));
}

cli::Option add_compute_format(const cli::App& app, FloatFormat& target, const std::string& description) {
  const auto parse = [](const std::string& name) {
    const FloatFormat format = format_from_name(name);
    if (format == kBinary64)
      throw UsageError("--format: '" + name +
                       "': expected a format of at most 24 bits of precision; fp64 is for "
                       "conversions only");
    return format;
  };
  cli::Option option = add_word(app, "--format", target, parse, description);
  offer(app, "--format", names_of_compute_formats);
  return option;
}

void print_json(Json document) {
  document["provenance"] = provenance();
  std::cout << files::printable_json(document.dump(2)) << '\n';
}

}  // namespace softamp::program
