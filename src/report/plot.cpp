#include "softamp/report/plot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "src/report/plot_script.h"
#include "src/report/whole_file.h"

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

std::string terminal_for(const fs::path& file) {
  if (file.extension() == ".svg")
    return "set terminal svg size 960,600 enhanced font 'DejaVu Sans,Helvetica,Arial,sans-serif,14' "
           "background '#ffffff'";
  if (file.extension() == ".png")
    return "set terminal pngcairo size 1440,900 enhanced font 'DejaVu Sans,16' linewidth 1.5";
  throw std::invalid_argument("plot '" + file.string() + "': expected a file name that ends in .svg or .png");
}

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

/// Runs gnuplot on `script` and returns its output; uses files instead of pipes, so that neither side waits for the
/// other. It runs in its own process group, so that the terminal's Ctrl-C reaches only the program, which may still
/// need the plot before it ends.
std::string run_gnuplot(const std::string& script) {
  const TemporaryFile input = temporary_file(), messages = temporary_file();
  std::fwrite(script.data(), 1, script.size(), input.get());
  std::rewind(input.get());

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(messages.get()), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  char name[] = "gnuplot", option[] = "-d", dash[] = "-";
  char* const arguments[] = {name, option, dash, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error(std::string("cannot run gnuplot, which draws the plots: ") + std::strerror(error) +
                             "; install it (Debian: gnuplot-nox)");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) throw std::runtime_error("gnuplot was ended by signal " + std::to_string(WTERMSIG(status)));
  const std::string said = contents(messages.get());
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("gnuplot failed: " + said);
  return said;
}

/// Appends what is needed to read points from the file: the axes and the position of their box.
void describe_axes(const Plot& plot, const std::string& said, const fs::path& svg) {
  const size_t at = said.rfind(kPlotAxesLine);
  double v[8];
  std::istringstream in(at == std::string::npos ? std::string() : said.substr(at + std::strlen(kPlotAxesLine)));
  for (double& value : v)
    if (!(in >> value)) throw std::runtime_error("gnuplot did not tell the axes of a plot; it said: " + said);
  constexpr double kHeight = 600;  // SVG counts y from the top
  char text[400];
  std::snprintf(text, sizeof text,
                "<metadata>{\"x\": {\"least\": %.17g, \"greatest\": %.17g, \"log\": %d}, "
                "\"y\": {\"least\": %.17g, \"greatest\": %.17g, \"log\": %d}, "
                "\"box\": {\"left\": %.6g, \"right\": %.6g, \"top\": %.6g, \"bottom\": %.6g}}</metadata>\n</svg>\n",
                v[0], v[1], plot.x_log, v[2], v[3], plot.y_log, v[4], v[5], kHeight - v[7], kHeight - v[6]);
  std::ifstream whole(svg, std::ios::binary);
  std::string picture{std::istreambuf_iterator<char>(whole), {}};
  picture.replace(std::min(picture.rfind("</svg>"), picture.size()), std::string::npos, text);
  std::ofstream out(svg, std::ios::binary);
  out << picture;
  out.close();
  if (!out) throw std::runtime_error("cannot write '" + svg.string() + "': " + std::strerror(errno));
}

}  // namespace

void check_plot_file(const fs::path& file) {
  terminal_for(file);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (access((folder / ".").c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
}

bool plots_can_be_drawn() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((fs::path(folder) / "gnuplot").c_str(), X_OK) == 0) return true;
  return false;
}

void write_plot(const Plot& plot, const fs::path& file) {
  const std::string terminal = terminal_for(file);
  check_plot(plot);
  fs::path partial = file;
  partial.replace_filename("." + file.stem().string() + "." + std::to_string(getpid()) + ".tmp");
  const int descriptor = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (descriptor < 0) throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
  close(descriptor);
  Replacement replacement(partial, file);
  const std::string said = run_gnuplot(plot_script(plot, partial.string(), terminal));
  if (fs::file_size(partial) == 0) throw std::runtime_error("gnuplot wrote nothing for '" + file.string() + "'");
  if (file.extension() == ".svg") describe_axes(plot, said, partial);
  replacement.put_in_place();
}

}  // namespace softamp
