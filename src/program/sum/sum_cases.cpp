#include "src/program/sum/sum_cases.h"
#include "src/program/sum/sum_files.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "src/numbers/dyadic.h"
#include "src/text/comma_list.h"

#include <algorithm>
#include <cmath>

namespace softamp::program {
namespace {

using detail::Dyadic;

constexpr int kMostBits = 32;
constexpr double kPointsPerDecade = 12;

int bits_of(const std::string& text) { return static_cast<int>(parse_whole("--bits", text, 1, kMostBits)); }

/// Fills in what follows from sums and exact sum. roundings: of each sum.
void judge(SumRow& row, const Dyadic& exact_total, uint64_t roundings) {
  const FloatFormat& f = row.of.format;
  std::vector<double> values;
  double squares = 0;
  for (const uint64_t code : row.codes) {
    const double value = value_of(f, code);
    values.push_back(value);
    double error = value - row.exact;  // what it is where one of them is not finite
    if (std::isfinite(row.exact) && std::isfinite(value)) error = (Dyadic::of(f, code) + -exact_total).to_double();
    squares += error * error;
  }
  row.mean = values.size() == 1 ? values[0] : mean_and_deviation(values).mean;
  row.sd = mean_and_deviation(values).sd;
  row.error = std::sqrt(squares / static_cast<double>(values.size()));
  row.relative = row.exact == 0 ? std::nan("") : row.error / std::abs(row.exact);
  const RoundingMode mode = row.of.setup.semantics.rounding(f).mode;
  const bool nearest = mode == RoundingMode::kNearestEven || mode == RoundingMode::kNearestAway;
  const double n = static_cast<double>(roundings);
  row.roundoff = std::ldexp(1.0, (nearest ? 0 : 1) - f.precision);
  row.bound = (row.stochastic() ? std::sqrt(n) : n) * row.roundoff * row.magnitude;
}

/// After how many additions errors are recorded: about twelve points in each factor of ten, the last one included.
std::vector<uint64_t> trace_additions_of(uint64_t count) {
  std::vector<uint64_t> at;
  for (int point = 0; count > 0; ++point) {
    const uint64_t n = static_cast<uint64_t>(std::pow(10.0, point / kPointsPerDecade));
    if (n >= count) break;
    if (at.empty() || n > at.back()) at.push_back(n);
  }
  if (count > 0) at.push_back(count);
  return at;
}

SumRow value_row(const SumCase& of, const std::string& value, uint64_t count, bool traced,
                 const std::function<void(uint64_t)>& progress) {
  constexpr uint64_t kPoints = 2001;
  RunningSumSetup setup = of.setup;
  setup.addend = operand_code("--value", value, of.format);
  setup.count = count;
  setup.trace_points = traced ? kPoints : 0;
  const RunningSum sum = running_sum(setup, progress);
  SumRow row;
  row.of = of;
  row.codes = sum.codes;
  row.last_change = sum.last_change;
  row.flags = sum.flags;
  std::copy(std::begin(sum.first_addition), std::end(sum.first_addition), row.first_addition);
  row.exact = row.exact_given = sum.exact;
  const double start = value_of(of.format, setup.start), addend = value_of(of.format, setup.addend);
  const Dyadic terms = Dyadic::of(of.format, setup.addend).times(count);
  const Dyadic first = Dyadic::of(of.format, setup.start);
  row.magnitude = (Dyadic{abs(first.number), first.exponent} + Dyadic{abs(terms.number), terms.exponent}).to_double();
  row.first_lost = lost_addition(setup, sum);
  judge(row, first + terms, count);
  for (size_t p = 1; p < sum.trace_additions.size(); ++p) {
    const double n = static_cast<double>(sum.trace_additions[p]);
    double squares = 0;
    for (const std::vector<double>& trace : sum.traces) {  // both sums have one rounding each
      const double error = (trace[p] - std::fma(n, addend, start)) / std::fma(n, std::abs(addend), std::abs(start));
      squares += error * error;
    }
    row.trace_additions.push_back(sum.trace_additions[p]);
    row.trace_errors.push_back(std::sqrt(squares / static_cast<double>(sum.traces.size())));
  }
  return row;
}

}  // namespace

std::vector<int> bits_of_list(const std::string& text) {
  std::vector<int> all;
  for (const std::string& part : split_at_commas(text)) {
    const size_t colon = part.find(':');
    if (colon != std::string::npos && (colon == 0 || colon + 1 == part.size()))
      throw UsageError("--bits: '" + part + "': expected a range A:B, with both ends in 1.." +
                       std::to_string(kMostBits));
    const int first = bits_of(part.substr(0, colon));
    const int last = colon == std::string::npos ? first : bits_of(part.substr(colon + 1));
    if (last < first) throw UsageError("--bits: '" + part + "': expected a range A:B, A at most B");
    for (int bits = first; bits <= last; ++bits) all.push_back(bits);
  }
  return all;
}

uint64_t operand_code(const std::string& option, const std::string& text, const FloatFormat& format) {
  ParsedNumber number;
  try {
    number = number_from_text(text);
  } catch (const std::invalid_argument& e) {
    throw UsageError(option + ": " + e.what());
  }
  if (number.kind != ParsedNumber::Kind::kFinite)
    throw UsageError(option + ": '" + text + "': expected a finite number");
  const Rounded rounded = to_code(format, number);
  if (rounded.flags & kOverflow)
    throw UsageError(option + ": '" + text + "': expected a magnitude of at most " +
                     shortest_decimal(format, format.max_finite_code()) + ", the largest number of " +
                     format_name(format));
  return rounded.code;
}

std::vector<SumCase> cases_of(const SumAxes& axes, const RoundingOptions& others, const std::string& start,
                              uint64_t replicas) {
  const auto modes = axes.modes.empty() ? std::vector<RoundingMode>{others.mode} : axes.modes;
  const auto bits = axes.bits.empty() ? std::vector<int>{0} : axes.bits;
  std::vector<SumCase> cases;
  for (const FloatFormat& format : axes.formats.empty() ? std::vector<FloatFormat>{kFp16} : axes.formats)
    for (const RoundingMode mode : modes)
      for (const int number : bits) {
        if (mode != RoundingMode::kStochastic && number != bits.front()) continue;
        SumCase c{format, others, {}};
        c.rounding.mode = mode;
        c.rounding.bits = number;
        c.setup.format = format;
        c.setup.semantics = c.rounding.semantics();
        c.setup.start = operand_code("--start", start, format);
        c.setup.replicas = c.rounding.policy(format).stochastic() ? replicas : 1;
        c.setup.engine = c.rounding.engine;
        c.setup.seed = c.rounding.seed;
        cases.push_back(std::move(c));
      }
  return cases;
}

detail::LostAddition lost_addition(const RunningSumSetup& setup, const RunningSum& sum) {
  const uint64_t last = sum.last_change[0];
  if (setup.semantics.draws(setup.format) || last >= setup.count || setup.format.is_zero(setup.addend) ||
      !setup.format.is_finite(sum.codes[0]))
    return {};
  return {last + 1, sum.codes[0], value_of(setup.format, setup.addend)};
}

std::string SumRow::why() const {
  if (first_lost.addition == 0) return {};
  return "addition " + std::to_string(first_lost.addition) + " is the first that is lost: " +
         detail::why_unchanged(of.format, of.setup.semantics, first_lost.sum, first_lost.term);
}

std::vector<SumRow> value_rows(const std::vector<SumCase>& cases, const std::string& value, uint64_t count, bool traced,
                               const SumProgress& progress) {
  const uint64_t all = count * cases.size();
  std::vector<SumRow> rows;
  for (const SumCase& of : cases) {
    const uint64_t before = count * rows.size();
    rows.push_back(value_row(of, value, count, traced, [&](uint64_t done) { progress(before + done, all); }));
    progress(before + count, all);
  }
  return rows;
}

std::vector<SumRow> array_rows(const std::vector<SumCase>& cases, SumInput& input, bool traced,
                               const SumProgress& progress) {
  uint64_t replicas = 0;
  for (const SumCase& of : cases) replicas += of.setup.replicas;
  ArrayFiles files(input, replicas);
  std::vector<detail::ArraySumCase> wanted;
  for (const SumCase& of : cases) {
    RoundingOptions entry = of.rounding;
    entry.mode = RoundingMode::kNearestEven;
    wanted.push_back({of.setup, entry.semantics()});
  }
  const std::vector<uint64_t> trace = traced ? trace_additions_of(input.elements) : std::vector<uint64_t>{};
  detail::ArraySums sums(std::move(wanted), input.products, trace);
  while (files.next()) {
    sums.add(files.a(), files.b());
    progress(sums.additions(), input.elements);
  }
  std::vector<SumRow> rows;
  for (detail::ArraySum& sum : sums.results()) {
    SumRow& row = rows.emplace_back();
    row.of = cases[rows.size() - 1];
    row.codes = std::move(sum.codes);
    row.last_change = std::move(sum.last_change);
    row.lost = std::move(sum.lost);
    row.first_lost = sum.first_lost;
    row.flags = sum.flags;
    row.entry_flags = sum.entry_flags;
    std::copy(std::begin(sum.first_addition), std::end(sum.first_addition), row.first_addition);
    row.exact = sum.exact;
    row.exact_given = sum.exact_given;
    row.magnitude = sum.magnitude;
    row.trace_additions = trace;
    row.trace_errors = std::move(sum.trace_errors);
    judge(row, sum.exact_total, input.elements + (input.products == detail::Products::kRounded ? 1 : 0));
  }
  return rows;
}

}  // namespace softamp::program
