// The gnuplot script of a plot.
#pragma once

#include "softamp/pictures/plot.h"

#include <string>

namespace softamp {

/// The beginning of the line in which gnuplot prints the axes that it chose: x least, x greatest, y least, y greatest,
/// then the left, right, bottom and top of the picture's box, y counted from the foot.
inline constexpr const char* kPlotAxesLine = "softamp axes";

/// Of the picture, in an .svg's units: without boxes below, and what each strip adds.
inline constexpr int kPlotHeight = 600, kStripHeight = 140;

/// A text as it is seen in the picture: on one line, with "\x1b" for what no picture can show.
std::string text_in_plot(std::string text);

/// The whole script: `terminal`, styles, data, curves, and the line of the axes at the end. The picture goes to
/// standard output, the axes to standard error. It names no file, and texts of the plot stand on one line, in quotes.
std::string plot_script(const Plot& plot, const std::string& terminal);

/// Throws std::invalid_argument for a plot that cannot be drawn: x and y of different lengths, an empty range, bars on
/// a logarithmic x axis, strips beside a panel.
void check_plot(const Plot& plot);

}  // namespace softamp
