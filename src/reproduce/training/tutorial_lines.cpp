// The single lines of Graphcore's tutorial: x + 0.25 - 0.25 in half precision, and the constants that it speaks of.
//
// Two of its printed results are misprints: 0.0200205 for 0.02, and 0.0004833 for 0.0004. They are compared with the
// exact results of fp16 to nearest even, with which the other four lines, printed to seven decimals, agree.
#include <algorithm>
#include <cmath>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/sum_cases.h"

namespace softamp::reproduce::tutorial_lines {
namespace {

constexpr int kDefaultBits = 13;
/// Parts of the rounding sites (sum_site), of the lines and of the picture; index = the line, or the place.
constexpr uint32_t kAddPart = 1, kSubPart = 2, kPictureParts = 2;

/// A line, the exact result in fp16 to nearest even, and what the tutorial prints.
struct Line {
  const char* text;
  const char* exact;
  const char* printed;
  const char* percent;  ///< the relative error as the page prints it
  bool misprint;
};
constexpr Line kLines[] = {
    {"0.0004", "0.00048828125", "0.0004833", "+22%", true},     {"0.2", "0.199951171875", "0.1999512", "-0.0%", false},
    {"0.02", "0.02001953125", "0.0200205", "+0.1%", true},      {"0.002", "0.001953125", "0.0019531", "-2.3%", false},
    {"0.0002", "0.000244140625", "0.0002441", "+22.1%", false}, {"0.0001", "0", "0.0", "-100%", false},
};

/// Constants that the tutorial's programs hold in fp16, and their values as computed apart from us, to as many digits.
struct Constant {
  const char* text;
  double value;
  const char* expected;
};
constexpr Constant kConstants[] = {
    {"0.01/256", 0.01 / 256, "3.904104e-05"},
    {"0.01", 0.01, "0.0100021362"},
    {"0.9", 0.9, "0.89990234375"},
    {"0.1", 0.1, "0.0999755859"},
    {"1/255", 1.0 / 255, "0.00392150879"},
    {"1e-8", 1e-8, "0"},
    {"1e-4", 1e-4, "1.00016594e-04"},
};

uint64_t code_of(const FloatFormat& f, const std::string& text) { return to_code(f, number_from_text(text)).code; }

/// One line in one format: every operation rounded once.
struct Result {
  uint64_t x, sum, result;
};
Result run_line(const FloatFormat& f, const Semantics& s, uint64_t seed, const Line& line, uint64_t index) {
  const RandomBits random{seed};
  const auto word = [&](uint32_t part) {
    const int bits = s.rounding(f).random_bits;
    return s.draws(f) ? random.bits(0, sum_site(f, bits, part), index, bits) : 0;
  };
  const uint64_t quarter = code_of(f, "0.25");
  Result r{};
  r.x = code_of(f, line.text);
  r.sum = fp::add(f, r.x, quarter, s, word(kAddPart)).code;
  r.result = fp::sub(f, r.sum, quarter, s, word(kSubPart)).code;
  return r;
}

std::string percent_text(double share, const char* like) {
  // As many decimals as the page has.
  const std::string text = like;
  const size_t point = text.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 2);
  return signed_places(100 * share, decimals) + "%";
}

/// `value` in the notation and to the number of digits of `like`.
std::string written_like(double value, const std::string& like) {
  const size_t e = like.find('e'), point = like.find('.');
  const std::string digits = like.substr(0, e);
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  return e == std::string::npos ? fixed_places(value, decimals) : scientific_places(value, decimals);
}

Plot plot_of(const FloatFormat& f, const Semantics& s, uint64_t seed) {
  Curve sawtooth{format_name(f) + ", (x + 0.25) - 0.25", CurveStyle::kThin, {}, {}};
  Curve lines{"the tutorial's lines", CurveStyle::kPoints, {}, {}};
  const RandomBits random{seed};
  const uint64_t quarter = code_of(f, "0.25");
  constexpr int kPoints = 600;
  for (int i = 0; i <= kPoints; ++i) {
    const double v = std::pow(10.0, -5 + 5.0 * i / kPoints);
    const auto word = [&](uint32_t part) {
      const int bits = s.rounding(f).random_bits;
      return s.draws(f) ? random.bits(0, sum_site(f, bits, kPictureParts + part), static_cast<uint64_t>(i), bits) : 0;
    };
    const uint64_t sum = fp::add(f, fp::from_double(f, v), quarter, s, word(kAddPart)).code;
    const double result = value_of(f, fp::sub(f, sum, quarter, s, word(kSubPart)).code);
    sawtooth.x.push_back(v);
    sawtooth.y.push_back(100 * (result / v - 1));
  }
  uint64_t index = 0;
  for (const Line& line : kLines) {
    const double v = number_of_decimal(line.text).value();
    lines.x.push_back(v);
    lines.y.push_back(100 * (value_of(f, run_line(f, s, seed, line, index++).result) / v - 1));
  }
  Plot plot;
  plot.title = "x + 0.25 - 0.25 in " + format_name(f);
  plot.subtitle = name_of(s.rounding(f).mode) + ", every operation rounded once";
  plot.x_label = "x";
  plot.y_label = "relative error of the result (%)";
  plot.x_log = 10;
  plot.curves = {sawtooth, lines, {"x", CurveStyle::kReference, {1e-5, 1}, {0, 0}}};
  return plot;
}

Table lines_table() {
  return {"lines",
          "x + 0.25 - 0.25, x = the number typed rounded to the format, every operation rounded once",
          {"format", "rounding", "x typed", "x", "x + 0.25", "x + 0.25 - 0.25", "relative error %", "tutorial prints",
           "note"},
          {}};
}

void add_line(Outcome& o, const FloatFormat& f, RoundingMode mode, const Line& line, const Result& r) {
  const double error = value_of(f, r.result) / number_of_decimal(line.text).value() - 1;
  const bool its_own = f == kFp16 && mode == RoundingMode::kNearestEven;
  o.tables[0].rows.push_back({format_name(f), name_of(mode), line.text, exact_decimal(f, r.x), exact_decimal(f, r.sum),
                              exact_decimal(f, r.result), 100 * error, its_own ? Json(line.printed) : Json(nullptr),
                              its_own && line.misprint ? "a misprint of " + std::string(line.exact) : ""});
  if (!its_own) return;
  const std::string ours = exact_decimal(f, r.result), what = std::string("fp16, nearest: ") + line.text;
  const std::string note = line.misprint ? std::string(" (printed ") + line.printed + ", a misprint)" : "";
  o.checks.push_back(equal(what + " + 0.25 - 0.25", Against::kBound, ours, line.exact, note));
  if (!line.misprint)
    o.checks.push_back(equal(what + ", as printed", Against::kFigure, written_like(value_of(f, r.result), line.printed),
                             line.printed));
  o.checks.push_back(
      equal(what + ", relative error", Against::kFigure, percent_text(error, line.percent), line.percent));
}

Table constants_table(Outcome& o) {
  Table t{"constants",
          "Constants of the tutorial's programs in fp16, to nearest",
          {"constant", "fp16", "code", "relative error", "expected"},
          {}};
  for (const Constant& c : kConstants) {
    // 0.01/256 and 1/255 lie far from the middle between two halves: their doubles round as the exact quotients do.
    const uint64_t code = fp::from_double(kFp16, c.value);
    const double value = value_of(kFp16, code);
    t.rows.push_back({c.text, exact_decimal(kFp16, code), code_text(kFp16, code), value / c.value - 1, c.expected});
    o.checks.push_back(
        equal(std::string("fp16(") + c.text + ")", Against::kBound, written_like(value, c.expected), c.expected));
  }
  return t;
}

Outcome run(const Request& request, Watch& watch) {
  const std::vector<FloatFormat> formats =
      request.formats.empty() ? std::vector<FloatFormat>{kFp16, kBf16, kFp32} : request.formats;
  const std::vector<RoundingMode> modes =
      request.roundings.empty() ? std::vector<RoundingMode>{RoundingMode::kNearestEven, RoundingMode::kStochastic}
                                : request.roundings;
  const int bits = request.bits.value_or(kDefaultBits);
  for (const FloatFormat& f : formats)
    if (!f.valid() || f == kBinary64)
      throw std::invalid_argument("format " + format_name(f) +
                                  " in tutorial-lines: expected one of 2..8 exponent bits and a precision of 2..24");
  const bool stochastic = std::find(modes.begin(), modes.end(), RoundingMode::kStochastic) != modes.end();
  if (!stochastic) refuse_without_stochastic(request, "tutorial-lines");
  Outcome o;
  o.settings["formats"] = Json::array();
  for (const FloatFormat& f : formats) o.settings["formats"].push_back(format_name(f));
  o.settings["roundings"] = Json::array();
  for (const RoundingMode m : modes) o.settings["roundings"].push_back(name_of(m));
  if (stochastic) {
    o.settings["random_bits"] = bits;
    o.settings["seed"] = request.seed;
  }
  o.tables.push_back(lines_table());
  double done = 0;
  for (const FloatFormat& f : formats)
    for (const RoundingMode mode : modes) {
      watch.at(done++, static_cast<double>(formats.size() * modes.size()));
      const Semantics s = experiment_semantics(mode, bits);
      uint64_t index = 0;
      for (const Line& line : kLines) add_line(o, f, mode, line, run_line(f, s, request.seed, line, index++));
    }
  o.tables.push_back(constants_table(o));
  o.figures.push_back(
      {"sawtooth", plot_of(formats[0], experiment_semantics(modes[0], bits), request.seed),
       "What is left of x once 0.25 has been added and taken away again: multiples of the quantum of 0.25."});
  const std::string general =
      "A format of p significant bits has neighbours at a distance of 2^(-1-p) above 0.25. Adding x to 0.25 rounds x "
      "to "
      "a multiple of that, and taking 0.25 away again shows what is left of it: of a large x nearly all, of a small "
      "one "
      "a coarse multiple or nothing. The small number is swamped by the large one. Rounded stochastically it is left "
      "or "
      "lost by chance.";
  const std::string found =
      "Half precision holds 11 bits, so that numbers near 0.25 are 2^-12 = 0.00024 apart. Adding x to 0.25 rounds x to "
      "a multiple of that, and taking 0.25 away again, which is exact, shows what is left: 0.2 loses little, 0.0004 "
      "comes back as 0.00049, and 0.0001, less than half a step, comes back as nothing. The small number is swamped by "
      "the large one. The tutorial prints 0.0200205 for 0.02 and 0.0004833 for 0.0004; both are misprints of the exact "
      "results 0.02001953125 and 0.00048828125.";
  o.seen = by_default(request) ? found : general;
  o.deviations =
      "The tutorial has its lines in half precision to nearest alone; other formats and stochastic rounding are ours.";
  return o;
}

}  // namespace

Experiment experiment() {
  return {"tutorial-lines",
          "x + 0.25 - 0.25 in half precision: small numbers are swamped",
          kTutorial,
          kFormat | kRounding | kBits | kSeed,
          "",
          [](const Request&) { return 0.01; },
          run};
}

}  // namespace softamp::reproduce::tutorial_lines
