#include "src/program/inspect/inspect_chips.h"

#include "src/program/chips/chips_report.h"

#include "softamp/numerics/convert.h"

#include <nlohmann/json.hpp>

#include <ostream>

#include "src/numbers/decimal_text.h"
#include "src/text/columns.h"
#include "src/text/joined.h"

namespace softamp::program {
namespace {

/// What one chip makes of the number.
struct ChipChance {
  ChipRow row;
  uint64_t source;          ///< the number in the format that the chip converts from, to nearest
  bool exact;               ///< the number is that source
  uint64_t stays, goes_up;  ///< the two results; equal where no random number matters
  uint64_t ups, numbers;    ///< of 2^r random numbers, those that give `goes_up`

  double probability() const { return static_cast<double>(ups) / static_cast<double>(numbers); }
};

ChipChance chance_of(const ChipInspection& inspection, Chip chip) {
  const int bits = chip_bits_are_free(chip) ? inspection.bits : 0;
  const FloatFormat& to = inspection.format;
  const ChipRounding c = require_chip_rounding(chip, to, inspection.overflow, bits);
  const Semantics s = chip_semantics(chip, to, inspection.overflow, bits);
  ChipChance chance{chip_row(chip, to, bits), 0, true, 0, 0, 0, uint64_t{1} << c.special.random_bits};
  const Rounded source = to_code(c.from, inspection.number);
  chance.source = source.code;
  chance.exact = (source.flags & kInexact) == 0;
  const auto result = [&](uint64_t number) {
    return fp::convert(c.from, to, chance.source, s, static_cast<uint32_t>(number)).code;
  };
  // The result changes at one random number, at most: where it is found by halving.
  const uint64_t first = result(0), last = result(chance.numbers - 1);
  uint64_t low = 0, high = chance.numbers - 1;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (result(middle) == first ? low : high) = middle;
  }
  const bool falls = c.special.variant == StochasticVariant::kAtLeast;  // the greater R, the fewer go up
  chance.stays = falls ? last : first;
  chance.goes_up = falls ? first : last;
  if (first != last) chance.ups = falls ? high : chance.numbers - high;
  return chance;
}

std::vector<ChipChance> chances(const ChipInspection& inspection) {
  std::vector<ChipChance> all;
  for (const Chip chip : inspection.chips) all.push_back(chance_of(inspection, chip));
  return all;
}

/// Whether the chip rounds to the format, with the answer to overflow that was asked for.
bool has_all(const ChipInspection& inspection, Chip chip) {
  const ChipRounding c = chip_rounding(chip, inspection.format, inspection.bits);
  return c.exists && c.has(inspection.overflow);
}

std::vector<Chip> left_out(const ChipInspection& inspection) {
  std::vector<Chip> chips;
  for (const Chip chip : inspection.chips)
    if (inspection.chips.size() > 1 && !has_all(inspection, chip)) chips.push_back(chip);
  return chips;
}

/// The chips that can be shown.
ChipInspection kept(const ChipInspection& inspection) {
  ChipInspection result = inspection;
  if (inspection.chips.size() > 1) std::erase_if(result.chips, [&](Chip chip) { return !has_all(inspection, chip); });
  return result;
}

std::string value_and_code(const FloatFormat& f, uint64_t code) {
  return code_text(f, code) + " (" + shortest_decimal(f, code) + ")";
}

Json value_json(const FloatFormat& f, uint64_t code) {
  Json json;
  json["code"] = code_text(f, code);
  json["value"] = value_of(f, code);
  json["text"] = shortest_decimal(f, code);
  return json;
}

}  // namespace

void print_chip_inspection(const ChipInspection& asked, std::ostream& out) {
  const ChipInspection inspection = kept(asked);
  const FloatFormat& f = inspection.format;
  out << inspection.text << " to " << format_name(f) << " by the stochastic rounding of each chip\n";
  std::vector<std::vector<std::string>> lines = {{"chip", "from", "bits", "goes up", "of", "probability", "to", "else",
                                                  "too large", "inf gives", "nan", "-0", "subnormal", "evidence"}};
  bool rounded_before = false;
  for (const ChipChance& c : chances(inspection)) {
    rounded_before = rounded_before || !c.exact;
    const bool always = c.stays == c.goes_up;
    lines.push_back({name_of(c.row.chip), format_name(c.row.from) + (c.exact ? "" : "*"), std::to_string(c.row.bits),
                     std::to_string(c.ups), std::to_string(c.numbers), significant_digits(c.probability(), 6),
                     always ? "-" : value_and_code(f, c.goes_up), value_and_code(f, c.stays), c.row.overflow,
                     c.row.infinity, c.row.nan, c.row.minus_zero, c.row.subnormals, name_of(c.row.evidence)});
  }
  out << in_columns(lines);
  out << "goes up: so many of the chip's random numbers take the magnitude up; too large, inf gives: the usual answer "
         "first.\n";
  if (rounded_before) out << "*: the number is rounded to that format first, to nearest.\n";
  const std::string others = joined(left_out(asked), ", ", [](Chip chip) { return name_of(chip); });
  if (!others.empty()) out << "not shown, no such rounding to " << format_name(f) << ": " << others << '\n';
}

Json chip_inspection_json(const ChipInspection& asked) {
  const ChipInspection inspection = kept(asked);
  const FloatFormat& f = inspection.format;
  Json json;
  json["verb"] = "inspect";
  json["input"] = inspection.text;
  json["format"] = format_name(f);
  json["chips"] = Json::array();
  for (const ChipChance& c : chances(inspection)) {
    Json entry;
    entry["chip"] = name_of(c.row.chip);
    entry["from"] = format_name(c.row.from);
    entry["source"] = code_text(c.row.from, c.source);
    entry["source_is_exact"] = c.exact;
    entry["bits"] = c.row.bits;
    entry["ups"] = c.ups;
    entry["of"] = c.numbers;
    entry["probability"] = c.probability();
    entry["up"] = c.stays == c.goes_up ? Json() : value_json(f, c.goes_up);
    entry["else"] = value_json(f, c.stays);
    entry["overflow"] = c.row.overflow;
    entry["infinity"] = c.row.infinity;
    entry["nan"] = c.row.nan;
    entry["minus_zero"] = c.row.minus_zero;
    entry["subnormals"] = c.row.subnormals;
    entry["evidence"] = name_of(c.row.evidence);
    json["chips"].push_back(entry);
  }
  json["not_shown"] = Json::array();
  for (const Chip chip : left_out(asked)) json["not_shown"].push_back(name_of(chip));
  return json;
}

}  // namespace softamp::program
