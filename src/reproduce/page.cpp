#include "src/reproduce/page.h"

#include <algorithm>

#include "src/reproduce/kept.h"
#include "src/reproduce/outcome_text.h"

namespace softamp::reproduce {
namespace {

/// Rows of a table that the page shows; a link leads to the whole table.
constexpr size_t kRows = 40;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>softamp reproduce</title>
<style>
  body { font: 16px/1.5 "DejaVu Sans", Helvetica, Arial, sans-serif; color: #222; background: #fff;
         max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 3.5rem; border-top: 1px solid #ccc; padding-top: 1.2rem; }
  h3, summary { font-size: 1rem; font-weight: bold; margin: 1.6rem 0 0.4rem; } summary { cursor: pointer; }
  .wide { overflow-x: auto; }
  table { border-collapse: collapse; font-size: 0.85rem; }
  th, td { padding: 0.2rem 0.7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e4e4e4; }
  th { border-bottom: 1px solid #888; white-space: nowrap; } .n { text-align: right; white-space: nowrap; }
  code { background: #f3f3f3; padding: 0.1rem 0.3rem; font-size: 0.9em; overflow-wrap: anywhere; }
  figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; border: 1px solid #e4e4e4; }
  figcaption, .dim { color: #555; font-size: 0.9rem; }
  .agrees { color: #00684a; font-weight: bold; } .differs { color: #a02800; font-weight: bold; }
  .recorded, .skipped { color: #555; }
</style>
</head>
<body>
)";

std::string cell(const std::string& text, bool right = false, const char* tag = "td") {
  return std::string("<") + tag + (right ? " class=\"n\">" : ">") + html_escaped(text) + "</" + tag + ">";
}

/// The text is HTML already.
std::string link(const std::string& file, const std::string& text) {
  return "<a href=\"" + html_escaped(file) + "\">" + text + "</a>";
}

/// "12 of 12" in the look of the verdict.
std::string agreement_cell(const Result& r) {
  const bool bad = !r.failed.empty() || !agreement(r.outcome).all();
  const char* const look = bad ? "differs" : !r.outcome.skipped.empty() ? "skipped" : "agrees";
  return std::string("<td class=\"") + look + "\">" + agreement_text(r) + "</td>";
}

std::string summary_table(const std::vector<Result>& results) {
  std::string html =
      "<table>\n<tr><th>experiment</th><th>checks that agree</th><th>seconds</th><th>what it shows</th></tr>\n";
  for (const Result& r : results)
    html += "<tr><td>" + link("#" + r.name, html_escaped(r.name)) + "</td>" + agreement_cell(r) +
            cell(duration_text(r.seconds), true) + cell(r.summary) + "</tr>\n";
  return html + "</table>\n";
}

std::string table_html(const Result& r, const Table& table, const FileIsThere& there) {
  std::string html = "<h3>" + html_escaped(table.title) + "</h3>\n<div class=\"wide\"><table>\n<tr>";
  std::vector<bool> right;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    right.push_back(number_column(table, c));
    html += cell(table.columns[c], right[c], "th");
  }
  html += "</tr>\n";
  const size_t shown = table.rows.size() > kRows + kRows / 4 ? kRows : table.rows.size();
  for (size_t i = 0; i < shown; ++i) {
    html += "<tr>";
    for (size_t c = 0; c < table.rows[i].size(); ++c)
      html += cell(cell_text(table.rows[i][c]), c < right.size() && right[c]);
    html += "</tr>\n";
  }
  html += "</table></div>\n";
  const std::string file = table_file(r.name, table);
  std::string below;
  if (shown < table.rows.size())
    below = "The first " + std::to_string(shown) + " of " + std::to_string(table.rows.size()) + " rows. ";
  if (there(file)) below += link(file, html_escaped(file));
  return below.empty() ? html : html + "<p class=\"dim\">" + below + "</p>\n";
}

std::string figure_html(const Result& r, const Figure& figure, const FileIsThere& there) {
  const std::string svg = figure_file(r.name, figure, ".svg"), png = figure_file(r.name, figure, ".png");
  const std::string caption = html_escaped(figure.caption);
  if (!there(svg)) return "<p class=\"dim\">" + html_escaped(svg) + " was not drawn. " + caption + "</p>\n";
  return "<figure><img src=\"" + html_escaped(svg) + "\" alt=\"" + html_escaped(figure.plot.title) +
         "\">\n<figcaption>" + caption + (there(png) ? " (" + link(png, "PNG") + ")" : "") + "</figcaption></figure>\n";
}

std::string checks_html(const Outcome& o) {
  if (o.checks.empty()) return {};
  // Folded where all agree.
  std::string html = std::string("<details") + (agreement(o).all() ? "" : " open") +
                     "><summary>Checks: " + agreement_text(o) +
                     " agree</summary>\n<div class=\"wide\"><table>\n<tr><th>verdict</th><th>what</th><th>ours</th>"
                     "<th>published or derived</th><th>against</th></tr>\n";
  for (const Check& check : o.checks) {
    const std::string word = verdict(check);
    html += "<tr><td class=\"" + word + "\">" + word + "</td>" + cell(check.what) + cell(check.ours) +
            cell(check.theirs) + cell(std::string(name_of(check.against))) + "</tr>\n";
  }
  return html + "</table></div></details>\n";
}

std::string settings_html(const Json& settings) {
  if (settings.empty()) return {};
  std::string html = "<details><summary>Settings</summary>\n<div class=\"wide\"><table>\n";
  for (const auto& [key, value] : settings.items()) html += "<tr>" + cell(key) + cell(setting_text(value)) + "</tr>\n";
  return html + "</table></div></details>\n";
}

std::string section(const Result& r, const FileIsThere& there) {
  std::string html = "<h2 id=\"" + html_escaped(r.name) + "\">" + html_escaped(r.name) + "</h2>\n<p>" +
                     html_escaped(r.summary) + "</p>\n<p class=\"dim\">Source: " + html_escaped(r.source) +
                     "<br>\nTo repeat: <code>" + html_escaped(r.command) + "</code></p>\n";
  const Outcome& o = r.outcome;
  if (!r.failed.empty()) return html + "<p class=\"differs\">Failed: " + html_escaped(r.failed) + "</p>\n";
  if (!o.skipped.empty()) return html + "<p class=\"skipped\">Skipped: " + html_escaped(o.skipped) + "</p>\n";
  for (const Figure& figure : o.figures) html += figure_html(r, figure, there);
  html += "<p>" + html_escaped(o.seen) + "</p>\n";
  if (!o.deviations.empty()) html += "<p><strong>Not as published:</strong> " + html_escaped(o.deviations) + "</p>\n";
  html += checks_html(o);
  for (const Table& table : o.tables) html += table_html(r, table, there);
  html += settings_html(o.settings);
  if (there(json_file(r.name)))
    html += "<p class=\"dim\">Everything, the figures' points too: " +
            link(json_file(r.name), html_escaped(json_file(r.name))) + "</p>\n";
  return html;
}

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string page_html(const std::vector<Result>& results, const FileIsThere& there) {
  std::string html =
      std::string(kHead) +
      "<h1>Published experiments, run on emulated arithmetic</h1>\n"
      "<p>Each was run by the command shown with it. The emulated arithmetic gives the same bits on any machine; "
      "reference values come from the machine's own mathematical functions, whose last digits may differ. "
      "<em>Agrees</em> means: equal to a figure that the publication prints, equal to or within what follows from the "
      "set-up by theory or by an independent computation, or of the published shape; the last column of the checks "
      "says which. <em>Recorded</em>: nothing was published to compare with. Where a set-up differs from the "
      "publication's, its section says how.</p>\n";
  html += summary_table(results);
  for (const Result& r : results) html += section(r, there);
  const std::string version = results.empty() ? "" : results.front().version;
  return html + "<p class=\"dim\">softamp " + html_escaped(version) + "</p>\n</body>\n</html>\n";
}

}  // namespace softamp::reproduce
