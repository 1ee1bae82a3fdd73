// The table of `softamp train --csv`: a line for each step.
#pragma once

#include <string>
#include <vector>

#include "softamp/train/trainer.h"
#include "src/files/output_file.h"

namespace softamp::program {

class StepTable {
 public:
  /// resumed: the lines of the steps before those that come stay, if the file has any. Throws files::OutputError;
  /// UsageError for a file that is no such table, which is left as it is.
  StepTable(const std::string& file, bool resumed);

  void add(const StepResult& result);
  /// Puts the file in place.
  void commit();

 private:
  /// Writes the lines that stay: of steps below `step`.
  void keep_before(int64_t step);

  std::vector<std::string> kept_;
  files::OutputFile out_;
};

}  // namespace softamp::program
