// The output of `softamp sum` for arrays, and for several cases: for people, for machines, and as a plot.
#pragma once

#include "src/program/sum/sum_cases.h"

#include "softamp/pictures/plot.h"
#include "src/results/table.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace softamp::program {

/// What was summed.
struct SumTerms {
  std::string value, start;  ///< as typed; value: empty for arrays
  uint64_t count = 0;        ///< additions
  SumInput input;            ///< of arrays
};

/// "running sum: 0.0001 added 10000 times to 0", "running sum: the 3 elements of x.npy ('<f4' of shape (3,)) added to
/// 0".
std::string terms_text(const SumTerms& terms);

/// One case of arrays, with all that is known of it.
void print_array_sum(const SumTerms& terms, const SumRow& row, std::ostream& out);
/// A line a case.
void print_sum_table(const SumTerms& terms, const std::vector<SumRow>& rows, std::ostream& out);
Json sum_table_json(const SumTerms& terms, const std::vector<SumRow>& rows, const std::vector<std::string>& plots);
results::Table sum_table(const SumTerms& terms, const std::vector<SumRow>& rows);

/// Whether the errors are drawn over numbers of random bits: where the cases have several. Else over additions.
bool drawn_over_bits(const std::vector<SumCase>& cases);
/// Errors as parts of the sum of magnitudes, beside sqrt(n) u of each format; no curves where nothing was added.
Plot sum_error_plot(const SumTerms& terms, const std::vector<SumRow>& rows);

}  // namespace softamp::program
