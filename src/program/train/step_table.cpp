#include "src/program/train/step_table.h"

#include <charconv>
#include <fstream>
#include <limits>

#include "softamp/names/names.h"
#include "src/files/place.h"
#include "src/program/usage.h"
#include "src/results/csv.h"

namespace softamp::program {
namespace {

const std::vector<results::Column> kColumns = {{"step"},          {"loss"},          {"applied"},   {"scale_before"},
                                               {"scale_after"},   {"learning_rate"}, {"nonfinite"}, {"flags"},
                                               {"replica_drift"}, {"gradient_norm"}};

std::string line_of(const StepResult& r) {
  const auto drift = r.replica_drift ? results::Cell(r.replica_drift->distance) : results::Cell();
  return results::csv_line(kColumns, {r.step, r.loss, r.applied ? 1 : 0, double{r.scale_before}, double{r.scale_after},
                                      r.learning_rate, r.nonfinite, flag_names(r.status), drift, r.gradient_norm});
}

/// The lines below the columns of a table that a run has written; none where there is no file.
std::vector<std::string> lines_of(const std::string& file) {
  const files::Place place(file);
  if (!place.there || place.is_special()) return {};
  std::ifstream in(file, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return {};
  if (line + '\n' != results::csv_head(kColumns))
    throw UsageError("--csv: '" + file +
                     "' is no table of a run's steps, and --resume goes on with it; expected one, or a " +
                     "file that is not there yet");
  std::vector<std::string> lines;
  while (std::getline(in, line) && !in.eof()) lines.push_back(line);
  return lines;
}

/// -1 of a line that does not begin with a number.
int64_t step_of(const std::string& line) {
  int64_t step = -1;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

}  // namespace

StepTable::StepTable(const std::string& file, bool resumed)
    : kept_(resumed ? lines_of(file) : std::vector<std::string>()), out_(file, "--csv") {
  out_.write(results::csv_head(kColumns));
}

void StepTable::keep_before(int64_t step) {
  for (const std::string& line : kept_)
    if (step_of(line) < step) out_.write(line + "\n");
  kept_.clear();
}

void StepTable::add(const StepResult& result) {
  keep_before(result.step);
  out_.write(line_of(result));
}

void StepTable::commit() {
  keep_before(std::numeric_limits<int64_t>::max());
  out_.commit();
}

}  // namespace softamp::program
