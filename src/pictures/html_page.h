// Pages of HTML that are one file: pictures in the text, long tables folded, nothing fetched, no script. They are read
// at the width of a phone and on paper, where all that is folded is open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softamp::html {

/// `text` as text or as an attribute's value: no mark of HTML is one, and what is no UTF-8, or a control character
/// other than a line's end, is written as "\xff".
std::string escaped(std::string_view text);

/// A whole page; the body is HTML, the title text.
std::string page(std::string_view title, const std::string& body);

/// <h2> with an id, to which `#id` leads.
std::string heading(std::string_view text, std::string_view id = {});
/// Text as a paragraph; look: a class of the style, "dim", "bad".
std::string paragraph(std::string_view text, std::string_view look = {});
/// Lines to be copied; longer ones scroll.
std::string lines_to_copy(std::string_view text);
/// What is folded until one looks, or prints. The content is HTML.
std::string folded(std::string_view summary, const std::string& content, bool open = false);

/// A cell of a table: its text, and its look, a class of the style ("agrees", "differs", "recorded", "skipped"; "").
struct Cell {
  std::string text, look{};
  std::string link{};  ///< an id of this page [=none]
};
/// A table, which scrolls by itself where it is too wide.
struct Table {
  std::string caption;               ///< for whom does not see it; shown if show_caption
  std::vector<std::string> columns;  ///< the heads; none where all are empty
  std::vector<bool> right;           ///< columns of numbers, aligned to the right [=none]
  std::vector<std::vector<Cell>> rows;
  bool show_caption = false;
  bool row_heads = false;  ///< the first cell of a row is its head
  std::string text() const;
};

/// An .svg that gnuplot drew, in the page: as wide as the page allows, its ids apart from those of other pictures by
/// their `number`. title: what it is, said to whom does not see it; caption: below it. Both are text. "" where the .svg
/// is none, or has what a picture must not have.
std::string picture(std::string_view svg, int number, std::string_view title, std::string_view caption);

}  // namespace softamp::html
