// Each chip's result for the same inputs and the same random word.
#include "src/program/chips/chips_report.h"
#include "src/results/text.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"

#include <nlohmann/json.hpp>

#include <ostream>

namespace softamp::program {
namespace {

uint32_t fp32_code(double value) { return static_cast<uint32_t>(fp::from_double(kFp32, value)); }

/// A result, compared with the value truncated to the same format.
struct ChipResult {
  uint64_t code;
  bool away;  ///< it lies further from zero than the truncated one
};

/// One chip of a comparison.
struct Contender {
  Chip chip;
  ChipRounding rounding;
  Semantics semantics;
  uint32_t random;

  uint64_t operand(uint32_t code) const {
    return rounding.from == kFp32 ? code : fp::convert(kFp32, rounding.from, code, Semantics::ieee()).code;
  }
  ChipResult result(uint32_t code) const {
    const FloatFormat& to = rounding.to;
    const uint64_t source = operand(code);
    const uint64_t rounded = fp::convert(rounding.from, to, source, semantics, random).code;
    const RoundingPolicy truncation = RoundingPolicy::ieee(RoundingMode::kTowardZero);
    const uint64_t below = fp::convert(rounding.from, to, source, Semantics::ieee(truncation)).code;
    const bool numbers = !rounding.from.is_nan(source) && !to.is_nan(rounded) && !to.is_nan(below);
    return {rounded, numbers && (rounded & to.magnitude_mask()) > (below & to.magnitude_mask())};
  }
};

std::vector<Contender> contenders(const ChipComparison& c) {
  std::vector<Contender> all;
  for (const Chip chip : c.chips) {
    const int bits = chip_bits_are_free(chip) ? c.bits : 0;
    const ChipRounding rounding = chip_rounding(chip, c.format, bits);
    if (!rounding.exists) continue;
    all.push_back({chip, rounding, chip_semantics(chip, c.format, ChipOverflow::kUsual, bits),
                   chip_random(rounding, c.word, c.lane)});
  }
  return all;
}

std::string bare(const std::string& code) { return code.substr(2); }

uint64_t nearest(const FloatFormat& f, uint32_t code) { return fp::convert(kFp32, f, code, Semantics::ieee()).code; }

std::string random_text(const Contender& c) {
  return std::to_string(c.random) + "/2^" + std::to_string(c.rounding.special.random_bits);
}

/// marks: where the result lies further from zero than the truncated one.
results::Table table_of(const ChipComparison& c, bool marks) {
  const std::vector<Contender> all = contenders(c);
  results::Table table{.title = "to " + format_name(c.format) + ", random word " + code_text(kFp32, c.word) +
                                ", value " + std::to_string(c.lane) + " of the packed result",
                       .columns = {{"input"}, {"fp32_code", "fp32 code"}, {"why"}, {"nearest"}}};
  results::Row numbers = {"R", "", "", ""};
  for (const Contender& one : all) {
    table.columns.push_back({name_of(one.chip)});
    numbers.emplace_back(random_text(one));
  }
  table.rows.push_back(numbers);
  for (const ChipInput& input : c.inputs) {
    results::Row row = {shortest_decimal(kFp32, input.code), bare(code_text(kFp32, input.code)), input.why,
                        bare(code_text(c.format, nearest(c.format, input.code)))};
    for (const Contender& one : all) {
      const ChipResult r = one.result(input.code);
      row.emplace_back(bare(code_text(c.format, r.code)) + (marks && r.away ? " +" : ""));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json comparison_json(const ChipComparison& c) {
  Json json;
  json["format"] = format_name(c.format);
  json["word"] = code_text(kFp32, c.word);
  json["lane"] = c.lane;
  json["chips"] = Json::array();
  const std::vector<Contender> all = contenders(c);
  for (const Contender& one : all)
    json["chips"].push_back({{"chip", name_of(one.chip)},
                             {"from", format_name(one.rounding.from)},
                             {"bits", one.rounding.special.random_bits},
                             {"random", one.random}});
  json["not_compared"] = Json::array();
  for (const Chip chip : c.chips)
    if (!chip_rounding(chip, c.format).exists) json["not_compared"].push_back(name_of(chip));
  json["inputs"] = Json::array();
  for (const ChipInput& input : c.inputs) {
    Json entry;
    entry["text"] = shortest_decimal(kFp32, input.code);
    entry["code"] = code_text(kFp32, input.code);
    entry["why"] = input.why;
    entry["nearest"] = code_text(c.format, nearest(c.format, input.code));
    entry["results"] = Json::object();
    for (const Contender& one : all) {
      const ChipResult r = one.result(input.code);
      entry["results"][name_of(one.chip)] = {
          {"code", code_text(c.format, r.code)}, {"text", shortest_decimal(c.format, r.code)}, {"away", r.away}};
    }
    json["inputs"].push_back(entry);
  }
  return json;
}

}  // namespace

std::vector<ChipInput> telling_inputs(const FloatFormat& f) {
  const double quantum = std::ldexp(1.0, -f.mantissa_bits()), least = std::ldexp(1.0, f.min_quantum());
  const double normal = std::ldexp(1.0, f.min_exponent()), greatest = fp::to_double(f, f.max_finite_code());
  const double top_quantum = std::ldexp(quantum, f.max_exponent());
  const auto below = [](double value) { return fp32_code(value) - 1; };
  return {{fp32_code(1), "exact"},
          {fp32_code(1 + quantum / 4), "a quarter"},
          {fp32_code(1 + quantum / 2), "a half"},
          {fp32_code(-(1 + quantum / 2)), "its negative"},
          {fp32_code(1 + quantum * 3 / 4), "three quarters"},
          {fp32_code(1) + 1, "least part"},
          {below(2), "carry edge"},
          {below(normal), "below normal"},
          {fp32_code(least * 1.5), "1.5 subnormals"},
          {fp32_code(least / 2), "half of one"},
          {fp32_code(1e-40), "fp32 subnormal"},
          {fp32_code(greatest) + 1, "just too large"},
          {fp32_code(greatest + top_quantum / 2), "halfway beyond"},
          {0x80000000, "minus zero"},
          {0xFF800000, "infinity"},
          {0xFFC00000, "negative NaN"}};
}

results::Table comparison_table(const ChipComparison& comparison) { return table_of(comparison, false); }

std::string left_out(const ChipComparison& comparison) {
  std::string text;
  for (const Chip chip : comparison.chips)
    if (!chip_rounding(chip, comparison.format).exists) text += (text.empty() ? "" : ", ") + name_of(chip);
  return text;
}

void print_chip_comparison(const std::vector<ChipComparison>& comparisons, ChipsForm form, std::ostream& out) {
  if (form == ChipsForm::kJson) {
    Json document;
    document["verb"] = "chips";
    document["comparisons"] = Json::array();
    for (const ChipComparison& c : comparisons) document["comparisons"].push_back(comparison_json(c));
    return print_json(document);
  }
  for (const ChipComparison& c : comparisons) {
    const results::Table table = table_of(c, true);
    out << table.title << "; codes in hexadecimal, + where the result lies further from zero than the truncated value\n"
        << results::text(table);
    std::string single;
    for (const Contender& one : contenders(c)) {
      if (one.rounding.from != kFp32)
        out << name_of(one.chip) << " takes " << format_name(one.rounding.from)
            << ": its inputs are rounded to that first, to nearest\n";
      if (one.rounding.lanes() == 1) single += (single.empty() ? "" : ", ") + name_of(one.chip);
    }
    if (c.lane != 0 && !single.empty()) out << "one word per value, in any lane: " << single << '\n';
    if (const std::string others = left_out(c); !others.empty())
      out << "not compared, no rounding to " << format_name(c.format) << ": " << others << '\n';
    if (&c != &comparisons.back()) out << '\n';
  }
}

}  // namespace softamp::program
