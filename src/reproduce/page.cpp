#include "src/reproduce/page.h"

#include <algorithm>

#include "src/pictures/html_page.h"
#include "src/reproduce/kept.h"
#include "src/reproduce/outcome_text.h"

namespace softamp::reproduce {
namespace {

using html::Cell;

/// Rows of a table that the page has; the others are in its file.
constexpr size_t kMostRows = 1000;

Cell agreement_cell(const Result& r) {
  const bool bad = !r.failed.empty() || !agreement(r.outcome).all();
  return {agreement_text(r), bad ? "differs" : !r.outcome.skipped.empty() ? "skipped" : "agrees"};
}

std::string summary_table(const std::vector<Result>& results) {
  html::Table table;
  table.caption = "All experiments";
  table.columns = {"experiment", "checks that agree", "seconds", "what it shows"};
  table.right = {false, false, true, false};
  table.row_heads = true;
  for (const Result& r : results)
    table.rows.push_back({{r.name, "", r.name}, agreement_cell(r), {duration_text(r.seconds)}, {r.summary}});
  return table.text();
}

std::string table_html(const Result& r, const Table& table) {
  html::Table shown;
  shown.caption = table.title;
  shown.columns = table.columns;
  for (size_t c = 0; c < table.columns.size(); ++c) shown.right.push_back(number_column(table, c));
  for (size_t i = 0; i < std::min(kMostRows, table.rows.size()); ++i) {
    std::vector<Cell>& cells = shown.rows.emplace_back();
    for (const Json& cell : table.rows[i]) cells.push_back({cell_text(cell)});
  }
  const std::string rows = std::to_string(table.rows.size()), file = table_file(r.name, table);
  const std::string below = kMostRows < table.rows.size()
                                ? "The first " + std::to_string(kMostRows) + " of " + rows + " rows; all are in " + file
                                : "Also in " + file;
  return html::folded(table.title + " (" + rows + (table.rows.size() == 1 ? " row)" : " rows)"),
                      shown.text() + html::paragraph(below + ".", "dim"));
}

std::string figure_html(const Result& r, const Figure& figure, const DrawnFigure& drawn, int number) {
  const std::string file = figure_file(r.name, figure, ".svg");
  const std::string picture = html::picture(drawn(file), number, figure.plot.title, figure.caption);
  return picture.empty() ? html::paragraph(file + " was not drawn. " + figure.caption, "dim") : picture;
}

std::string checks_html(const Outcome& o) {
  if (o.checks.empty()) return {};
  html::Table table;
  table.caption = "Checks";
  table.columns = {"verdict", "what", "ours", "published or derived", "against"};
  for (const Check& check : o.checks)
    table.rows.push_back({{verdict(check), verdict(check)},
                          {check.what},
                          {check.ours},
                          {check.theirs},
                          {std::string(name_of(check.against))}});
  // Folded where all agree.
  return html::folded("Checks: " + agreement_text(o) + " agree", table.text(), !agreement(o).all());
}

std::string settings_html(const Json& settings) {
  if (settings.empty()) return {};
  html::Table table;
  table.caption = "Settings";
  table.columns = {"setting", "value"};
  table.row_heads = true;
  for (const auto& [key, value] : settings.items()) table.rows.push_back({{key}, {setting_text(value)}});
  return html::folded("Settings", table.text());
}

std::string section(const Result& r, const DrawnFigure& drawn, int& pictures) {
  const Outcome& o = r.outcome;
  std::string html = html::heading(r.name, r.name) + html::paragraph(r.summary);
  for (const Figure& figure : o.figures) html += figure_html(r, figure, drawn, ++pictures);
  if (!o.seen.empty()) html += html::paragraph(o.seen);
  if (!o.deviations.empty()) html += "<p><strong>Not as published:</strong> " + html::escaped(o.deviations) + "</p>\n";
  if (!r.failed.empty()) html += html::paragraph("Failed: " + r.failed, "bad");
  if (!o.skipped.empty()) html += html::paragraph("Skipped: " + o.skipped, "skipped");
  html += checks_html(o);
  for (const Table& table : o.tables) html += table_html(r, table);
  html += settings_html(o.settings) + html::paragraph("Source: " + r.source, "dim") +
          "<p class=\"dim\">To repeat: <code>" + html::escaped(r.command) + "</code></p>\n";
  if (r.failed.empty() && o.skipped.empty())
    html += html::paragraph("Everything, the figures' points too: " + json_file(r.name) + ", beside this page.", "dim");
  return html;
}

}  // namespace

std::string page_html(const std::vector<Result>& results, const DrawnFigure& drawn) {
  const bool one = results.size() == 1;
  const std::string title =
      one ? results[0].name + ", run on emulated arithmetic" : "Published experiments, run on emulated arithmetic";
  std::string body = "<h1>" + html::escaped(title) + "</h1>\n";
  body += one ? "" : html::paragraph("Each was run by the command shown with it.");
  std::string notes =
      "<p class=\"dim\">The emulated arithmetic gives the same bits on any machine; reference values come from the "
      "machine's own mathematical functions, whose last digits may differ. <em>Agrees</em> means: equal to a figure "
      "that the publication prints, equal to or within what follows from the set-up by theory or by an independent "
      "computation, or of the published shape; the last column of the checks says which. <em>Recorded</em>: nothing "
      "was published to compare with. Where a set-up differs from the publication's, its section says how.</p>\n";
  if (!one) body += notes + summary_table(results);
  int pictures = 0;
  for (const Result& r : results) body += section(r, drawn, pictures);
  if (one) body += notes;
  const std::string version = results.empty() ? "" : results.front().version;
  return html::page(one ? results[0].name + " - softamp reproduce" : "softamp reproduce",
                    body + "<footer class=\"dim\">softamp " + html::escaped(version) + "</footer>\n");
}

}  // namespace softamp::reproduce
