// Line plots as SVG or PNG files, drawn by gnuplot, which runs as a program of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace softamp {

/// How a curve looks.
enum class CurveStyle {
  kThin,       ///< one of many: thin, half transparent, all of one colour; the first titled one stands in the legend
  kBold,       ///< the one that matters; several differ in colour and mark
  kReference,  ///< what the others are measured against: dashed, drawn on top
};

struct Curve {
  std::string title;  ///< empty: not in the legend
  CurveStyle style;
  std::vector<double> x, y;  ///< equally long; points that are not finite are left out
};

struct Plot {
  std::string title, subtitle;
  std::string x_label, y_label;
  std::vector<Curve> curves;
  int x_log = 0, y_log = 0;  ///< (0: linear; 2, 10: base of a logarithmic axis) [=0]
};

/// Asked before a long run. Throws std::invalid_argument unless the file's ending is one that write_plot knows, and
/// std::runtime_error unless its folder is there and can be written to.
void check_plot_file(const std::filesystem::path& file);

/// Draws `plot` into `file`, whose ending (.svg or .png) says the kind. The file appears complete or not at all.
/// Throws std::invalid_argument for another ending or a curve whose x and y differ in length, and std::runtime_error
/// where the file cannot be written, or gnuplot is missing or fails; the message says which, with gnuplot's own words.
void write_plot(const Plot& plot, const std::filesystem::path& file);

}  // namespace softamp
