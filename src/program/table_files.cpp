#include "src/program/table_files.h"

#include "src/program/provenance.h"
#include "src/program/usage.h"
#include "src/results/csv.h"
#include "src/results/latex.h"
#include "src/text/printable.h"

namespace softamp::program {

void TableOptions::add(const cli::App& app, const std::string& row) {
  app.add_option("--csv", csv, "write the table as comma-separated values, a line " + row + " [=none]")
      .type_name("FILE");
  app.add_option("--latex", latex, "write the table for LaTeX, with the rules of booktabs [=none]").type_name("FILE");
}

void TableOptions::list(files::RunFiles& files, bool json) const {
  if (json && take_standard_output())
    throw UsageError(std::string(is_standard_output(csv) ? "--csv" : "--latex") +
                     ": '/dev/stdout' takes the document of --json; expected another file");
  files.writes("--csv", csv).writes("--latex", latex);
}

TableFiles::TableFiles(const TableOptions& options) {
  if (!options.csv.empty()) csv_.emplace(options.csv, "--csv");
  if (!options.latex.empty()) latex_.emplace(options.latex, "--latex");
}

void TableFiles::write(const results::Table& table) {
  const auto put = [](std::optional<files::OutputFile>& file, const std::string& text) {
    file->write(text);
    file->commit();
  };
  if (csv_) put(csv_, results::csv(table));
  if (latex_) put(latex_, "% " + files::printable(provenance_line()) + '\n' + results::latex(table));
}

}  // namespace softamp::program
