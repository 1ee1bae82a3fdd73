#include "softamp/report/plot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// A file without a name, gone when closed.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile());
  if (!file) throw std::runtime_error(std::string("cannot make a temporary file: ") + std::strerror(errno));
  return file;
}

/// A gnuplot string: in single quotes nothing is special but the quote.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

/// Text as it stands, on one line, for gnuplot's enhanced mode, which reads marks of its own.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::strchr("^_@&~{}\\", c)) result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string terminal_for(const fs::path& file) {
  if (file.extension() == ".svg")
    return "set terminal svg size 960,600 enhanced font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' "
           "background '#ffffff'";
  if (file.extension() == ".png")
    return "set terminal pngcairo size 1440,900 enhanced font 'DejaVu Sans,16' linewidth 1.5";
  throw std::invalid_argument("plot '" + file.string() + "': expected a file name that ends in .svg or .png");
}

/// `bold`: which of the bold curves it is. Colours that the colour-blind tell apart, too (Okabe and Ito).
std::string look_of(CurveStyle style, size_t bold, bool several) {
  static constexpr const char* kColours[] = {"#0072b2", "#56b4e9", "#009e73", "#d55e00", "#e69f00", "#cc79a7"};
  switch (style) {
    case CurveStyle::kThin: return "lines linewidth 1 linecolor rgb '#703a7fc4'";
    case CurveStyle::kBold:
      if (several)
        return "linespoints linewidth 2 pointsize 0.8 pointtype " + std::to_string(4 + bold % 10) + " linecolor rgb '" +
               kColours[bold % std::size(kColours)] + "'";
      return "lines linewidth 2.5 linecolor rgb '#c8442b'";
    case CurveStyle::kReference: break;
  }
  return "lines linewidth 1.8 dashtype (10,6) linecolor rgb '#1a1a1a'";
}

std::string log_scale(char axis, int base) {
  if (base == 0) return {};
  const std::string name(1, axis), text = std::to_string(base);
  // Tiny numbers as powers, extents as they are.
  const std::string format = axis == 'y' ? "set format y '" + text + "^{%L}'\n" : std::string();
  return "set logscale " + name + " " + text + "\n" + format;
}

std::string script_for(const Plot& plot, const fs::path& output, const std::string& terminal) {
  std::string script = terminal + "\nset output " + quoted(output.string()) + R"(
set encoding utf8
set border 3 linecolor rgb '#888888'
set tics nomirror out textcolor rgb '#333333'
set grid linetype 1 linecolor rgb '#e2e2e2' linewidth 0.8
set autoscale xfix
set autoscale yfix
)";
  size_t titled = 0, bold = 0, longest = 0;
  for (const Curve& curve : plot.curves) {
    titled += !curve.title.empty();
    longest = std::max(longest, curve.title.size());
    bold += curve.style == CurveStyle::kBold;
  }
  const bool several = bold > 1;
  // A long legend stands beside the curves, below them where its lines are long too; a short one above them.
  constexpr size_t kLong = 24;
  const std::string key = " Left reverse samplen 3 width 1 textcolor rgb '#333333'\n";
  if (titled > 4)
    script += std::string("set tmargin at screen 0.88\n") +
              (longest > kLong ? "set rmargin 4\nset key outside below center vertical maxcols 2"
                               : "set key outside right center vertical") +
              key;
  else
    script += "set tmargin at screen 0.82\nset rmargin 4\nset key at screen 0.5, 0.87 center horizontal" + key;
  script += log_scale('x', plot.x_log) + log_scale('y', plot.y_log);
  if (plot.y_log == 0) script += "set offsets graph 0, graph 0, graph 0.05, graph 0.05\n";
  // Title, subtitle, legend and curves each have a band of the picture to themselves.
  script += "set label 1 " + quoted("{/*1.25 " + plain(plot.title) + "}") + " at screen 0.5, 0.955 center\n";
  script += "set label 2 " + quoted(plain(plot.subtitle)) + " at screen 0.5, 0.915 center textcolor rgb '#555555'\n";
  script += "set xlabel " + quoted(plain(plot.x_label)) + "\nset ylabel " + quoted(plain(plot.y_label)) + "\n";
  char point[80];
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    script += "$curve" + std::to_string(i) + " << END\n";
    for (size_t j = 0; j < curve.x.size(); ++j) {
      if (!std::isfinite(curve.x[j]) || !std::isfinite(curve.y[j])) continue;
      std::snprintf(point, sizeof point, "%.17g %.17g\n", curve.x[j], curve.y[j]);
      script += point;
    }
    script += "END\n";
  }
  script += "plot ";
  bold = 0;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    script += (i ? ", " : "") + ("$curve" + std::to_string(i)) + " with " + look_of(curve.style, bold, several) +
              (curve.title.empty() ? " notitle" : " title " + quoted(plain(curve.title)));
    bold += curve.style == CurveStyle::kBold;
  }
  return script + "\n";
}

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

/// Runs gnuplot on `script`; files instead of pipes, so that neither side ever waits for the other.
void run_gnuplot(const std::string& script) {
  const TemporaryFile input = temporary_file(), messages = temporary_file();
  std::fwrite(script.data(), 1, script.size(), input.get());
  std::rewind(input.get());

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages.get()), STDERR_FILENO);
  char name[] = "gnuplot", option[] = "-d", dash[] = "-";
  char* const arguments[] = {name, option, dash, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error(std::string("cannot run gnuplot, which draws the plots: ") + std::strerror(error) +
                             "; install it (Debian: gnuplot-nox)");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) throw std::runtime_error("gnuplot was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("gnuplot failed: " + contents(messages.get()));
}

}  // namespace

void check_plot_file(const fs::path& file) {
  terminal_for(file);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (access((folder / ".").c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
}

void write_plot(const Plot& plot, const fs::path& file) {
  const std::string terminal = terminal_for(file);
  for (const Curve& curve : plot.curves)
    if (curve.x.size() != curve.y.size())
      throw std::invalid_argument("plot curve '" + curve.title + "': " + std::to_string(curve.x.size()) + " x but " +
                                  std::to_string(curve.y.size()) + " y values");
  fs::path partial = file;
  partial.replace_filename("." + file.stem().string() + "." + std::to_string(getpid()) + ".tmp");
  const int descriptor = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (descriptor < 0) throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
  close(descriptor);
  try {
    run_gnuplot(script_for(plot, partial, terminal));
    if (fs::file_size(partial) == 0) throw std::runtime_error("gnuplot wrote nothing for '" + file.string() + "'");
    fs::rename(partial, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    throw;
  }
}

}  // namespace softamp
