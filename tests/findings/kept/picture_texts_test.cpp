// Scripts of plots with each number of curves and points, axes of many ranges, and pictures in pages: digests of the
// whole texts. Ranges are given: what gnuplot's would be made of depends on the library of mathematics.
#include <sstream>

#include "src/pictures/html_page.h"
#include "src/pictures/plot_script.h"
#include "tests/kept_text.h"
#include "tests/outcomes.h"

namespace softamp::test::picture_texts {
namespace {

Curve curve_of(CurveStyle style, size_t points, size_t title, int number) {
  Curve curve{std::string(title, 'a'), style, {}, {}};
  for (size_t i = 0; i < points; ++i) {
    curve.x.push_back(static_cast<double>(i) * 0.5 + 0.25);
    curve.y.push_back(static_cast<double>((i * 7 + static_cast<size_t>(number)) % 13) + 0.5);
  }
  return curve;
}

Plot plot_of(const std::vector<Curve>& curves) {
  Plot plot;
  plot.title = "title";
  plot.subtitle = "below";
  plot.x_label = "x";
  plot.y_label = "y";
  plot.curves = curves;
  plot.x_range = PlotRange{0.25, 64};
  plot.y_range = PlotRange{0.5, 16};
  return plot;
}

TEST(Pictures, ScriptsAreTheseTexts) {
  Outcomes outcomes;
  std::string text;
  const auto add = [&](const std::string& name, const Plot& plot) {
    outcomes.add(name, [&] {
      check_plot(plot);
      return plot_script(plot, "svg");
    });
  };
  using enum CurveStyle;
  for (const CurveStyle style : {kThin, kBold, kReference, kPoints, kBars})
    for (const size_t points : {0, 1, 2, 40, 41, 60, 61, 200, 201})
      for (int count = 1; count < 13; ++count) {
        std::vector<Curve> curves;
        for (int i = 0; i < count; ++i) curves.push_back(curve_of(style, points, 3, points < 3 ? i : 0));
        if (count == 3) curves.push_back(curve_of(kBars, 4, 3, 1));
        if (count == 4) curves[1].colour = 7, curves[2].dashed = true;
        add(std::to_string(static_cast<int>(style)) + " " + std::to_string(points) + " " + std::to_string(count),
            plot_of(curves));
      }
  text += "curves: " + outcomes.digest();
  for (const size_t title : {0, 1, 16, 19, 20, 21, 24, 25, 40, 44, 45, 46, 93, 94, 95, 104, 105})
    for (int count = 1; count < 7; ++count)
      for (const bool panel : {false, true})
        for (const bool aspect : {false, true}) {
          Plot plot = plot_of({});
          for (int i = 0; i < count; ++i) plot.curves.push_back(curve_of(kBold, 3, title, i));
          if (panel)
            plot.panel = {curve_of(kThin, 4, 2, 1)}, plot.panel_label = "p", plot.panel_range = PlotRange{-1, 3};
          plot.equal_aspect = aspect;
          add(std::to_string(title) + " " + std::to_string(count), plot);
        }
  text += "legends: " + outcomes.digest();
  const double ends[] = {0x1p-20, 0.0001, 0.0009, 0.001, 0.01, 0.02, 0.03,   0.5,    0.9,   1,
                         1.5,     2,      3,      4.5,   5,    8,    9,      10,     12,    19,
                         20,      21,     32,     63,    100,  1000, 149999, 150000, 0x1p30};
  for (const int base : {0, 2, 10, 3})
    for (const double least : ends)
      for (const double greatest : ends)
        for (const char axis : {'x', 'y', 's'}) {
          Plot plot = plot_of({curve_of(kBold, 3, 3, 0)});
          (axis == 'x' ? plot.x_range : plot.y_range) = PlotRange{least, greatest};
          (axis == 'x' ? plot.x_log : plot.y_log) = axis == 's' ? 0 : base;
          if (axis == 's') plot.strips = {{"s", {{"t", kBold, {1, 2}, {least, greatest}}}, base}};
          add(std::string(1, axis) + std::to_string(base) + " " + std::to_string(least) + " " +
                  std::to_string(greatest),
              plot);
        }
  text += "axes: " + outcomes.digest();
  for (size_t strips = 1; strips < 4; ++strips)
    for (const CurveStyle style : {kBold, kBars, kPoints}) {
      Plot plot = plot_of({curve_of(kBold, 5, 4, 1)});
      for (size_t i = 0; i < strips; ++i)
        plot.strips.push_back({"s" + std::to_string(i), {curve_of(style, 3, 3, 1), curve_of(kThin, 3, 0, 2)}});
      add("strips " + std::to_string(strips), plot);
      plot.panel = plot.curves;
      add("strips and a panel", plot);
    }
  Plot odd = plot_of({curve_of(kBars, 3, 3, 0)});
  odd.curves[0].y.pop_back();
  add("unlike lengths", odd);
  text += "strips: " + outcomes.digest() + outcomes.refusals();
  Plot all = plot_of(
      {curve_of(kBars, 3, 3, 0), curve_of(kBold, 3, 4, 1), curve_of(kReference, 2, 5, 2), curve_of(kPoints, 2, 0, 2)});
  all.strips = {{"strip", {curve_of(kBold, 3, 3, 1)}, 2}};
  expect_kept("findings/kept/plots.txt", text + plot_script(all, "svg"), outcomes.all());
}

TEST(Pictures, InPagesAreTheseTexts) {
  Outcomes outcomes;
  const std::string start = "<svg width=\"800\" height=\"600\" viewBox=\"0 0 800 600\">", end = "</svg>";
  const auto text_at = [](const std::string& y, const std::string& words) {
    return "<g transform=\"translate(40," + y + ")\"><text>" + words + "</text></g>";
  };
  const std::string metadata = "<metadata>{\"top\": 123.4, \"left\": 1}</metadata>";
  std::vector<std::string> parts = {"",
                                    "\n",
                                    "<g fill=\"none\">\n</g>\n",
                                    "<g fill=\"none\" id=\"a\"><path id=\"b\"/></g>",
                                    "<script>",
                                    "<path onload=\"x\"/>",
                                    "<path on=\"x\"/>",
                                    "<path online />",
                                    "<path ion=\"x\"/>",
                                    "<p  on_a=\"1\">",
                                    "<a href=\"http://x\">",
                                    "<use href=\"#b\"/>",
                                    "<use xlink:href='http://x'/>",
                                    "<text>javascript: on x=1 <!-- </text>",
                                    "<!-- x -->",
                                    "<style>",
                                    "<image>",
                                    "<iframe>",
                                    "<foreignObject>",
                                    "<path clip-path=\"url(#b)\"/>",
                                    "<path style=\"@import\"/>"};
  for (const char* y : {"0", "43.9", "44", "44.1", "60", "123", "124", "599", "600", "x"})
    for (const char* words : {"", "word", "<tspan></tspan>", "<tspan>word</tspan>"}) parts.push_back(text_at(y, words));
  for (const std::string& first : parts)
    for (const std::string& more :
         {std::string(), metadata, text_at("300", "lower"), "\n" + metadata + text_at("200", "x")})
      for (const std::string& svg :
           {start + first + more + end, "<?xml?>\n<!DOCTYPE x>" + start + more + first + end, start + first + more})
        outcomes.add(svg, [&] { return html::picture(svg, 7, "title <&>", "caption \"'"); });
  for (const char* view : {"0 0 800 600", "1 0 800 600", "0 0 800", "0 0 800 100", "0 0 800 ", "0 0 1 2", ""})
    outcomes.add(view, [&] {
      return html::picture("<svg viewBox=\"" + std::string(view) + "\">" + text_at("90", "w") + end, 1, "t", "");
    });
  std::string text = "pictures: " + outcomes.digest();
  using Cells = std::vector<html::Cell>;
  html::Table table{"caption",     {"a", "", "c"},
                    {false, true}, {Cells{{"1"}, {"<2>", "bad"}, {"3", "", "id"}}, Cells{{"4"}, {"5"}, {""}}},
                    true,          true};
  const std::string page =
      html::page("title <&>", html::heading("head", "id") + html::heading("plain") + html::paragraph("text", "dim") +
                                  html::paragraph("more") + html::lines_to_copy("a\nb\x1b") + table.text() +
                                  html::folded("sum", "<b>in</b>", true) + html::folded("sum", "in"));
  table.show_caption = table.row_heads = false;
  table.columns = {"", "", ""};
  table.right.clear();
  expect_kept("findings/kept/pages.txt", text + page + table.text() + "\n", outcomes.all());
}

}  // namespace
}  // namespace softamp::test::picture_texts
