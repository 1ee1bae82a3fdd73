// Names of the chips, the lines of the comparison, and the exact bias.
#include "softamp/chips/chip_table.h"

#include <stdexcept>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "src/names/name_rows.h"
#include "src/text/joined.h"
#include "src/text/lower_case.h"

namespace softamp {
namespace {

/// A vendor whose stochastic rounding is not public in its bits (N322).
struct Closed {
  const char* name;
  const char* why;
};
// implements: N322
constexpr Closed kClosed[] = {
    {"trainium",
     "AWS documents that it rounds stochastically (NEURON_RT_STOCHASTIC_ROUNDING_EN), not how many random "
     "bits decide, nor what becomes of overflow and special values"},
    {"gaudi", "Intel's TPC header names the mode SW_SR alone: the random bits and their place are not public"},
    {"tpu", "XLA's StochasticConvert leaves float to float to the backend, which is not public"},
};

std::string list_of(const std::vector<FloatFormat>& formats) {
  std::string text;
  for (size_t i = 0; i < formats.size(); ++i)
    text += (i == 0 ? "" : i + 1 == formats.size() ? " or " : ", ") + format_name(formats[i]);
  return text;
}

void check_bits(Chip chip, int bits) {
  if (bits < 0 || bits > 32)
    throw std::invalid_argument("chip " + name_of(chip) + ": " + std::to_string(bits) + " random bits: expected 1..32");
}

bool named_alike(const std::string& wanted, const std::string& closed) {
  return wanted.find(closed) != std::string::npos;
}

/// "inf", "nan", "max" or "0": the kind of a code, without its sign.
std::string kind_of(const FloatFormat& f, uint64_t code) {
  if (f.is_nan(code)) return "nan";
  if (f.is_infinity(code)) return "inf";
  if ((code & f.magnitude_mask()) == f.max_finite_code()) return "max";
  return f.is_zero(code) ? "0" : code_text(f, code);
}

/// What `code` of the source becomes under either overflow rule, the usual one first.
std::string answers(Chip chip, const ChipRounding& c, int bits, uint64_t code, uint32_t random) {
  const auto under = [&](ChipOverflow o) {
    return kind_of(c.to, fp::convert(c.from, c.to, code, chip_semantics(chip, c.to, o, bits), random).code);
  };
  const std::string usual = under(ChipOverflow::kUsual);
  if (!c.has_special || !c.has_saturating) return usual;
  const std::string other = under(c.usually_saturating ? ChipOverflow::kSpecial : ChipOverflow::kSaturating);
  return other == usual ? usual : usual + " or " + other;
}

/// See ChipRow::evidence. AMD's special values are the host model's, and r and form of the IPU are not public.
Evidence evidence_of(Chip chip, const FloatFormat& to) {
  const bool f8 = to.storage_bits() <= 8;
  switch (chip) {
    case Chip::kIpu: return Evidence::kAssumed;
    case Chip::kNvidiaSm100: return f8 ? Evidence::kThirdParty : Evidence::kHashedInPart;
    case Chip::kAmdCdna3: return Evidence::kVendorModel;
    case Chip::kAmdCdna4: return f8 ? Evidence::kVendorModel : Evidence::kThirdParty;
    case Chip::kIntelXe: return Evidence::kVendorDocument;
    case Chip::kExact: return Evidence::kDefinition;
    default: return Evidence::kThirdParty;
  }
}

/// The number of (field, R), of 2^discarded fields and 2^r values of R, that round up.
uint64_t roundings_up(const RoundingPolicy& p, int discarded, int lift) {
  const int r = p.random_bits;
  const uint64_t fields = uint64_t{1} << discarded, numbers = uint64_t{1} << r;
  if (p.alignment == RandomAlignment::kAsIfNormal && lift > 0) {
    // floor(d 2^(r+lift)) + R >= 2^(r+lift), with R still below 2^r: only the top 2^-lift of all fields can go up.
    const int places = r + lift;
    uint64_t sum = 0;
    for (uint64_t k = 0; k < fields; ++k) {
      const uint64_t whole = places >= discarded ? k << (places - discarded) : k >> (discarded - places);
      const uint64_t missing = (uint64_t{1} << places) - whole;
      if (missing < numbers) sum += numbers - missing;
    }
    return sum;
  }
  // Fields with no more bits than R: up in d 2^r cases each, in every variant.
  const uint64_t resolved = r >= discarded ? (numbers >> discarded) * (fields / 2 * (fields - 1)) : 0;
  const uint64_t repeats = r >= discarded ? 0 : fields >> r;  // fields that share their top r bits
  switch (p.variant) {
    case StochasticVariant::kCarry: return r >= discarded ? resolved : repeats * (numbers / 2 * (numbers - 1));
    case StochasticVariant::kAtLeast:
      return (r >= discarded ? resolved : repeats * (numbers / 2 * (numbers - 1))) + fields;
    // floor((b + 1) / 2) of the top r + 1 bits b, summed over all b: 2^(2r).
    case StochasticVariant::kHalf: return r >= discarded ? resolved : repeats / 2 * numbers * numbers;
    // Rounding errors of either sign cancel, those of ties, too: as many go up as down.
    case StochasticVariant::kRne:
    case StochasticVariant::kOdd: return r >= discarded ? resolved : numbers / 2 * (fields - 1);
  }
  return 0;
}

}  // namespace

const ChipFacts& chip_facts(Chip chip) { return chip_facts().at(static_cast<size_t>(chip)); }

Chip chip_from_name(std::string_view name) {
  if (const auto* row = name_rows::find(name_rows::kChips, name)) return row->value;
  const std::string wanted = lower_case(name);
  const std::vector<std::string> known = name_rows::all_described(name_rows::kChips);
  for (const Closed& closed : kClosed)
    if (named_alike(wanted, closed.name))
      throw UnknownName("no preset for chip '" + std::string(name) + "': " + closed.why + "; known: " + joined(known));
  throw UnknownName(unknown_name_message("chip", name, known));
}

std::string name_of(Chip chip) { return chip_facts(chip).name; }

std::string name_of(Evidence evidence) {
  switch (evidence) {
    case Evidence::kHashVerified: return "hash-verified";
    case Evidence::kHashedInPart: return "hash-verified in part";
    case Evidence::kVendorDocument: return "vendor document";
    case Evidence::kVendorModel: return "vendor model";
    case Evidence::kThirdParty: return "third party";
    case Evidence::kDefinition: return "definition";
    case Evidence::kAssumed: return "assumed";
  }
  throw std::logic_error("softamp: an enumerator without a name");
}

std::string name_of(RandomSlice slice) {
  switch (slice) {
    case RandomSlice::kLowBits: return "low bits";
    case RandomSlice::kTopBits: return "top bits";
    case RandomSlice::kHalves: return "low bits of half i";
    case RandomSlice::kBytes: return "byte i";
    case RandomSlice::kPermutedBytes: return "byte 1,0r,3,2r";
  }
  throw std::logic_error("softamp: an enumerator without a name");
}

ChipRounding require_chip_rounding(Chip chip, const FloatFormat& to, ChipOverflow overflow, int bits) {
  const std::string who = "chip " + name_of(chip);
  check_bits(chip, bits);
  const ChipRounding c = chip_rounding(chip, to, bits);
  if (!c.exists)
    throw std::invalid_argument(who + " does not round to " + format_name(to) + ": expected " +
                                list_of(chip_facts(chip).formats));
  if (bits != 0 && !chip_bits_are_free(chip))
    throw std::invalid_argument(who + " rounds to " + format_name(to) + " by " + std::to_string(c.special.random_bits) +
                                " random bits: expected no other number than that");
  if (!c.has(overflow))
    throw std::invalid_argument(who + " to " + format_name(to) +
                                (overflow == ChipOverflow::kSaturating
                                     ? " has no saturating form that is public: expected its usual one"
                                     : " has no other form than the saturating one"));
  return c;
}

std::string dyadic_text(const Dyadic& value) {
  if (value.numerator == 0) return "0";
  return std::to_string(value.numerator) + (value.exponent == 0 ? "" : "/2^" + std::to_string(value.exponent));
}

Dyadic chip_bias(const ChipRounding& rounding, int lift) {
  const RoundingPolicy& p = rounding.policy();
  if (rounding.from.min_exponent() >= rounding.to.min_exponent()) lift = 0;
  const int discarded = rounding.from.mantissa_bits() - rounding.to.mantissa_bits() + lift;
  const int64_t up = static_cast<int64_t>(roundings_up(p, discarded, lift));
  // mean of "up", less the mean of d, over fields and numbers
  const int64_t shares = ((int64_t{1} << discarded) - 1) << p.random_bits;
  Dyadic bias{2 * up - shares, discarded + p.random_bits + 1};
  while (bias.numerator != 0 && bias.numerator % 2 == 0 && bias.exponent > 0)
    bias = {bias.numerator / 2, bias.exponent - 1};
  return bias.numerator == 0 ? Dyadic{0, 0} : bias;
}

ChipRow chip_row(Chip chip, const FloatFormat& to, int bits) {
  const ChipRounding c = require_chip_rounding(chip, to, ChipOverflow::kUsual, bits);
  const RoundingPolicy& p = c.policy();
  const Semantics s = chip_semantics(chip, to, ChipOverflow::kUsual, bits);
  const uint32_t greatest = ~uint32_t{0} >> (32 - p.random_bits);
  // With the greatest R every variant rounds up except at-least, which does so with the least.
  const uint32_t upward = p.variant == StochasticVariant::kAtLeast ? 0 : greatest;
  ChipRow row{};
  row.chip = chip;
  row.from = c.from;
  row.to = to;
  row.bits = p.random_bits;
  row.slice = name_of(c.slice);
  row.variant = name_of(p.variant);
  row.alignment = p.alignment == RandomAlignment::kAsIfNormal ? "source" : "top";
  row.subnormals = p.subnormals == Subnormals::kKeep ? "kept" : "to +0";
  row.overflow = answers(chip, c, bits, c.from.max_finite_code(), upward);
  row.infinity = answers(chip, c, bits, c.from.infinity_code(), 0);
  const uint64_t nan = nan_code(c.from, NanPattern::kQuiet);
  row.nan = code_text(to, fp::convert(c.from, to, nan, s).code);
  const uint64_t zero = fp::convert(c.from, to, c.from.sign_mask(), s).code;
  row.minus_zero = zero == 0 ? "+0" : "-0";
  row.bias = chip_bias(c, 0);
  row.subnormal_bias = chip_bias(c, 1);
  row.evidence = evidence_of(chip, to);
  return row;
}

std::vector<ChipRow> chip_rows(Chip chip, int bits) {
  check_bits(chip, bits);
  std::vector<ChipRow> rows;
  for (const FloatFormat& to : chip_facts(chip).formats)
    rows.push_back(chip_row(chip, to, chip_bits_are_free(chip) ? bits : 0));
  return rows;
}

}  // namespace softamp
