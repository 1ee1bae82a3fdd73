#include "src/pictures/html_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "src/numbers/decimal_text.h"
#include "src/text/lower_case.h"
#include "src/text/printable.h"

namespace softamp::html {
namespace {

// One family of letters for all; numbers equally wide, so that they stand below each other. No colour is needed to
// understand a page, none is lost on white paper.
constexpr std::string_view kStyle = R"(
  :root { color-scheme: light; --ink: #1f2430; --dim: #586072; --line: #e2e5ea; --strong: #9aa1ad; --soft: #f5f6f8; }
  * { box-sizing: border-box; }
  html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
  body { font: 16px/1.6 "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif; color: var(--ink); background: #fff;
         max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
  h1 { font-size: 1.65rem; line-height: 1.3; letter-spacing: -0.01em; margin: 0 0 0.6rem; }
  h2 { font-size: 1.25rem; line-height: 1.35; margin: 2.6rem 0 0.8rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
  h3 { font-size: 1rem; margin: 1.8rem 0 0.4rem; }
  p { max-width: 46rem; margin: 0.7rem 0; } ul { max-width: 46rem; margin: 0.7rem 0; padding-left: 1.3rem; }
  li { margin: 0.25rem 0; }
  a { color: #0b56a4; }
  .dim, figcaption { color: var(--dim); font-size: 0.9rem; }
  .wide { overflow-x: auto; margin: 0.8rem 0 1rem; }
  .wide:focus-visible, summary:focus-visible { outline: 2px solid #0b56a4; outline-offset: 2px; }
  table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.45; font-variant-numeric: tabular-nums lining-nums; }
  caption { text-align: left; color: var(--dim); padding: 0 0 0.5rem; }
  caption.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  th, td { padding: 0.38rem 1.1rem 0.38rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
  thead th { color: var(--dim); font-weight: 600; vertical-align: bottom; border-bottom: 1px solid var(--strong); white-space: nowrap; }
  tbody th { font-weight: 600; }
  th:last-child, td:last-child { padding-right: 0; }
  .n { text-align: right; white-space: nowrap; }
  code, pre { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.82rem; background: var(--soft);
              border-radius: 4px; }
  code { padding: 0.1rem 0.3rem; overflow-wrap: anywhere; }
  pre { padding: 0.8rem 1rem; overflow-x: auto; line-height: 1.55; margin: 0.7rem 0 1rem; }
  figure { margin: 1.4rem 0 1.6rem; }
  .picture { overflow-x: auto; }
  .picture svg { display: block; width: 100%; min-width: 40rem; max-width: 60rem; height: auto; margin: 0; }
  .picture text, .picture tspan { font-family: inherit; }
  figcaption { margin-top: 0.4rem; max-width: 46rem; }
  details { margin: 0.8rem 0; border-left: 3px solid var(--line); padding-left: 0.9rem; }
  summary { cursor: pointer; font-weight: 600; margin-left: -0.1rem; }
  .agrees { color: #00684a; font-weight: 600; } .differs, .bad { color: #9c2500; font-weight: 600; }
  .recorded, .skipped { color: var(--dim); }
  footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
  @media (max-width: 40rem) {
    body { padding: 1.4rem 1rem 3rem; } h1 { font-size: 1.35rem; } h2 { font-size: 1.12rem; margin-top: 2.2rem; }
    th, td { padding-right: 0.8rem; }
  }
  @media print {
    @page { margin: 16mm 14mm; }
    html { font-size: 9.5pt; } body { max-width: none; padding: 0; font-size: 1rem; }
    details::details-content { content-visibility: visible; display: block; block-size: auto; }
    details { border-left: 0; padding-left: 0; } summary { list-style: none; }
    .wide, .picture, pre { overflow: visible; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
    .picture svg { min-width: 0; max-height: 150mm; } thead { display: table-header-group; }
    tr, figure { break-inside: avoid; } h2, h3, summary { break-after: avoid; }
    th, td { padding-right: 0.6rem; overflow-wrap: anywhere; }
  }
)";

std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? std::string() : " " + std::string(name) + "=\"" + escaped(value) + "\"";
}

/// Removes every part of `text` from `open` to the next `close`, both included.
void remove_between(std::string& text, std::string_view open, std::string_view close) {
  for (size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    const size_t end = text.find(close, at + open.size());
    if (end == std::string::npos) return;
    text.erase(at, end + close.size() - at);
  }
}

/// The end of the name that begins at `at`.
size_t end_of_name(std::string_view text, size_t at) {
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  return at;
}

/// The end of the tag that begins at `at`, behind its '>'; a '>' within a quoted value is none.
size_t end_of_tag(std::string_view text, size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? 0 : c;
    else if (c == '>' && !quote)
      return at + 1;
  }
  return at;
}

/// Calls `see` with each part of `svg` in order: a tag, or the text between two.
template <class See>
void for_each_part(std::string_view svg, const See& see) {
  for (size_t at = 0; at < svg.size();) {
    const bool tag = svg[at] == '<';
    const size_t end = tag ? end_of_tag(svg, at) : std::min(svg.find('<', at), svg.size());
    see(svg.substr(at, end - at), tag);
    at = end;
  }
}

/// Puts `prefix` before every id, and before every reference to one.
std::string with_prefixed_ids(const std::string& svg, const std::string& prefix) {
  constexpr std::array<std::string_view, 7> kBefore = {" id=\"",   " id='", "xlink:href='#", "xlink:href=\"#",
                                                       " href='#", "url(#", "url('#"};
  std::string result;
  for_each_part(svg, [&](std::string_view part, bool tag) {
    for (size_t at = 0; at < part.size();) {
      const auto found = std::find_if(kBefore.begin(), kBefore.end(),
                                      [&](std::string_view b) { return tag && part.substr(at).starts_with(b); });
      if (found == kBefore.end()) {
        result += part[at++];
        continue;
      }
      result += found->starts_with("xlink:") ? found->substr(6) : *found;
      result += prefix;
      at += found->size();
    }
  });
  return result;
}

/// Groups without anything in them, which gnuplot writes at every change of colour.
void remove_empty_groups(std::string& svg) {
  constexpr std::string_view kOpen = "<g fill=\"none\"", kRest = "\n</g>\n";
  std::string result;
  size_t from = 0;
  for (size_t at = 0; (at = svg.find(kOpen, at)) != std::string::npos;) {
    const size_t end = svg.find('>', at);
    if (end == std::string::npos) break;
    if (svg.compare(end + 1, kRest.size(), kRest) == 0) {
      result.append(svg, from, at - from);
      from = at = end + 1 + kRest.size();
    } else {
      at = end;
    }
  }
  svg = result + svg.substr(from);
}

/// The box of a picture without what is empty above its first line of text, and above its axes (Plot's <metadata>).
std::string trimmed_box(const std::string& view, const std::string& content) {
  constexpr std::string_view kPlace = "<g transform=\"translate(", kEnd = "</text>";
  constexpr double kRoom = 22;  // of a line
  const auto number_at = [](std::string_view text) {
    const size_t end = text.find_first_not_of("0123456789.");
    return number_of_decimal(text.substr(0, end));
  };
  constexpr std::string_view kTop = "\"top\": ";
  std::optional<double> top;
  if (const size_t at = content.rfind(kTop); at != std::string::npos)
    top = number_at(std::string_view(content).substr(at + kTop.size()));
  for (size_t at = 0; (at = content.find(kPlace, at)) != std::string::npos; ++at) {
    const size_t comma = content.find(',', at), end = content.find(kEnd, at);
    if (comma == std::string::npos || end == std::string::npos) continue;
    std::string_view inside = std::string_view(content).substr(at, end - at);
    if (inside.ends_with("</tspan>")) inside.remove_suffix(8);
    const bool empty = inside.ends_with('>');
    if (empty) continue;
    const std::optional<double> y = number_at(std::string_view(content).substr(comma + 1, 20));
    if (y && (!top || *y < *top)) top = y;
  }
  const size_t height = view.rfind(' ');
  if (!view.starts_with("0 0 ") || height < 4 || !top || *top <= 2 * kRoom) return view;
  const std::optional<double> all = number_at(std::string_view(view).substr(height + 1));
  if (!all || *all <= *top) return view;
  const double from = *top - kRoom;
  return "0 " + fixed_places(from, 0) + view.substr(3, height - 3) + " " + fixed_places(*all - from, 0);
}

/// What runs, or fetches, or is a page of its own, has no place in a picture. Its texts may speak of everything.
bool is_harmless(std::string_view svg) {
  constexpr std::array<std::string_view, 8> kNever = {"<script", "<foreignobject", "<iframe", "<image",
                                                      "<!",      "<style",         "<a ",     "javascript:"};
  constexpr std::array<std::string_view, 3> kFetched = {"href=\"http", "href='http", "@import"};
  bool harmless = true;
  for_each_part(svg, [&](std::string_view part, bool tag) {
    if (!tag) return;
    const std::string lower = lower_case(part);
    const auto there = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
    harmless &=
        std::none_of(kNever.begin(), kNever.end(), there) && std::none_of(kFetched.begin(), kFetched.end(), there);
    for (size_t at = 0; (at = lower.find(" on", at)) != std::string::npos; ++at)  // onload= and the like
      if (const size_t end = end_of_name(lower, at + 3); end > at + 3 && end < lower.size() && lower[end] == '=')
        harmless = false;
  });
  return harmless;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : files::printable(text, true)) switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  return result;
}

std::string page(std::string_view title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escaped(title) + "</title>\n<style>" + std::string(kStyle) + "</style>\n</head>\n<body>\n<main>\n" + body +
         "</main>\n</body>\n</html>\n";
}

std::string heading(std::string_view text, std::string_view id) {
  return "<h2" + attribute("id", id) + ">" + escaped(text) + "</h2>\n";
}

std::string paragraph(std::string_view text, std::string_view look) {
  return "<p" + attribute("class", look) + ">" + escaped(text) + "</p>\n";
}

std::string lines_to_copy(std::string_view text) { return "<pre tabindex=\"0\">" + escaped(text) + "</pre>\n"; }

std::string folded(std::string_view summary, const std::string& content, bool open) {
  return std::string("<details") + (open ? " open" : "") + "><summary>" + escaped(summary) + "</summary>\n" + content +
         "</details>\n";
}

std::string Table::text() const {
  const auto is_number = [&](size_t c) { return c < right.size() && right[c]; };
  const auto look_of = [&](const Cell& cell, size_t c) {
    std::string look = cell.look;
    if (is_number(c)) look += look.empty() ? "n" : " n";
    return attribute("class", look);
  };
  std::string html =
      "<div class=\"wide\" role=\"region\" tabindex=\"0\"" + attribute("aria-label", caption) + "><table>\n";
  if (!caption.empty())
    html +=
        std::string("<caption") + (show_caption ? "" : " class=\"unseen\"") + ">" + escaped(caption) + "</caption>\n";
  if (std::any_of(columns.begin(), columns.end(), [](const std::string& head) { return !head.empty(); })) {
    html += "<thead><tr>";
    for (size_t c = 0; c < columns.size(); ++c)
      html += "<th scope=\"col\"" + look_of({}, c) + ">" + escaped(columns[c]) + "</th>";
    html += "</tr></thead>\n";
  }
  html += "<tbody>\n";
  for (const std::vector<Cell>& row : rows) {
    html += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) {
      const bool head = row_heads && c == 0;
      const std::string text = escaped(row[c].text);
      html += (head ? "<th scope=\"row\"" : "<td") + look_of(row[c], c) + ">" +
              (row[c].link.empty() ? text : "<a href=\"#" + escaped(row[c].link) + "\">" + text + "</a>") +
              (head ? "</th>" : "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string picture(std::string_view svg, int number, std::string_view title, std::string_view caption) {
  const size_t begin = svg.find("<svg"), end = svg.rfind("</svg>");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  const size_t inside = svg.find('>', begin);
  constexpr std::string_view kBox = "viewBox=\"";
  const size_t box = svg.find(kBox, begin);
  if (box == std::string_view::npos || box > inside || !is_harmless(svg)) return {};
  const size_t from = box + kBox.size();
  const std::string view(svg.substr(from, svg.find('"', from) - from));
  std::string content(svg.substr(inside + 1, end - inside - 1));
  const std::string shown = trimmed_box(view, content);
  remove_between(content, "<desc>", "</desc>");
  remove_between(content, "<metadata>", "</metadata>");
  // The program's name and that of its parts, which a browser would show below the pointer.
  remove_between(content, "<title>Gnuplot</", "title>");
  remove_between(content, "<title>gnuplot_plot_", "</title>");
  remove_empty_groups(content);
  const std::string prefix = "p" + std::to_string(number) + "-";
  std::string html = "<figure><div class=\"picture\" tabindex=\"0\" role=\"group\" aria-label=\"" + escaped(title) +
                     "\"><svg viewBox=\"" + escaped(shown) + "\" role=\"img\" aria-labelledby=\"" + prefix + "title" +
                     (caption.empty() ? "" : " " + prefix + "text") + "\"><title id=\"" + prefix + "title\">" +
                     escaped(title) + "</title>" + with_prefixed_ids(content, prefix) + "</svg></div>\n";
  if (!caption.empty()) html += "<figcaption id=\"" + prefix + "text\">" + escaped(caption) + "</figcaption>";
  return html + "</figure>\n";
}

}  // namespace softamp::html
