#include "src/program/sum/sum_table.h"

#include "softamp/data/npy.h"
#include "softamp/numbers/number_text.h"
#include "src/numbers/decimal_text.h"
#include "src/results/text.h"
#include "src/text/counted.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>

namespace softamp::program {
namespace {

constexpr size_t kMostReplicasShown = 20;
constexpr int kErrorDigits = 4;

std::string number_cell(double value) { return std::isnan(value) ? "-" : significant_digits(value, kErrorDigits); }

RoundingPolicy policy(const SumRow& row) { return row.of.rounding.policy(row.of.format); }

/// "stochastic, 13 bits", "nearest".
std::string rounding_text(const SumRow& row) {
  const RoundingPolicy p = policy(row);
  return name_of(p.mode) + (p.stochastic() ? ", " + counted(p.random_bits, "bit") : "");
}

std::string bound_text(const SumRow& row) {
  return std::string(row.stochastic() ? "sqrt(n)" : "n") + " u sum|x|, u = 2^" +
         std::to_string(std::ilogb(row.roundoff));
}

std::string result_text(const SumRow& row) {
  return row.codes.size() == 1 ? shortest_decimal(row.of.format, row.codes[0]) : shortest_decimal(row.mean);
}

double mean_lost(const SumRow& row) {
  double total = 0;
  for (const uint64_t lost : row.lost) total += static_cast<double>(lost);
  return total / static_cast<double>(row.lost.size());
}

/// "reached at addition 2181; no later one moves it".
std::string ending(const SumRow& row, uint64_t additions) {
  const uint64_t last = row.last_change[0];
  if (last == 0) return "no addition moves it";
  return "reached at addition " + std::to_string(last) +
         (last < additions ? "; no later one moves it" : ", the last one");
}

void print_flags(const SumRow& row, std::ostream& out) {
  out << "flags        ";
  for (int b = 0; b < kFlagCount; ++b)
    if (row.first_addition[b] != 0)
      out << (row.flags & ((1 << b) - 1) ? "; " : "") << flag_names(static_cast<uint8_t>(1 << b))
          << " first at addition " << row.first_addition[b];
  out << (row.flags == 0 ? "none" : "") << '\n';
}

void print_replicas(const SumRow& row, std::ostream& out) {
  const FloatFormat& f = row.of.format;
  size_t width = 9;
  for (const uint64_t code : row.codes) width = std::max(width, shortest_decimal(f, code).size());
  out << "replica  " << std::setw(static_cast<int>(width)) << "final sum"
      << "  code\n";
  const size_t all = row.codes.size(), listed = std::min(all, kMostReplicasShown);
  for (size_t i = 0; i < listed; ++i)
    out << std::setw(7) << i << "  " << std::setw(static_cast<int>(width)) << shortest_decimal(f, row.codes[i]) << "  "
        << code_text(f, row.codes[i]) << '\n';
  if (listed < all) out << "and " << all - listed << " more, which --json lists\n";
  out << "\nmean         " << shortest_decimal(row.mean) << '\n'
      << "sd           " << (std::isnan(row.sd) ? "needs two replicas" : shortest_decimal(row.sd)) << '\n';
}

std::string title_of(const SumTerms& t) {
  const std::string count = std::to_string(t.count);
  const auto name = [&](size_t i) { return std::filesystem::path(t.input.files[i]).filename().string(); };
  if (!t.value.empty()) return t.value + " added " + count + " times";
  if (t.input.files.size() == 1) return "sum of " + count + " elements of " + name(0);
  return "dot product of " + name(0) + " and " + name(1) + ", " + count + " elements";
}

Json code_json(const FloatFormat& f, uint64_t code) {
  return {{"value", value_of(f, code)}, {"text", shortest_decimal(f, code)}, {"code", code_text(f, code)}};
}

/// A figure of a row: its key in CSV and JSON, its head in the table, "" where that lacks it.
struct SumFigure {
  const char *key, *head;
  std::optional<int> digits;  ///< in the table
  double (*of)(const SumRow&);
};
constexpr SumFigure kSumFigures[] = {
    {"result", "", {}, [](const SumRow& r) { return r.mean; }},
    {"sd", "", {}, [](const SumRow& r) { return r.sd; }},
    {"exact", "exact", {}, [](const SumRow& r) { return r.exact; }},
    {"error", "error", kErrorDigits, [](const SumRow& r) { return r.error; }},
    {"relative_error", "relative", kErrorDigits, [](const SumRow& r) { return r.relative; }},
    {"u", "", {}, [](const SumRow& r) { return r.roundoff; }},
    {"sum_of_magnitudes", "", {}, [](const SumRow& r) { return r.magnitude; }},
    {"bound", "bound", kErrorDigits, [](const SumRow& r) { return r.bound; }},
    {"error_of_bound", "error/bound", kErrorDigits, [](const SumRow& r) { return r.ratio(); }},
};

Json row_json(const SumRow& row) {
  const FloatFormat& f = row.of.format;
  Json json;
  json["settings"] = row.of.rounding.settings(f);
  json["start_rounded"] = code_json(f, row.of.setup.start);
  json["replicas"] = Json::array();
  for (size_t i = 0; i < row.codes.size(); ++i) {
    Json replica = code_json(f, row.codes[i]);
    replica["last_change"] = row.last_change[i];
    if (!row.lost.empty()) replica["lost"] = row.lost[i];
    json["replicas"].push_back(std::move(replica));
  }
  for (const SumFigure& figure : kSumFigures) json[figure.key] = figure.of(row);
  json["exact_as_given"] = row.exact_given;
  if (row.first_lost.addition != 0) {
    json["first_lost"] = {
        {"addition", row.first_lost.addition}, {"sum", value_of(f, row.first_lost.sum)}, {"term", row.first_lost.term}};
    json["why"] = row.why();
  }
  json["entry_flags"] = flag_names(row.entry_flags);
  json["first_addition_with_flag"] = Json::object();
  for (int b = 0; b < kFlagCount; ++b)
    if (row.first_addition[b] != 0)
      json["first_addition_with_flag"][flag_names(static_cast<uint8_t>(1 << b))] = row.first_addition[b];
  return json;
}

}  // namespace

std::string terms_text(const SumTerms& t) {
  if (!t.value.empty()) return "running sum: " + t.value + " added " + std::to_string(t.count) + " times to " + t.start;
  const auto array = [&](size_t i) {
    return t.input.files[i] + " ('" + t.input.types[i] + "' of shape " + npy::shape_text(t.input.shapes[i]) +
           (t.input.codes ? ", codes of " + format_name(*t.input.codes) : "") + ")";
  };
  if (t.input.files.size() == 1)
    return "running sum: the " + std::to_string(t.count) + " elements of " + array(0) + " added to " + t.start;
  return "dot product: " + array(0) + " and " + array(1) + ", " + std::to_string(t.count) + " products, " +
         (t.input.products == detail::Products::kExact ? "each exact and rounded with its addition"
                                                       : "each rounded before its addition") +
         ", added to " + t.start;
}

void print_array_sum(const SumTerms& t, const SumRow& row, std::ostream& out) {
  const FloatFormat& f = row.of.format;
  out << terms_text(t) << '\n'
      << "settings     " << row.of.rounding.description(f) << '\n'
      << "elements     enter " << format_name(f) << " rounded to nearest; flags " << flag_names(row.entry_flags)
      << "\n\n";
  if (row.stochastic())
    print_replicas(row, out);
  else
    out << "final sum    " << shortest_decimal(f, row.codes[0]) << " (" << code_text(f, row.codes[0]) << "), "
        << ending(row, t.count) << '\n';
  out << "exact sum    " << shortest_decimal(row.exact) << ", of the rounded elements\n"
      << "as given     " << shortest_decimal(row.exact_given) << ", the exact sum of the elements in the file\n"
      << "error        " << number_cell(row.error) << ", relative " << number_cell(row.relative)
      << (row.codes.size() > 1 ? ", root mean square over the replicas\n" : "\n") << "bound        "
      << number_cell(row.bound) << " = " << bound_text(row) << "; the error is " << number_cell(row.ratio())
      << " of it\n"
      << "lost         " << number_cell(mean_lost(row)) << " of " << t.count << " additions"
      << (row.codes.size() > 1 ? ", on average\n" : "\n");
  if (const std::string why = row.why(); !why.empty())
    out << "why          " << why << (row.codes.size() > 1 ? " (replica 0)\n" : "\n");
  print_flags(row, out);
}

results::Table sum_table(const SumTerms& t, const std::vector<SumRow>& rows) {
  using results::Shown;
  const auto for_people = [](const char* key, const char* head) {
    return results::Column{.key = key, .head = head, .shown = Shown::kToPeople};
  };
  const auto for_programs = [](const char* key) { return results::Column{.key = key, .shown = Shown::kToPrograms}; };
  results::Table table{.title = title_of(t), .columns = {{"format"}, for_people("how", "rounding")}};
  for (const char* key : {"rounding", "bits", "variant", "random", "seed", "replicas"})
    table.columns.push_back(for_programs(key));
  table.columns.push_back({.key = "text", .head = "result", .right = true, .shown = Shown::kToPeople});
  for (const SumFigure& figure : kSumFigures)
    table.columns.push_back({.key = figure.key,
                             .head = figure.head,
                             .right = true,
                             .shown = *figure.head ? Shown::kEverywhere : Shown::kToPrograms,
                             .digits = figure.digits});
  for (const char* key : {"last_change", "first_lost", "why"}) table.columns.push_back(for_programs(key));
  for (const SumRow& row : rows) {
    const RoundingPolicy p = policy(row);
    const bool draws = p.stochastic();
    const detail::RoundingChoice& rounding = row.of.rounding;
    results::Row cells = {format_name(row.of.format), rounding_text(row), name_of(p.mode)};
    if (draws)
      cells.insert(cells.end(), {p.random_bits, name_of(p.variant), name_of(rounding.engine), row.of.rounding.seed});
    else
      cells.resize(cells.size() + 4);
    cells.emplace_back(row.codes.size());
    cells.emplace_back(result_text(row));
    for (const SumFigure& figure : kSumFigures) cells.push_back(results::number_or_nothing(figure.of(row)));
    cells.emplace_back(row.last_change[0]);
    cells.push_back(row.first_lost.addition ? results::Cell(row.first_lost.addition) : results::Cell());
    cells.emplace_back(row.why());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void print_sum_table(const SumTerms& t, const std::vector<SumRow>& rows, std::ostream& out) {
  out << terms_text(t) << "\n\n"
      << results::text(sum_table(t, rows)) << "\nn = " << t.count
      << "; bound: sqrt(n) u sum|x| where the rounding is stochastic, else n u sum|x|; u = 2^-p to "
         "nearest, else 2^(1-p)\n";
  const bool several = std::any_of(rows.begin(), rows.end(), [](const SumRow& r) { return r.codes.size() > 1; });
  if (several) out << "stochastic: result is the mean of the replicas, error their root mean square\n";
  for (const SumRow& row : rows)
    if (const std::string why = row.why(); !why.empty() && !row.stochastic())
      out << format_name(row.of.format) << ' ' << rounding_text(row) << ": " << why << '\n';
}

Json sum_table_json(const SumTerms& t, const std::vector<SumRow>& rows, const std::vector<std::string>& plots) {
  Json json;
  json["verb"] = "sum";
  if (!t.value.empty()) json["value"] = t.value;
  for (size_t i = 0; i < t.input.files.size(); ++i) {
    Json file = {{"file", t.input.files[i]}, {"type", t.input.types[i]}, {"shape", t.input.shapes[i]}};
    if (t.input.codes) file["codes"] = format_name(*t.input.codes);
    json["arrays"].push_back(std::move(file));
  }
  if (t.input.products != detail::Products::kNone)
    json["products"] = t.input.products == detail::Products::kExact ? "exact" : "rounded";
  json["start"] = t.start;
  json["count"] = t.count;
  json["cases"] = Json::array();
  for (const SumRow& row : rows) json["cases"].push_back(row_json(row));
  json["plots"] = plots;
  return json;
}

bool drawn_over_bits(const std::vector<SumCase>& cases) {
  std::set<int> bits;
  for (const SumCase& c : cases)
    if (const RoundingPolicy p = c.rounding.policy(c.format); p.stochastic()) bits.insert(p.random_bits);
  return bits.size() > 1;
}

Plot sum_error_plot(const SumTerms& t, const std::vector<SumRow>& rows) {
  std::vector<SumCase> cases;
  for (const SumRow& row : rows) cases.push_back(row.of);
  const bool over_bits = drawn_over_bits(cases);
  Plot plot;
  plot.title = title_of(t);
  plot.subtitle = "error (root mean square over replicas) of the sum of magnitudes";
  plot.x_label = over_bits ? "random bits" : "additions";
  plot.y_label = "error / sum|x|";
  plot.x_log = over_bits ? 0 : 10;
  plot.y_log = 10;
  double least_bits = HUGE_VAL, most_bits = 0;
  for (const SumRow& row : rows)
    if (row.stochastic()) {
      least_bits = std::min(least_bits, static_cast<double>(policy(row).random_bits));
      most_bits = std::max(most_bits, static_cast<double>(policy(row).random_bits));
    }
  std::map<std::string, Curve> curves;
  std::vector<std::string> order;
  const double n = static_cast<double>(t.count);
  if (t.count == 0) return plot;
  for (const SumRow& row : rows) {
    const std::string title =
        format_name(row.of.format) + " " + (over_bits ? name_of(policy(row).mode) : rounding_text(row));
    Curve& curve = curves[title];
    if (curve.title.empty()) {
      curve.title = title;
      curve.style = CurveStyle::kBold;
      order.push_back(title);
    }
    if (!over_bits) {
      curve.x.assign(row.trace_additions.begin(), row.trace_additions.end());
      curve.y = row.trace_errors;
    } else if (row.stochastic()) {
      curve.x.push_back(policy(row).random_bits);
      curve.y.push_back(row.error / row.magnitude);
    } else {
      curve.dashed = true;
      curve.x = {least_bits, most_bits};
      curve.y.assign(2, row.error / row.magnitude);
    }
  }
  const auto drawn = [](double y) { return std::isfinite(y) && y > 0; };
  const auto keep = [&](Curve curve) {
    // gnuplot refuses a plot in which no curve has a number.
    if (std::any_of(curve.y.begin(), curve.y.end(), drawn)) plot.curves.push_back(std::move(curve));
  };
  for (const std::string& title : order) keep(std::move(curves[title]));
  std::map<std::string, double> roundoffs;  // of a format the greatest: that of its stochastic rounding
  for (const SumRow& row : rows) {
    double& u = roundoffs[format_name(row.of.format)];
    u = std::max(u, row.roundoff);
  }
  const double least = over_bits ? least_bits : 1, most = over_bits ? most_bits : n, first = over_bits ? n : 1;
  for (const auto& [format, u] : roundoffs)
    keep({"sqrt(n) u, " + format + ", u = 2^" + std::to_string(std::ilogb(u)),
          CurveStyle::kReference,
          {least, most},
          {std::sqrt(first) * u, std::sqrt(n) * u}});
  return plot;
}

}  // namespace softamp::program
