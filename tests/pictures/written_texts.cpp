// Writes texts into every kind of plot, and into a page.
//
//     written_texts FOLDER < TEXTS      TEXTS: a text to a line, its bytes by hexadecimal numbers
//
// Text number N goes into each text of the plots FOLDER/N-{plain,panel,strips}.svg and FOLDER/N-plain.png, and into
// each element of FOLDER/N.html.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "softamp/pictures/plot.h"
#include "src/pictures/html_page.h"

namespace {

namespace fs = std::filesystem;
namespace html = softamp::html;
using softamp::CurveStyle;
using softamp::Plot;

std::string bytes_of(const std::string& numbers) {
  std::string bytes;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2)
    bytes += static_cast<char>(std::stoi(numbers.substr(i, 2), nullptr, 16));
  return bytes;
}

Plot plain_plot(const std::string& text) {
  Plot plot;
  plot.title = plot.subtitle = plot.x_label = plot.y_label = text;
  plot.curves = {{text, CurveStyle::kBold, {1, 2, 3}, {4, 5, 6}}, {text, CurveStyle::kReference, {1, 3}, {4, 6}}};
  return plot;
}

std::string page_of(const std::string& text, const std::string& svg) {
  html::Table table;
  table.caption = text;
  table.show_caption = true;
  table.columns = {text, text};
  table.rows = {{{text}, {text}}};
  table.row_heads = true;
  return html::page(text, html::heading(text) + html::paragraph(text) + html::lines_to_copy(text) +
                              html::folded(text, html::paragraph(text)) + table.text() +
                              html::picture(svg, 1, text, text));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string line;
  for (int number = 0; std::getline(std::cin, line); ++number) {
    const std::string text = bytes_of(line);
    const auto file = [&](const char* rest) { return fs::path(argv[1]) / (std::to_string(number) + rest); };
    const Plot plain = plain_plot(text);
    write_plot(plain, file("-plain.svg"));
    write_plot(plain, file("-plain.png"));
    Plot panel = plain, strips = plain;
    panel.panel = plain.curves;
    panel.panel_label = text;
    write_plot(panel, file("-panel.svg"));
    strips.strips = {{text, {plain.curves[0]}}};
    write_plot(strips, file("-strips.svg"));
    std::ofstream(file(".html"), std::ios::binary) << page_of(text, svg_of(plain));
  }
  return 0;
}
