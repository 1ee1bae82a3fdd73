// Line plots as SVG or PNG files, drawn by gnuplot in a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace softamp {

/// How a curve looks.
enum class CurveStyle {
  kThin,       ///< one of many: thin, half transparent, all of one colour; the legend shows the first titled one
  kBold,       ///< the main curve; several differ in colour and mark
  kReference,  ///< a reference for the others: dashed, drawn on top; several differ in dash and grey
  kPoints,     ///< only marks, no line; colours and marks continue those of the bold curves
  kBars,       ///< a histogram: a bar from the foot of the picture to each point, as wide as the nearest two of its
               ///< points are apart; x linear only
};

struct Curve {
  std::string title;  ///< empty: not in the legend
  CurveStyle style;
  /// Equally long. A curve without a point to draw is in the legend alone. Points that are not finite, or not positive
  /// where that axis is logarithmic, are left out; the line connects the points around them.
  std::vector<double> x, y;
  int colour = 0;       ///< (0: the next; 1..8: that of the palette, for curves that belong together) [=0]
  bool dashed = false;  ///< of kBold: a dashed line, for the second of two curves of one colour [=false]
};

/// A part of an axis: least < greatest; positive where the axis is logarithmic.
struct PlotRange {
  double least, greatest;
};

/// A low box below a plot, over the same x, with a y axis and looks of its own; titles of its curves do not count.
struct PlotStrip {
  std::string label;  ///< of its y axis
  std::vector<Curve> curves;
  int y_log = 0;  ///< (0: linear; 2, 10: base of a logarithmic axis) [=0]
};

/// In texts 10^-4, 2^k and n^2 become powers as they are printed: a number or one letter, raised.
struct Plot {
  std::string title, subtitle;
  std::string x_label, y_label;
  std::vector<Curve> curves;  ///< drawn in this order, the later ones on top
  /// A second box below, over the same x: as many curves as above, each in the look of the one in its place; titles and
  /// styles of their own do not count, y is linear [=none].
  std::vector<Curve> panel;
  std::string panel_label;                    ///< of its y axis
  std::optional<PlotRange> panel_range;       ///< the visible part of its y axis [=all]
  std::vector<PlotStrip> strips;              ///< further boxes below, from the top; not beside a panel [=none]
  int x_log = 0, y_log = 0;                   ///< (0: linear; 2, 10: base of a logarithmic axis) [=0]
  std::optional<PlotRange> x_range, y_range;  ///< the visible part of an axis [=all]
  bool equal_aspect = false;                  ///< a unit of x is as long as a unit of y: circles stay round
};

/// A check before a long run. Throws std::invalid_argument unless write_plot knows the file's ending, and
/// std::runtime_error unless its folder exists and can be written to, and gnuplot is on PATH.
void check_plot_file(const std::filesystem::path& file);

/// Whether gnuplot can be run.
bool plots_can_be_drawn();

/// Draws `plot` into `file`, in the format of its ending (.svg, .png or .pdf). The file appears complete or not at all.
/// An .svg can be read back: its last element <metadata> is JSON, {"x": {"least", "greatest", "log"}, "y": the same,
/// "box": {"left", "right", "top", "bottom"}}, the box in the units of its coordinates; curve i is the element whose id
/// is gnuplot_plot_<i + 1>, those of the panel or of the strips follow; the axes are those of the upper box.
/// Throws std::invalid_argument for another ending, a curve whose x and y differ in length, an empty range, bars on a
/// logarithmic x axis, strips beside a panel, and std::runtime_error where the file cannot be written, or gnuplot is
/// missing or fails; the message says which, with gnuplot's own words.
void write_plot(const Plot& plot, const std::filesystem::path& file);

/// The text of such an .svg. Throws as write_plot.
std::string svg_of(const Plot& plot);

}  // namespace softamp
