#include "softamp/pictures/plot.h"

#include <gtest/gtest.h>
#include <regex>
#include <set>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "src/pictures/plot_script.h"
#include "tests/comma_locale.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"
#include "tests/svg_points.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;

using test::read_text;
using test::TemporaryFolder;
using test::write_text;

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

/// A plot with every style of curve.
Plot rich_plot() {
  Plot plot;
  plot.title = "all styles";
  plot.x_label = "x";
  plot.y_label = "y";
  Curve bars{"bars", CurveStyle::kBars, {}, {}}, many{"bold", CurveStyle::kBold, {}, {}};
  for (int i = 0; i < 12; ++i) {
    bars.x.push_back(i * 0.25);
    bars.y.push_back(i == 4 ? 0 : 40 - (i - 6) * (i - 6));
  }
  for (int i = 0; i < 300; ++i) {
    many.x.push_back(i * 0.01);
    many.y.push_back(20 + 19.7 * std::sin(i * 0.05));
  }
  plot.curves = {bars,
                 many,
                 {"points", CurveStyle::kPoints, {0.1, 1.1, 2.1}, {3, 4, 5}},
                 {"dashed", CurveStyle::kBold, {0, 2}, {7, 9}, 2, true},
                 {"", CurveStyle::kThin, {0, 1, 2}, {1, 2, 3}},
                 {"first", CurveStyle::kReference, {0, 2.75}, {25, 25}},
                 {"second", CurveStyle::kReference, {1.5, 1.5}, {0, 40}}};
  return plot;
}

std::string message_of(const Plot& plot, const std::string& file) {
  return test::refusal<std::exception>([&] { write_plot(plot, file); });
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
  EXPECT_EQ(folder.entries(), 1u);  // the temporary file is gone
}

TEST(Plot, PngIsAPicture) {
  const TemporaryFolder folder;
  write_plot(small_plot(), folder.file("a.png"));
  const std::string png = read_text(folder.file("a.png"));
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 12), std::string("IHDR\0\0\x05\xa0\0\0\x03\x84", 12));  // 1440 x 900 points
}

TEST(Plot, PdfIsTheSameWheneverItIsMade) {
  const TemporaryFolder folder;
  write_plot(small_plot(), folder.file("a.pdf"));
  const std::string pdf = read_text(folder.file("a.pdf"));
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  EXPECT_NE(pdf.find("/MediaBox [ 0 0 720 450 ]"), std::string::npos) << "10 x 6.25 inches";
  EXPECT_NE(pdf.find("%%EOF"), std::string::npos);
  EXPECT_NE(pdf.find("/CreationDate (D:19700101000000"), std::string::npos);
}

// Colours, and dashes where they begin again.
TEST(Plot, NoTwoOfManyCurvesLookAlike) {
  Plot plot;
  for (int i = 0; i < 32; ++i)
    plot.curves.push_back({"curve " + std::to_string(i), CurveStyle::kBold, {0, 1}, {10.0 * i, 10.0 * i}});
  const std::string script = plot_script(plot, "");
  const std::regex look("with linespoints linewidth 2((?: dashtype \\([^)]*\\))?).*?(linecolor rgb '#[0-9a-f]*')");
  std::set<std::string> looks;
  for (std::sregex_iterator at(script.begin(), script.end(), look), end; at != end; ++at)
    looks.insert((*at)[1].str() + (*at)[2].str());
  EXPECT_EQ(looks.size(), 32u);
}

TEST(Plot, APlotReplacesTheFileAsAWhole) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a.svg")) << "old";
  write_plot(small_plot(), folder.file("a.svg"));
  EXPECT_EQ(read_text(folder.file("a.svg")).rfind("<?xml", 0), 0u);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Plot, PointsThatAreNotFiniteAreLeftOut) {
  const TemporaryFolder folder;
  Plot plot = small_plot();
  plot.curves[0].y = {0, std::numeric_limits<double>::infinity(), std::nan("")};
  write_plot(plot, folder.file("a.svg"));
  EXPECT_EQ(read_text(folder.file("a.svg")).find("nan"), std::string::npos);
}

TEST(Plot, RefusesOtherEndingsAndUnevenCurves) {
  EXPECT_EQ(message_of(small_plot(), "a.gif"), "plot 'a.gif': expected a file name that ends in .svg, .png or .pdf");
  EXPECT_EQ(message_of(small_plot(), "svg"), "plot 'svg': expected a file name that ends in .svg, .png or .pdf");
  EXPECT_THROW(check_plot_file("a.gif"), std::invalid_argument);
  Plot plot = small_plot();
  plot.curves[2].y.pop_back();
  EXPECT_EQ(message_of(plot, "a.svg"), "plot curve 'bold one': 3 x but 2 y values");
}

TEST(Plot, AFolderThatIsNotThereIsNamed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("missing/a.svg");
  EXPECT_EQ(message_of(small_plot(), file), "'" + file + "' cannot be written: No such file or directory");
}

TEST(Plot, GnuplotsOwnWordsAreReportedAndNothingIsLeft) {
  const TemporaryFolder folder;
  Plot plot = small_plot();
  plot.curves = {{"nothing", CurveStyle::kBold, {}, {}}};
  const std::string message = message_of(plot, folder.file("a.svg"));
  EXPECT_EQ(message.rfind("gnuplot failed: ", 0), 0u) << message;
  EXPECT_GT(message.size(), std::string("gnuplot failed: ").size());
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Plot, ASmallDiskIsNoPlot) {
  for (const char* name : {"a.png", "a.svg"}) {
    const TemporaryFolder folder;
    write_text(folder.file(name), "old");
    std::string message;
    {
      const test::SmallDisk full(4096);
      message = message_of(small_plot(), folder.file(name));
    }
    EXPECT_EQ(folder.without(message), "'" + std::string(name) + "' cannot be written: File too large");
    EXPECT_EQ(read_text(folder.file(name)), "old");
    EXPECT_EQ(folder.entries(), 1u);
  }
}

/// gnuplot reads a line at a time, and a line may be a command of the shell.
TEST(Plot, NoTextOfThePlotIsACommand) {
  const TemporaryFolder folder;
  const std::string made = folder.file("made"), plain_script = plot_script(small_plot(), "");
  for (const char* start :
       {"\n", "'\n", "\r\n", "\\\n", "\f", "`", "'`", "\"`", "'", "''", "\"", "\\\"", "\\", "@a "}) {
    const std::string text = start + ("!touch " + made) + "\n!touch " + made + "`" + start;
    Plot plot = small_plot();
    plot.title = plot.subtitle = plot.x_label = plot.y_label = text;
    for (Curve& curve : plot.curves) curve.title = text;
    write_plot(plot, folder.file("a.svg"));
    EXPECT_FALSE(fs::exists(made)) << start;
    EXPECT_EQ(occurrences(plot_script(plot, ""), "\n"), occurrences(plain_script, "\n")) << start;
  }
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Plot, PowersAreRaised) {
  // As gnuplot's markup; quoted, '^' is \136, '{' \173, '}' \175, and what is not markup has a \134 before it.
  const auto title = [](const std::string& text) {
    Plot plot = small_plot();
    plot.title = text;
    const std::string script = plot_script(plot, ""), begin = "set label 1 \"\\173/\\052\\061.25 ";
    const size_t at = script.find(begin);
    if (at == std::string::npos) return std::string("no title");
    return script.substr(at + begin.size(), script.find("\\175\" at", at) - at - begin.size());
  };
  EXPECT_EQ(title("2^-13 of it"), "2\\136\\173-13\\175 of it");
  EXPECT_EQ(title("(1+x)^k, 10^4"), "(1+x)\\136\\173k\\175, 10\\136\\173\\064\\175");
  for (const char* none : {"^2", " ^2", "a^", "a^-", "a^bc", "a^2b"})
    EXPECT_EQ(title(none).find("\\136\\173"), std::string::npos) << none;
  // In the picture: raised text of its own, in a smaller font.
  Plot plot = small_plot();
  plot.title = "2^-13";
  const std::string svg = svg_of(plot);
  EXPECT_EQ(svg.find("2^-13"), std::string::npos);
  EXPECT_NE(svg.find(">-13<"), std::string::npos);
}

TEST(Plot, EveryTextIsInThePictureAsItIs) {
  // tests/pictures sends every character; these are those that gnuplot reads otherwise.
  std::string long_text = "a";
  for (int i = 0; i < 700; ++i) long_text += "\u00e9";
  Plot plot = small_plot();
  plot.title = "x$1 '0 #7 %2";
  plot.subtitle = "a \\U+20AC b";
  plot.x_label = long_text;
  plot.y_label = "one\nline\x1b \xff";
  plot.curves[2].title = "a\\b & <c> 2^-13";
  const std::string svg = svg_of(plot);
  EXPECT_NE(svg.find(" font-size=\"17.5\">x$1 '0 #7 %2<"), std::string::npos) << "larger than the other texts";
  EXPECT_EQ(svg.find("\u20ac"), std::string::npos);
  EXPECT_NE(svg.find(">one line\\x1b \\xff<"), std::string::npos);
  EXPECT_NE(svg.find("<title>a\\b &amp; &lt;c&gt; 2^-13</title>"), std::string::npos);
  size_t whole = 0;  // of two bytes
  for (size_t at = svg.find("\xc3"); at != std::string::npos; at = svg.find("\xc3", at + 1))
    whole += svg[at + 1] == '\xa9';
  EXPECT_EQ(whole, 700u);
  EXPECT_EQ(occurrences(svg, "\xc3"), 700u);
  plot.title = "]]>";
  EXPECT_EQ(svg_of(plot).find("]]>"), std::string::npos);
  EXPECT_EQ(plot_script(plot, "first\n").substr(6), plot_script(plot, "other\n").substr(6)) << "also of a .png";
}

TEST(Plot, ACurveOnAnotherIsDashed) {
  const auto dashes = [](std::vector<double> first, std::vector<double> second, int y_log = 0) {
    Plot plot = small_plot();
    plot.y_log = y_log;
    plot.curves = {{"a", CurveStyle::kBold, {0, 1, 2}, std::move(first)},
                   {"b", CurveStyle::kBold, {0, 1, 2}, std::move(second)},
                   {"c", CurveStyle::kBold, {0, 1, 2}, {1000, 1, 1000}}};
    return occurrences(plot_script(plot, ""), "dashtype (7,8)");
  };
  EXPECT_EQ(dashes({1, 20, 30}, {1, 20, 30}), 1u) << "the upper one alone";
  EXPECT_EQ(dashes({1, 200, 30}, {4, 500, 300}), 1u) << "a third of the points, within a 250th of the axis";
  EXPECT_EQ(dashes({1, 200, 30}, {6, 500, 300}), 0u);
  EXPECT_EQ(dashes({1, 200, 30}, {4, 500, 300}, 10), 0u) << "far apart on a logarithmic axis";
  EXPECT_EQ(dashes({NAN, NAN, NAN}, {1, 20, 3}), 0u);
}

TEST(Plot, SvgAsTextIsTheFiles) {
  const TemporaryFolder folder;
  write_plot(rich_plot(), folder.file("a.svg"));
  EXPECT_EQ(svg_of(rich_plot()), read_text(folder.file("a.svg")));
}

TEST(Plot, NoNameOfAFileIsInTheScript) {
  const TemporaryFolder folder;
  const std::string made = folder.file("made"), name = folder.file("a\n!touch made\n'.svg");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_plot(small_plot(), name);
  fs::current_path(before);
  EXPECT_FALSE(fs::exists(made));
  EXPECT_TRUE(fs::exists(name));
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(message_of(small_plot(), "a\n.gif"),
            "plot 'a\\n.gif': expected a file name that ends in .svg, .png or .pdf");
}

TEST(Plot, DoesNotDependOnTheGlobalLocale) {
  const TemporaryFolder folder;
  write_plot(rich_plot(), folder.file("a.svg"));
  const std::string script = plot_script(rich_plot(), "");
  {
    const test::CommaLocale locale;
    write_plot(rich_plot(), folder.file("b.svg"));
    EXPECT_EQ(plot_script(rich_plot(), ""), script);
  }
  EXPECT_EQ(read_text(folder.file("b.svg")), read_text(folder.file("a.svg")));
}

TEST(Plot, AMissingGnuplotIsNamedWithTheRemedy) {
  const TemporaryFolder folder, empty;
  const std::string before = std::getenv("PATH");
  setenv("PATH", empty.path().c_str(), 1);
  const std::string message = message_of(small_plot(), folder.file("a.svg"));
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(message,
            "cannot run gnuplot, which draws the plots: No such file or directory; install it (Debian: gnuplot-nox)");
  EXPECT_EQ(folder.entries(), 0u);
}

/// What differs between a plot and the picture of another.
std::string difference(const Plot& drawn, const Plot& wanted) {
  const TemporaryFolder folder;
  write_plot(drawn, folder.file("a.svg"));
  return test::picture_differs(wanted, test::SvgPlot(read_text(folder.file("a.svg"))));
}
std::string difference(const Plot& plot) { return difference(plot, plot); }

TEST(PlotPoints, AreReadBackFromThePicture) {
  EXPECT_EQ(difference(small_plot()), "");
  EXPECT_EQ(difference(rich_plot()), "");
}

TEST(PlotPoints, ABarOfNoHeightIsNotSeenAndOneOfSomeIs) {
  Plot flat = rich_plot(), high = rich_plot();
  ASSERT_EQ(flat.curves[0].y[4], 0);
  high.curves[0].y[4] = 0.01;
  EXPECT_NE(difference(flat, high), "");
  EXPECT_NE(difference(high, flat), "");
}

TEST(PlotPoints, TheComparisonSeesWhatDiffers) {
  for (const size_t curve : {0, 1, 2, 5}) {
    Plot moved = rich_plot();
    moved.curves[curve].y[1] += 0.01;  // of a box 414 units high for 41: a tenth of a unit
    EXPECT_NE(difference(rich_plot(), moved), "") << curve;
    Plot fewer = rich_plot();
    fewer.curves[curve].x.erase(fewer.curves[curve].x.begin() + 1);
    fewer.curves[curve].y.erase(fewer.curves[curve].y.begin() + 1);
    EXPECT_NE(difference(rich_plot(), fewer), "") << curve;
    EXPECT_NE(difference(fewer, rich_plot()), "") << curve;
  }
}

TEST(PlotPoints, OnLogarithmicAxesOnlyWhatIsPositive) {
  Plot plot = small_plot();
  plot.x_log = 2;
  plot.y_log = 10;
  EXPECT_EQ(difference(plot), "");
  // Many decades, less than one, and a single value.
  plot.curves = {{"a", CurveStyle::kBold, {1, 64, 1e6}, {1e-30, 1e-12, 1}}};
  EXPECT_EQ(difference(plot), "");
  plot.curves = {{"a", CurveStyle::kBold, {4, 8, 12}, {0.5, 0.55, 0.6}}};
  EXPECT_EQ(difference(plot), "");
  plot.curves = {{"a", CurveStyle::kPoints, {4}, {0.5}}};
  EXPECT_EQ(difference(plot), "");
}

TEST(PlotPoints, ACurveWithoutAnyLeavesTheOthersTheirNumbers) {
  Plot plot = rich_plot();
  plot.curves[1].x.clear();
  plot.curves[1].y.clear();
  plot.curves[3].y = {std::nan(""), std::nan("")};
  EXPECT_EQ(difference(plot), "");
}

TEST(PlotPoints, ARangeCutsThemOff) {
  Plot plot = rich_plot();
  plot.x_range = PlotRange{0.5, 2};
  plot.y_range = PlotRange{-10, 22};
  plot.curves.erase(plot.curves.begin());  // a bar that is cut has its end elsewhere
  const TemporaryFolder folder;
  write_plot(plot, folder.file("a.svg"));
  const test::SvgPlot svg(read_text(folder.file("a.svg")));
  EXPECT_EQ(test::picture_differs(plot, svg), "");
  EXPECT_EQ(svg.axes["x"]["least"], 0.5);
  EXPECT_EQ(svg.axes["y"]["greatest"], 22);
}

TEST(PlotPoints, EqualAspectKeepsCirclesRound) {
  Plot plot = small_plot();
  plot.equal_aspect = true;
  const TemporaryFolder folder;
  write_plot(plot, folder.file("a.svg"));
  const test::SvgPlot svg(read_text(folder.file("a.svg")));
  EXPECT_EQ(test::picture_differs(plot, svg), "");
  const auto a = svg.place(0, 0), b = svg.place(1, 1);
  EXPECT_NEAR(b.x - a.x, a.y - b.y, 0.02);  // the corners of the box are whole hundredths
}

TEST(Plot, RefusesARangeThatIsNoneAndBarsOnLogarithms) {
  Plot plot = small_plot();
  plot.y_range = PlotRange{2, 2};
  EXPECT_EQ(message_of(plot, "a.svg"), "plot: y_range 2:2: expected least < greatest");
  plot.y_log = 10;
  plot.y_range = PlotRange{0, 2};
  EXPECT_EQ(message_of(plot, "a.svg"),
            "plot: y_range 0:2: expected least < greatest, both positive on a logarithmic axis");
  plot = rich_plot();
  plot.x_log = 10;
  EXPECT_EQ(message_of(plot, "a.svg"), "plot curve 'bars': bars on a logarithmic x axis; expected a linear one");
}

TEST(PlotFile, TellsBeforehandWhetherThereIsGnuplot) {
  const TemporaryFolder empty;
  const std::string before = std::getenv("PATH");
  EXPECT_TRUE(plots_can_be_drawn());
  setenv("PATH", empty.path().c_str(), 1);
  EXPECT_FALSE(plots_can_be_drawn());
  setenv("PATH", before.c_str(), 1);
}

TEST(PlotFile, IsCheckedBeforeALongRun) {
  EXPECT_THROW(check_plot_file("/no/such/folder/p.svg"), std::runtime_error);
  EXPECT_THROW(check_plot_file("p.jpg"), std::invalid_argument);
  EXPECT_NO_THROW(check_plot_file("p.svg"));
}

TEST(PlotPanel, StandsBelowOnTheSameXInTheSameLooks) {
  if (!plots_can_be_drawn()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  Plot plot;
  plot.title = "two boxes";
  plot.x_label = "steps";
  plot.y_label = "loss";
  plot.curves = {{"first", CurveStyle::kBold, {0, 10, 20}, {3, 2, 1}},
                 {"second: diverged at step 0", CurveStyle::kBold, {0, 10}, {NAN, NAN}},
                 {"third", CurveStyle::kReference, {0, 10, 20}, {4, 2, 2}}};
  plot.panel = {{"", CurveStyle::kBold, {0, 10, 20}, {-1, 0, -1}}, {}, {"", CurveStyle::kBold, {0, 10, 20}, {0, 0, 0}}};
  plot.panel_label = "difference";
  const std::string file = folder.file("p.svg");
  write_plot(plot, file);
  const std::string svg = read_text(file);
  const test::SvgPlot read(svg);
  Plot upper = plot;
  upper.panel.clear();
  EXPECT_EQ(test::picture_differs(upper, read), "");
  for (const char* words : {"second: diverged at step 0", "difference", "gnuplot_plot_6"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  EXPECT_EQ(occurrences(svg, ">first<"), 2u) << "one legend, and the curve's own title";
  const double bottom = read.axes["box"]["bottom"], left = read.axes["box"]["left"], right = read.axes["box"]["right"];
  EXPECT_LT(bottom, 600);
  plot.panel_range = PlotRange{-2, 2};
  EXPECT_NE(plot_script(plot, "").find("set yrange [-2:2]"), std::string::npos);
  EXPECT_GT(right - left, 700);
  plot.panel.pop_back();
  EXPECT_EQ(test::refusal<std::invalid_argument>([&] { write_plot(plot, file); }),
            "plot: a panel of 2 curves; expected 3, one for each curve above");
  plot.panel.clear();
  EXPECT_EQ(plot_script(plot, "").find("multiplot"), std::string::npos);
}

TEST(PlotStrips, StandBelowOneAnotherOnTheSameX) {
  if (!plots_can_be_drawn()) GTEST_SKIP() << "no gnuplot";
  const TemporaryFolder folder;
  Plot plot;
  plot.title = "three boxes";
  plot.x_label = "step";
  plot.y_label = "loss";
  plot.curves = {{"loss of a step", CurveStyle::kThin, {3, 10, 25}, {3, 2, 1}},
                 {"mean of 2 steps", CurveStyle::kBold, {3, 10, 25}, {3, 2.5, 1.5}}};
  const std::string file = folder.file("p.svg");
  const Plot upper = plot;
  // The curves of a strip end earlier, or stand nowhere: its x axis is that of the upper box.
  plot.strips = {{"learning rate", {{"rate", CurveStyle::kBold, {3, 10}, {0.5, 0.25}}}},
                 {"loss scale", {{"scale", CurveStyle::kBold, {3, 10, 10, 25}, {32768, 32768, 65536, 65536}}}, 2},
                 {"gradient norm", {{"norm", CurveStyle::kThin, {3, 10}, {NAN, INFINITY}}}, 10}};
  write_plot(plot, file);
  const std::string svg = read_text(file);
  const test::SvgPlot read(svg);
  EXPECT_EQ(test::picture_differs(upper, read), "");
  for (const char* words : {"learning rate", "loss scale", "gradient norm", "gnuplot_plot_4", "height=\"1020\""})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  EXPECT_EQ(svg.find("id=\"gnuplot_plot_1b\""), std::string::npos);
  // The upper box is as large as without strips.
  write_plot(upper, file);
  const auto alone = test::SvgPlot(read_text(file)).axes["box"], box = read.axes["box"];
  EXPECT_NEAR(box["top"].get<double>(), alone["top"].get<double>(), 2);
  EXPECT_NEAR(box["bottom"].get<double>(), alone["bottom"].get<double>(), 20);
  plot.strips[1].curves[0].y.pop_back();
  EXPECT_EQ(test::refusal<std::invalid_argument>([&] { write_plot(plot, file); }),
            "plot curve 'scale': 4 x but 3 y values");
  plot.strips.resize(1);
  plot.panel = plot.curves;
  EXPECT_EQ(test::refusal<std::invalid_argument>([&] { write_plot(plot, file); }),
            "plot: a panel and 1 strips; expected one of them");
}

}  // namespace
}  // namespace softamp
