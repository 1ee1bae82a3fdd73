#include "softamp/report/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// A folder for one test's files, gone with its contents when the test ends.
struct TemporaryFolder {
  fs::path path;

  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "softamp_plot_XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path / name).string(); }
  auto entries() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};

std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Plot small_plot() {
  Plot plot;
  plot.title = "one's title_with {marks} & more";
  plot.subtitle = "the subtitle";
  plot.x_label = "steps";
  plot.y_label = "height";
  plot.curves = {{"many", CurveStyle::kThin, {0, 1, 2}, {0, 1, 4}},
                 {"", CurveStyle::kThin, {0, 1, 2}, {0, 2, 3}},
                 {"bold one", CurveStyle::kBold, {0, 1, 2}, {0, 0.5, 0.5}},
                 {"straight", CurveStyle::kReference, {0, 2}, {0, 4}}};
  return plot;
}

std::string message_of(const Plot& plot, const std::string& file) {
  try {
    write_plot(plot, file);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Plot, SvgHoldsEveryTextAndCurve) {
  const TemporaryFolder folder;
  write_plot(small_plot(), folder.file("a b'c.svg"));
  const std::string svg = read_text(folder.file("a b'c.svg"));
  EXPECT_EQ(svg.rfind("<?xml", 0), 0u);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  for (const char* text :
       {"one's title_with {marks} &amp; more", "the subtitle", "steps", "height", "many", "bold one", "straight"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(occurrences(svg, "<g id=\"gnuplot_plot_"), 4u);
  EXPECT_EQ(folder.entries(), 1);  // the temporary file is gone
}

TEST(Plot, PngIsAPicture) {
  const TemporaryFolder folder;
  write_plot(small_plot(), folder.file("a.png"));
  const std::string png = read_text(folder.file("a.png"));
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 12), std::string("IHDR\0\0\x05\xa0\0\0\x03\x84", 12));  // 1440 x 900 points
}

TEST(Plot, APlotReplacesTheFileAsAWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.svg")) << "old";
  write_plot(small_plot(), folder.file("a.svg"));
  EXPECT_EQ(read_text(folder.file("a.svg")).rfind("<?xml", 0), 0u);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(Plot, PointsThatAreNotFiniteAreLeftOut) {
  const TemporaryFolder folder;
  Plot plot = small_plot();
  plot.curves[0].y = {0, std::numeric_limits<double>::infinity(), std::nan("")};
  write_plot(plot, folder.file("a.svg"));
  EXPECT_EQ(read_text(folder.file("a.svg")).find("nan"), std::string::npos);
}

TEST(Plot, RefusesOtherEndingsAndUnevenCurves) {
  EXPECT_EQ(message_of(small_plot(), "a.pdf"), "plot 'a.pdf': expected a file name that ends in .svg or .png");
  EXPECT_EQ(message_of(small_plot(), "svg"), "plot 'svg': expected a file name that ends in .svg or .png");
  EXPECT_THROW(check_plot_file("a.gif"), std::invalid_argument);
  Plot plot = small_plot();
  plot.curves[2].y.pop_back();
  EXPECT_EQ(message_of(plot, "a.svg"), "plot curve 'bold one': 3 x but 2 y values");
}

TEST(Plot, AFolderThatIsNotThereIsNamed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("missing/a.svg");
  EXPECT_EQ(message_of(small_plot(), file), "cannot write '" + file + "': No such file or directory");
}

TEST(Plot, GnuplotsOwnWordsAreReportedAndNothingIsLeft) {
  const TemporaryFolder folder;
  Plot plot = small_plot();
  plot.curves = {{"nothing", CurveStyle::kBold, {}, {}}};
  const std::string message = message_of(plot, folder.file("a.svg"));
  EXPECT_EQ(message.rfind("gnuplot failed: ", 0), 0u) << message;
  EXPECT_GT(message.size(), std::string("gnuplot failed: ").size());
  EXPECT_EQ(folder.entries(), 0);
}

TEST(Plot, AMissingGnuplotIsNamedWithTheRemedy) {
  const TemporaryFolder folder, empty;
  const std::string before = std::getenv("PATH");
  setenv("PATH", empty.path.c_str(), 1);
  const std::string message = message_of(small_plot(), folder.file("a.svg"));
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(message,
            "cannot run gnuplot, which draws the plots: No such file or directory; install it (Debian: gnuplot-nox)");
  EXPECT_EQ(folder.entries(), 0);
}

TEST(PlotFile, IsCheckedBeforeALongRun) {
  EXPECT_THROW(check_plot_file("/no/such/folder/p.svg"), std::runtime_error);
  EXPECT_THROW(check_plot_file("p.jpg"), std::invalid_argument);
  EXPECT_NO_THROW(check_plot_file("p.svg"));
}

}  // namespace
}  // namespace softamp
