// What gnuplot is told to draw a plot.
#pragma once

#include "softamp/report/plot.h"

#include <string>

namespace softamp {

/// What begins the line in which gnuplot tells the axes that it chose: x least, x greatest, y least, y greatest, then
/// the left, right, bottom and top of the picture's box, y counted from the foot.
inline constexpr const char* kPlotAxesLine = "softamp axes";

/// The whole script: `terminal` and what it draws into, looks, data, curves, and the line of the axes at the end.
std::string plot_script(const Plot& plot, const std::string& output, const std::string& terminal);

/// Throws std::invalid_argument for a plot that cannot be drawn: uneven curves, a range that is none, bars on a
/// logarithmic x axis.
void check_plot(const Plot& plot);

}  // namespace softamp
