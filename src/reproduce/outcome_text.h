// The outcome of an experiment, as text for a terminal.
#pragma once

#include <string>

#include "src/reproduce/outcome_json.h"

namespace softamp::reproduce {

/// "experiment", its settings, tables in aligned columns, the paragraph, the deviations of the set-up, the checks with
/// their verdicts.
std::string result_text(const Result& result);

/// A cell for people: the shortest decimal of a number, "yes" and "no", "-" if it is empty.
std::string cell_text(const Json& cell);
/// Every cell below is a number ("nan", "inf" and "-inf" too) or nothing, and one is a number: such a column is aligned
/// to the right.
bool number_column(const Table& table, size_t column);

/// "agrees", "differs"; "recorded" if nothing was published to compare with.
std::string verdict(const Check& check);

/// The numbers of an outcome's checks that are judged, and that agree.
struct Agreement {
  size_t judged = 0, agreed = 0, recorded = 0;
  bool all() const { return agreed == judged; }
};
Agreement agreement(const Outcome& outcome);
/// "12 of 12", "skipped"
std::string agreement_text(const Outcome& outcome);
/// The same, and "failed".
std::string agreement_text(const Result& result);

/// "0.3 s", "14 s", "3 min", "2.5 h", "12 days"
std::string duration_text(double seconds);

/// One setting as text: lists joined by commas.
std::string setting_text(const Json& value);

/// Paragraphs broken into lines of at most `width` letters (a longer word has a line to itself).
std::string wrapped(const std::string& text, size_t width);

}  // namespace softamp::reproduce
