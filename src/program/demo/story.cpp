#include "src/program/demo/story.h"

#include <cctype>

#include "src/pictures/html_page.h"

namespace softamp::program {
namespace {

constexpr const char* kPageBegin = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";
constexpr const char* kPageStyle = R"(</title>
<style>
  body { font: 17px/1.55 "DejaVu Sans", Helvetica, Arial, sans-serif; color: #222; background: #fff; max-width: 46rem;
         margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.6rem; }
  img { max-width: 100%; height: auto; border: 1px solid #e4e4e4; }
  code { background: #f3f3f3; padding: 0.1rem 0.3rem; font-size: 0.85em; overflow-wrap: anywhere; }
  .dim { color: #555; font-size: 0.9rem; }
</style>
</head>
<body>
)";

/// The picture as a URL (RFC 2397): whatever is no letter, digit or blameless sign by its hexadecimal number.
std::string data_url(const std::string& svg) {
  static constexpr const char* kDigits = "0123456789ABCDEF";
  std::string url = "data:image/svg+xml,";
  for (const char c : svg) {
    const auto code = static_cast<unsigned char>(c);
    if (std::isalnum(code) || std::string_view(" -_.!~*()/:;=,+@").find(c) != std::string_view::npos)
      url += c;
    else
      url += {'%', kDigits[code / 16], kDigits[code % 16]};
  }
  return url;
}

}  // namespace

std::string story_html(const Story& story) {
  const auto text = html::escaped;
  std::string html = kPageBegin + text(story.title) + kPageStyle + "<h1>" + text(story.title) + "</h1>\n<p>" +
                     text(story.lead) + "</p>\n";
  int number = 0;
  for (const StoryPart& part : story.parts) {
    html += "<h2>" + std::to_string(++number) + ". " + text(part.title) + "</h2>\n<img alt=\"" + text(part.plot.title) +
            "\" src=\"" + data_url(svg_of(part.plot)) + "\">\n<p>" + text(part.text) + "</p>\n";
    if (!part.command.empty()) html += "<p class=\"dim\"><code>" + text(part.command) + "</code></p>\n";
  }
  return html + "<p class=\"dim\">Every number was computed by softamp " + text(SOFTAMP_VERSION) +
         ", bit for bit, on emulated arithmetic: the same on every machine.</p>\n</body>\n</html>\n";
}

}  // namespace softamp::program
