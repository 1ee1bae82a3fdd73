#include "src/program/sum/sum_report.h"
#include "src/program/sum/sum_cases.h"

#include "softamp/numbers/number_text.h"
#include "src/numbers/decimal_text.h"
#include "src/numbers/dyadic.h"

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <iomanip>
#include <optional>
#include <ostream>

namespace softamp::program {
namespace {

/// More replicas than this are too many to read: then only the first few are listed.
constexpr size_t kMostListed = 1000, kListedOfMany = 20;

bool stochastic(const SumReport& r) { return r.setup.semantics.draws(r.setup.format); }

/// Enough decimal digits for the product of any sensible text and a count; further digits do not reach a double.
using Decimal = boost::multiprecision::number<boost::multiprecision::cpp_dec_float<100>>;

/// The number as typed. A hexadecimal text is taken by its first 64 bits, all that parsing keeps of it.
Decimal typed_value(const std::string& text) {
  if (text.find_first_of("xX") == std::string::npos) {
    std::string digits;
    for (const char c : text)
      if (c != '\'') digits += c;
    return Decimal(digits);
  }
  const Exact x = parse_number(text).value;
  const Decimal magnitude = ldexp(Decimal(x.significand), x.exponent);
  return x.negative ? Decimal(-magnitude) : magnitude;
}

/// start + count * value as typed, rounded to double.
double decimal_sum(const SumReport& r) {
  const Decimal sum = typed_value(r.start) + r.setup.count * typed_value(r.value);
  if (const std::optional<double> number = number_of_decimal(sum.str(40))) return *number;
  return sum > 1 ? HUGE_VAL : sum < -1 ? -HUGE_VAL : 0.0;
}

std::vector<double> final_values(const SumReport& r) {
  std::vector<double> values;
  for (const uint64_t code : r.sum.codes) values.push_back(value_of(r.setup.format, code));
  return values;
}

std::string decimal_and_code(const FloatFormat& format, uint64_t code) {
  return shortest_decimal(format, code) + " (" + code_text(format, code) + ")";
}

Json sum_json(const FloatFormat& format, uint64_t code) {
  Json json;
  json["value"] = value_of(format, code);
  json["text"] = shortest_decimal(format, code);
  json["code"] = code_text(format, code);
  return json;
}

/// How a deterministic sum ended.
std::string ending(const SumReport& r) {
  const uint64_t last = r.sum.last_change[0];
  if (last == 0) return "no addition moves it";
  const std::string reached = "reached at addition " + std::to_string(last);
  return reached + (last < r.setup.count ? "; no later one moves it" : ", the last one");
}

/// "addition 2182 is lost: 0.0001 is below half the spacing 0.000244 at 0.25"; empty where none is.
std::string why_it_stops(const SumReport& r) {
  const detail::LostAddition lost = lost_addition(r.setup, r.sum);
  if (lost.addition == 0) return {};
  return "addition " + std::to_string(lost.addition) +
         " is the first that is lost: " + detail::why_unchanged(r.setup.format, r.setup.semantics, lost.sum, lost.term);
}

}  // namespace

void print_sum(const SumReport& r, std::ostream& out) {
  const FloatFormat& f = r.setup.format;
  const std::string count = std::to_string(r.setup.count);
  out << "running sum: " << r.value << " added " << count << " times to " << r.start << '\n'
      << "settings     " << r.rounding.description(f) << '\n'
      << "addend       " << exact_decimal(f, r.setup.addend) << " (" << code_text(f, r.setup.addend) << ")\n"
      << "start        " << exact_decimal(f, r.setup.start) << " (" << code_text(f, r.setup.start) << ")\n\n";
  if (stochastic(r)) {
    size_t width = 9;
    for (const uint64_t code : r.sum.codes) width = std::max(width, shortest_decimal(f, code).size());
    out << "replica  " << std::setw(static_cast<int>(width)) << "final sum"
        << "  code\n";
    const size_t all = r.sum.codes.size(), listed = all > kMostListed ? kListedOfMany : all;
    for (size_t i = 0; i < listed; ++i)
      out << std::setw(7) << i << "  " << std::setw(static_cast<int>(width)) << shortest_decimal(f, r.sum.codes[i])
          << "  " << code_text(f, r.sum.codes[i]) << '\n';
    if (listed < all) out << "and " << all - listed << " more, which --json lists\n";
    const auto [mean, sd] = mean_and_deviation(final_values(r));
    out << "\nmean         " << shortest_decimal(mean) << '\n';
    out << "sd           " << (std::isnan(sd) ? "needs two replicas" : shortest_decimal(sd)) << '\n';
  } else {
    out << "final sum    " << decimal_and_code(f, r.sum.codes[0]) << ", " << ending(r) << '\n';
    if (const std::string why = why_it_stops(r); !why.empty()) out << "why          " << why << '\n';
  }
  out << "exact sum    " << shortest_decimal(r.sum.exact) << ", with the rounded addend\n"
      << "decimal sum  " << shortest_decimal(decimal_sum(r)) << ", with the addend as typed\n"
      << "flags        ";
  for (int b = 0; b < kFlagCount; ++b)
    if (r.sum.first_addition[b] != 0)
      out << (r.sum.flags & ((1 << b) - 1) ? "; " : "") << flag_names(static_cast<uint8_t>(1 << b))
          << " first at addition " << r.sum.first_addition[b];
  out << (r.sum.flags == 0 ? "none" : "") << '\n';
}

Json sum_json(const SumReport& r, const std::vector<std::string>& plots) {
  const FloatFormat& f = r.setup.format;
  Json json;
  json["verb"] = "sum";
  json["settings"] = r.rounding.settings(f);
  json["value"] = r.value;
  json["start"] = r.start;
  json["count"] = r.setup.count;
  json["addend_rounded"] = sum_json(f, r.setup.addend);
  json["start_rounded"] = sum_json(f, r.setup.start);
  if (stochastic(r)) {
    json["replicas"] = Json::array();
    for (size_t i = 0; i < r.sum.codes.size(); ++i) {
      Json replica = sum_json(f, r.sum.codes[i]);
      replica["last_change"] = r.sum.last_change[i];
      json["replicas"].push_back(std::move(replica));
    }
    const auto [mean, sd] = mean_and_deviation(final_values(r));
    json["mean"] = mean;
    json["sd"] = sd;
  } else {
    json["final"] = sum_json(f, r.sum.codes[0]);
    json["last_change"] = r.sum.last_change[0];
    json["stagnates"] = r.sum.last_change[0] < r.setup.count;
    if (const std::string why = why_it_stops(r); !why.empty()) json["why"] = why;
  }
  json["exact"] = r.sum.exact;
  json["exact_text"] = r.sum.exact_text;
  json["decimal"] = decimal_sum(r);
  json["first_addition_with_flag"] = Json::object();
  for (int b = 0; b < kFlagCount; ++b)
    if (r.sum.first_addition[b] != 0)
      json["first_addition_with_flag"][flag_names(static_cast<uint8_t>(1 << b))] = r.sum.first_addition[b];
  json["plots"] = plots;
  return json;
}

Plot sum_plot(const SumReport& r, const RunningSum& nearest) {
  const auto additions = [](const RunningSum& sum) {
    return std::vector<double>(sum.trace_additions.begin(), sum.trace_additions.end());
  };
  const bool several = stochastic(r);
  Plot plot;
  plot.title = r.value + " added " + std::to_string(r.setup.count) + " times";
  plot.subtitle = r.rounding.description(r.setup.format);
  plot.x_label = "additions";
  plot.y_label = "running sum";
  const size_t all = r.sum.codes.size(), traced = r.sum.traces.size();
  const std::string shown = (traced < all ? std::to_string(traced) + " of " : "") + std::to_string(all);
  for (size_t i = 0; several && i < r.sum.traces.size(); ++i) {
    const std::string title = i == 0 ? shown + " stochastic sums" : "";
    plot.curves.push_back({title, CurveStyle::kThin, additions(r.sum), r.sum.traces[i]});
  }
  const std::string mode = several ? name_of(RoundingMode::kNearestEven) : name_of(r.rounding.mode);
  plot.curves.push_back({"rounded " + mode, CurveStyle::kBold, additions(nearest), nearest.traces[0]});
  plot.curves.push_back({"exact",
                         CurveStyle::kReference,
                         {0, static_cast<double>(r.setup.count)},
                         {value_of(r.setup.format, r.setup.start), r.sum.exact}});
  return plot;
}

}  // namespace softamp::program
