// What `softamp sum` compares: sums of the same terms in several formats, roundings and numbers of random bits.
#pragma once

#include "src/program/options.h"
#include "src/sums/array_sums.h"

#include "softamp/sums/running_sum.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// One case: `rounding` has its mode and number of bits.
struct SumCase {
  FloatFormat format;
  RoundingOptions rounding;
  RunningSumSetup setup;
};

/// The axes of a table. Empty: the default alone.
struct SumAxes {
  std::vector<FloatFormat> formats;
  std::vector<RoundingMode> modes;
  std::vector<int> bits;
};

/// "1:4,8" of --bits: numbers and ranges of them. Throws UsageError.
std::vector<int> bits_of_list(const std::string& text);

/// Every combination; numbers of bits are an axis of stochastic roundings alone. `start` is read in each format.
/// Throws UsageError where a preset does not round so.
std::vector<SumCase> cases_of(const SumAxes& axes, const RoundingOptions& others, const std::string& start,
                              uint64_t replicas);

/// The first addition that changed nothing, of a deterministic running sum of a number other than 0 that stays finite.
detail::LostAddition lost_addition(const RunningSumSetup& setup, const RunningSum& sum);

/// The code of an operand, rounded to nearest from its exact text. Throws UsageError, naming the option.
uint64_t operand_code(const std::string& option, const std::string& text, const FloatFormat& format);

/// A case and what has become of it.
struct SumRow {
  SumCase of;
  std::vector<uint64_t> codes, last_change;
  std::vector<uint64_t> lost;  ///< per replica: additions with a term other than 0 that changed nothing
  detail::LostAddition first_lost;
  uint8_t flags = 0, entry_flags = 0;
  uint64_t first_addition[kFlagCount] = {};
  double exact = 0, exact_given = 0;
  double magnitude = 0;  ///< sum of the magnitudes of start and terms
  std::vector<uint64_t> trace_additions;
  std::vector<double> trace_errors;  ///< root mean square error, of the magnitude so far
  double mean = 0, sd = 0;           ///< of the sums
  double error = 0;                  ///< root mean square over the replicas of sum - exact, each rounded once
  double relative = 0;               ///< error / |exact|; NaN where that is 0
  double roundoff = 0;               ///< u: 2^-p to nearest, else 2^(1-p)
  double bound = 0;                  ///< n u magnitude; sqrt(n) u magnitude where the rounding is stochastic

  bool stochastic() const { return of.setup.semantics.draws(of.format); }
  double ratio() const { return error / bound; }
  /// Why additions are lost; empty where none is, and for several replicas.
  std::string why() const;
};

/// Called now and then with the number of additions done, of `all`; if it throws, the work ends.
using SumProgress = std::function<void(uint64_t done, uint64_t all)>;

/// The rows of one number added `count` times, with the errors after fewer of them where `traced`.
std::vector<SumRow> value_rows(const std::vector<SumCase>& cases, const std::string& value, uint64_t count, bool traced,
                               const SumProgress& progress);

/// What is read, and how.
struct SumInput {
  std::vector<std::string> files;    ///< one, or two whose products are summed
  std::optional<FloatFormat> codes;  ///< unsigned elements are codes of this format
  detail::Products products = detail::Products::kNone;
  std::vector<std::string> types;  ///< of the elements; set by array_rows
  std::vector<std::vector<uint64_t>> shapes;
  uint64_t elements = 0;
};

/// The rows of arrays, read in pieces. Throws UsageError and npy::Error.
std::vector<SumRow> array_rows(const std::vector<SumCase>& cases, SumInput& input, bool traced,
                               const SumProgress& progress);

}  // namespace softamp::program
