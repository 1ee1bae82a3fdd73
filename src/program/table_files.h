// Files that take the table of a verb: --csv and --latex.
#pragma once

#include <optional>
#include <string>

#include "src/files/output_file.h"
#include "src/files/run_files.h"
#include "src/program/cli.h"
#include "src/results/table.h"

namespace softamp::program {

inline bool is_standard_output(const std::string& file) { return file == "/dev/stdout"; }

/// The options, "" of one that was not given.
struct TableOptions {
  std::string csv, latex;

  /// The object must outlive the parsing of `app`. row: what a line of the table is, "a case".
  void add(const cli::App& app, const std::string& row);
  /// json: standard output has a JSON document. Throws UsageError if a table is to go there, too.
  void list(files::RunFiles& files, bool json) const;
  bool any() const { return !csv.empty() || !latex.empty(); }
  /// One of the files is standard output, so that what is for people belongs on standard error.
  bool take_standard_output() const { return is_standard_output(csv) || is_standard_output(latex); }
};

/// The files, open from the beginning of the work on, so that it is not in vain.
class TableFiles {
 public:
  /// Throws OutputError; LockedError.
  explicit TableFiles(const TableOptions& options);
  /// At most once.
  void write(const results::Table& table);

 private:
  std::optional<files::OutputFile> csv_, latex_;
};

}  // namespace softamp::program
