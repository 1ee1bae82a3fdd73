// softamp round to a format of P3109's, or to E8M0: element by element, by their definitions.
#include "src/program/round/round.h"

#include "softamp/numerics/block/e8m0.h"
#include "softamp/numerics/operand.h"
#include "softamp/numerics/random.h"
#include "src/machine/progress.h"
#include "src/text/counted.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cmath>
#include <iostream>

namespace softamp::program {
namespace {

using npy::ElementType;

constexpr const char* kSaturationNames[] = {"finite", "propagate", "none"};

/// The policy of --rounding, --bits and --variant.
RoundingPolicy small_policy(const RoundOptions& o) {
  RoundingPolicy policy = RoundingPolicy::ieee(o.rounding.mode);
  policy.random_bits = o.rounding.random_bits();
  policy.variant = o.rounding.variant;
  return policy;
}

// implements: N472
e8m0::Rounding e8m0_rounding(const RoundOptions& o) {
  switch (o.rounding.mode) {
    case RoundingMode::kDown:
    case RoundingMode::kTowardZero: return e8m0::Rounding::kDown;
    case RoundingMode::kUp: return e8m0::Rounding::kUp;
    case RoundingMode::kNearestAway: return e8m0::Rounding::kNearest;
    default:
      throw UsageError("--rounding: '" + name_of(o.rounding.mode) +
                       "': expected down, up or nearest-away (ties up) with --format e8m0");
  }
}

/// One conversion: a number to its code, and a code to what --values writes.
class SmallFormat {
 public:
  explicit SmallFormat(const RoundOptions& o) : o_(o), policy_(small_policy(o)) {
    if (!o.choice.e8m0) return;
    e8m0_ = e8m0_rounding(o);
    if (o.rounding.overflow == Overflow::kSaturate) beyond_ = e8m0::Beyond::kToLargest;
  }

  uint32_t code(double x, uint32_t word) const {
    if (o_.choice.e8m0) return e8m0::from_fp32(__builtin_bit_cast(uint32_t, static_cast<float>(x)), e8m0_, beyond_);
    const p3109::Format& f = *o_.choice.p3109;
    if (std::isnan(x)) return static_cast<uint32_t>(f.nan_code());
    if (std::isinf(x)) return static_cast<uint32_t>(p3109::project_infinity(f, x < 0, o_.saturation));
    const Exact exact = detail::unpack_finite(kBinary64, __builtin_bit_cast(uint64_t, x));
    return static_cast<uint32_t>(p3109::project(f, exact, policy_, o_.saturation, word));
  }
  bool stochastic() const { return !o_.choice.e8m0 && policy_.stochastic(); }
  int bits() const { return policy_.random_bits; }

 private:
  const RoundOptions& o_;
  RoundingPolicy policy_;
  e8m0::Rounding e8m0_ = e8m0::Rounding::kDown;
  e8m0::Beyond beyond_ = e8m0::Beyond::kToNan;
};

/// What the report counts.
struct SmallCounts {
  std::atomic<uint64_t> nan{0}, infinite{0}, beyond{0};
};

template <typename In>
void round_small_pieces(const RoundOptions& o, ArrayReader& reader, RandomWords* words, RoundOutput& out,
                        SmallCounts& counts) {
  const SmallFormat format(o);
  const uint64_t total = reader.header().elements;
  const bool wide = !o.choice.e8m0 && o.choice.p3109->width > 8;
  std::vector<In> in(std::min<uint64_t>(kRoundChunk, total));
  std::vector<uint16_t> codes(in.size());
  std::vector<uint8_t> narrow(o.values || wide ? 0 : in.size());
  std::vector<float> values(o.values ? in.size() : 0);
  const RandomBits random{o.rounding.seed, o.rounding.engine == RandomEngine::kPhilox7 ? 7 : 10};
  const SmallValues table(o.choice);
  Progress progress("round", total, "elements");
  tbb::task_arena arena(o.threads == 0 ? tbb::task_arena::automatic : o.threads);
  for (uint64_t done = 0; done < total;) {
    stop_if_interrupted();
    const size_t count = reader.read(in.data(), in.size());
    const uint32_t* const given = words ? words->next(count) : nullptr;
    const auto body = [&](const tbb::blocked_range<size_t>& range) {
      uint64_t nan = 0, infinite = 0, beyond = 0;
      for (size_t i = range.begin(); i != range.end(); ++i) {
        const uint32_t word = !format.stochastic() ? 0
                              : given              ? given[i] & (~uint32_t{0} >> (32 - format.bits()))
                                                   : random.bits(o.rounding_step, 0, done + i, format.bits());
        const double x = in[i];
        const uint32_t code = format.code(x, word);
        codes[i] = static_cast<uint16_t>(code);
        nan += table.is_nan(code);
        infinite += table.is_infinity(code);
        beyond += std::isfinite(x) && std::abs(x) > table.greatest();
        if (o.values) values[i] = table.value(code);
        if (!narrow.empty()) narrow[i] = static_cast<uint8_t>(code);
      }
      counts.nan += nan, counts.infinite += infinite, counts.beyond += beyond;
    };
    arena.execute([&] { tbb::parallel_for(tbb::blocked_range<size_t>(0, count, 1 << 12), body); });
    out.write(0,
              o.values         ? static_cast<const void*>(values.data())
              : narrow.empty() ? static_cast<const void*>(codes.data())
                               : static_cast<const void*>(narrow.data()),
              count);
    done += count;
    progress.update(done);
  }
}

std::string small_name(const RoundOptions& o) { return o.choice.e8m0 ? "e8m0" : p3109_name(*o.choice.p3109); }

Json small_settings(const RoundOptions& o) {
  Json json;
  json["format"] = small_name(o);
  json["rounding"] = name_of(o.rounding.mode);
  if (!o.choice.e8m0 && small_policy(o).stochastic()) {
    json["bits"] = o.rounding.random_bits();
    json["variant"] = name_of(o.rounding.variant);
    json["random"] = name_of(o.rounding.engine);
    json["seed"] = o.rounding.seed;
    if (o.random_bits.empty()) json["step"] = o.rounding_step;
  }
  if (o.choice.e8m0)
    json["overflow"] = o.rounding.overflow == Overflow::kSaturate ? "saturate" : "nan";
  else
    json["saturation"] = kSaturationNames[static_cast<int>(o.saturation)];
  return json;
}

std::string small_description(const RoundOptions& o) {
  std::string text = small_name(o) + ", rounding " + name_of(o.rounding.mode);
  const Json settings = small_settings(o);
  if (settings.contains("bits"))
    text += " (" + name_of(o.rounding.variant) + ", " + counted(o.rounding.random_bits(), "bit") +
            (o.random_bits.empty() ? ", " + name_of(o.rounding.engine) + ", seed " + std::to_string(o.rounding.seed) +
                                         (o.rounding_step ? ", step " + std::to_string(o.rounding_step) : "")
                                   : " from " + o.random_bits) +
            ")";
  if (o.choice.e8m0) return text + ", overflow " + settings["overflow"].get<std::string>();
  return text + ", saturation " + settings["saturation"].get<std::string>();
}

}  // namespace

SmallValues::SmallValues(const FormatChoice& choice) : choice_(choice) {
  const uint32_t most = choice.e8m0 ? e8m0::kLargest : static_cast<uint32_t>(choice.p3109->max_finite_code());
  greatest_ = choice.e8m0 ? 0x1p127 : wide_value(most);
}

double SmallValues::wide_value(uint32_t code) const {
  const Exact x = p3109::exact(*choice_.p3109, code);
  return std::ldexp(x.negative ? -static_cast<double>(x.significand) : static_cast<double>(x.significand), x.exponent);
}

bool SmallValues::is_nan(uint32_t code) const {
  return choice_.e8m0 ? code == e8m0::kNan : choice_.p3109->is_nan(code);
}
bool SmallValues::is_infinity(uint32_t code) const { return !choice_.e8m0 && choice_.p3109->is_infinity(code); }

float SmallValues::value(uint32_t code) const {
  if (is_nan(code)) return __builtin_bit_cast(float, 0x7FC00000u);
  if (choice_.e8m0) return __builtin_bit_cast(float, e8m0::fp32_code(code));
  if (is_infinity(code)) return code & choice_.p3109->sign_mask() ? -INFINITY : INFINITY;
  return static_cast<float>(wide_value(code));
}

void SmallValues::check_float32_holds_all() const {
  if (choice_.e8m0) return;
  const p3109::Format& f = *choice_.p3109;
  const Exact most = p3109::exact(f, f.max_finite_code());
  if (f.min_quantum() >= -149 && most.exponent + 63 - detail::countl_zero(most.significand) <= 127) return;
  throw UsageError("--format: '" + p3109_name(f) + "': its values go from 2^" + std::to_string(f.min_quantum()) +
                   " on; expected a format whose values float32 holds, or no --values and no --dequantize");
}

void check_small_options(const RoundOptions& o, const cli::App& app) {
  const std::string with = " with --format " + small_name(o);
  for (const char* other : {"--chip", "--cast", "--packed"})
    if (app.option(other).count() > 0) throw UsageError(std::string(other) + ": expected none" + with);
  if (o.rounding.preset != Preset::kIeee) throw UsageError("--preset: 'ipu': expected ieee" + with);
  if (o.values || o.back) SmallValues(o.choice).check_float32_holds_all();
  if (o.choice.e8m0) {
    if (!o.back) e8m0_rounding(o);
    if (o.rounding.overflow == Overflow::kInfinity)
      throw UsageError("--overflow: 'infinity': expected nan or saturate" + with);
    if (app.option("--saturation").count() > 0)
      throw UsageError("--saturation: expected one of P3109's formats, such as Binary8p4se, not e8m0");
    return;
  }
  if (o.rounding.overflow)
    throw UsageError("--overflow: '" + name_of(*o.rounding.overflow) +
                     "': expected --saturation finite, propagate or none" + with);
}

void round_small_file(const RoundOptions& o) {
  ArrayReader reader(o.in, tensors_of_values());
  const npy::Header& header = reader.header();
  check_input_type(reader, o.choice.e8m0, o.choice.e8m0 ? "which e8m0 is made from" : "");
  std::optional<RandomWords> words;
  if (!o.random_bits.empty()) words.emplace(o.random_bits, header, o, o.rounding.random_bits());
  const bool wide = !o.choice.e8m0 && o.choice.p3109->width > 8;
  const ElementType type = o.values ? ElementType::kFloat32 : wide ? ElementType::kUint16 : ElementType::kUint8;
  RoundOutput out(o, {{o.out, "", type, o.values ? TensorElement::kF32 : tensor_type(o.choice), header.shape}},
                  small_description(o));
  SmallCounts counts;
  RandomWords* const given = words ? &*words : nullptr;
  if (header.type == ElementType::kFloat32)
    round_small_pieces<float>(o, reader, given, out, counts);
  else
    round_small_pieces<double>(o, reader, given, out, counts);
  out.commit();
  RoundSummary s = summary_of(reader, out, o.values ? "values" : "codes");
  s.settings = small_settings(o);
  s.description = small_description(o);
  if (o.json) {
    Json json = summary_start(o, s);
    json["beyond_the_largest"] = counts.beyond.load();
    json["infinite"] = counts.infinite.load();
    json["nan"] = counts.nan.load();
    print_json(json);
    return;
  }
  print_summary_start(o, s);
  std::cerr << counts.beyond << " beyond the largest number; of the results " << counts.infinite << " infinite, "
            << counts.nan << " NaN\n";
}

}  // namespace softamp::program
