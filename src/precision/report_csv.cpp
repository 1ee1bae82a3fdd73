// PrecisionReport::csv, latex.
#include "softamp/precision/precision_report.h"
#include "src/precision/report_rows.h"
#include "src/results/csv.h"
#include "src/results/latex.h"

namespace softamp {

std::string PrecisionReport::csv() const {
  const ReportTable table(*this);
  std::string text = results::csv_head(table.columns());
  for (size_t r = 0; r < table.rows(); ++r) text += results::csv_line(table.columns(), table.row(r));
  return text;
}

std::string PrecisionReport::latex() const {
  const ReportTable table(*this);
  results::Table all{.title = colours.mechanism, .columns = table.columns()};
  for (size_t r = 0; r < table.rows(); ++r) all.rows.push_back(table.row(r));
  return results::latex(all);
}

}  // namespace softamp
