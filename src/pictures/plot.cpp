#include "softamp/pictures/plot.h"

#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "softamp/machine/float_environment.h"
#include "src/files/output_file.h"
#include "src/numbers/decimal_text.h"
#include "src/pictures/html_page.h"
#include "src/pictures/piped_command.h"
#include "src/pictures/plot_script.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// A panel makes the picture higher, and so does each strip.
int svg_height(const Plot& plot) {
  return plot.panel.empty() ? kPlotHeight + kStripHeight * static_cast<int>(plot.strips.size()) : 780;
}

struct PictureKind {
  const char *ending, *last;  ///< of the file's name; words at the picture's end
  std::string (*terminal)(int height);
};
constexpr PictureKind kPictureKinds[] = {
    {".svg", "</svg>",
     [](int height) {
       return "set terminal svg size 960," + std::to_string(height) +
              " enhanced font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' background '#ffffff'";
     }},
    {".png", "IEND",
     [](int height) {
       return "set terminal pngcairo size 1440," + std::to_string(height * 3 / 2) +
              " enhanced font 'DejaVu Sans,16' linewidth 1.5";
     }},
    // An inch has 96 units of an .svg. gnuplot scales fonts and lines of this terminal down.
    {".pdf", "%%EOF",
     [](int height) {
       return "set terminal pdfcairo size 10in," + significant_digits(height / 96.0, 6) +
              "in enhanced font 'DejaVu Sans,13' linewidth 1.7";
     }},
};

const PictureKind& kind_of(const fs::path& file) {
  for (const PictureKind& kind : kPictureKinds)
    if (file.extension() == kind.ending) return kind;
  throw std::invalid_argument("plot " + files::in_quotes(file) +
                              ": expected a file name that ends in .svg, .png or .pdf");
}

/// The time at which a .pdf was made, which gnuplot cannot leave out, as 1970: equal plots are equal files.
std::string without_time(std::string pdf) {
  constexpr std::string_view kMade = "/CreationDate (D:", kNever = "19700101000000";
  if (const size_t at = pdf.find(kMade); at != std::string::npos) pdf.replace(at + kMade.size(), kNever.size(), kNever);
  return pdf;
}

std::string without_blanks_at_the_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::runtime_error cannot_run_gnuplot(const std::string& why) {
  return std::runtime_error("cannot run gnuplot, which draws the plots: " + why + "; install it (Debian: gnuplot-nox)");
}

/// What gnuplot makes of a script: the picture, and what it says beside it.
PipedCommand run_gnuplot(const std::string& script) {
  PipedCommand done;
  try {
    done = run_piped({"gnuplot", "-d", "-"}, script);
  } catch (const std::system_error& e) {
    throw cannot_run_gnuplot(std::strerror(e.code().value()));
  }
  if (done.error != 0)
    throw std::runtime_error("what gnuplot writes cannot be read: " + std::string(std::strerror(done.error)));
  if (WIFSIGNALED(done.status))
    throw std::runtime_error("gnuplot was ended by signal " + std::to_string(WTERMSIG(done.status)));
  done.said = without_blanks_at_the_end(done.said);
  if (WEXITSTATUS(done.status) != 0) throw std::runtime_error("gnuplot failed: " + files::printable(done.said, true));
  return done;
}

/// Behind this stands the number of a curve. No text of the plot has a '<'.
constexpr std::string_view kCurve = "<g id=\"gnuplot_plot_";

/// The ids of all boxes, which gnuplot numbers 1a, 2a, ..., 1b, 2b, ... and so on, as one row of numbers.
std::string with_plain_ids(const Plot& plot, std::string picture) {
  std::vector<size_t> boxes{plot.curves.size()};
  if (!plot.panel.empty()) boxes.push_back(plot.panel.size());
  for (const PlotStrip& strip : plot.strips) boxes.push_back(strip.curves.size());
  size_t before = 0;
  for (size_t box = 0; box < boxes.size(); before += boxes[box++])
    for (size_t i = 1; i <= boxes[box]; ++i) {
      const std::string id(kCurve), letter(1, static_cast<char>('a' + box)),
          old = id + std::to_string(i) + letter + "\"";
      if (const size_t at = picture.find(old); at != std::string::npos)
        picture.replace(at, old.size(), id + std::to_string(i + before) + "\"");
    }
  return picture;
}

/// The title of each curve as it is, where gnuplot leaves marks of its own in it.
std::string with_titles(const Plot& plot, std::string picture) {
  constexpr std::string_view kBegin = " ><title>", kEnd = "</title>";
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    if (plot.curves[i].title.empty()) continue;
    const std::string begin = std::string(kCurve) + std::to_string(i + 1) + "\"" + std::string(kBegin);
    const size_t at = picture.find(begin);
    const size_t end = at == std::string::npos ? at : picture.find(kEnd, at);
    if (end == std::string::npos) continue;
    const size_t from = at + begin.size();
    picture.replace(from, end - from, html::escaped(text_in_plot(plot.curves[i].title)));
  }
  return picture;
}

/// The SVG with what is needed to read points from it: the axes and the position of their box.
std::string with_axes(const Plot& plot, const PipedCommand& drawn) {
  const std::string& said = drawn.said;
  const size_t at = said.rfind(kPlotAxesLine);
  double v[8];
  const char* next = at == std::string::npos ? nullptr : said.data() + at + std::strlen(kPlotAxesLine);
  const char* const end = said.data() + said.size();
  for (double& value : v) {
    while (next && next != end && *next == ' ') ++next;
    const auto [after, bad] =
        next ? read_double(next, end, value) : std::from_chars_result{next, std::errc::invalid_argument};
    if (bad != std::errc{})
      throw std::runtime_error("gnuplot did not tell the axes of a plot; it said: " + files::printable(said, true));
    next = after;
  }
  const auto axis = [](double least, double greatest, int log) {
    return R"({"least": )" + significant_digits(least, 17) + R"(, "greatest": )" + significant_digits(greatest, 17) +
           R"(, "log": )" + std::to_string(log) + "}";
  };
  const double height = svg_height(plot);  // SVG counts y from the top
  const auto place = [](double value) { return significant_digits(value, 6); };
  const std::string text = R"(<metadata>{"x": )" + axis(v[0], v[1], plot.x_log) + R"(, "y": )" +
                           axis(v[2], v[3], plot.y_log) + R"(, "box": {"left": )" + place(v[4]) + R"(, "right": )" +
                           place(v[5]) + R"(, "top": )" + place(height - v[7]) + R"(, "bottom": )" +
                           place(height - v[6]) + "}}</metadata>\n</svg>\n";
  const bool one_box = plot.panel.empty() && plot.strips.empty();
  std::string picture = with_titles(plot, one_box ? drawn.output : with_plain_ids(plot, drawn.output));
  return picture.replace(picture.rfind("</svg>"), std::string::npos, text);
}

std::string draw(const Plot& plot, const fs::path& name) {
  const PictureKind& kind = kind_of(name);
  const PipedCommand drawn = run_gnuplot(plot_script(plot, kind.terminal(svg_height(plot))));
  if (drawn.output.find(kind.last) == std::string::npos)
    throw std::runtime_error("gnuplot wrote no whole picture for " + files::in_quotes(name));
  return name.extension() == ".svg" ? with_axes(plot, drawn) : without_time(drawn.output);
}

}  // namespace

void check_plot_file(const fs::path& file) {
  kind_of(file);
  files::try_output(file);
  if (!plots_can_be_drawn()) throw cannot_run_gnuplot("it is not on PATH");
}

bool plots_can_be_drawn() {
  const engine::DefaultEnvironment guard;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((fs::path(folder) / "gnuplot").c_str(), X_OK) == 0) return true;
  return false;
}

void write_plot(const Plot& plot, const fs::path& file) {
  const engine::DefaultEnvironment guard;
  kind_of(file);
  check_plot(plot);
  files::OutputFile out(file);
  out.write(draw(plot, file));
  out.commit();
}

std::string svg_of(const Plot& plot) {
  const engine::DefaultEnvironment guard;
  check_plot(plot);
  return draw(plot, "picture.svg");
}

}  // namespace softamp
