// Reads the curves of a plot back from its .svg file, and holds them against what was to be drawn.
//
// Tolerance. gnuplot's coordinates are whole hundredths of the picture's unit, a point's rounded to nearest from the
// exact place between the corners of the box, themselves whole hundredths; and they are written with two decimals. So a
// point stands within half a hundredth of its place, and a bar, whose width in hundredths is rounded down, within two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/pictures/plot.h"

namespace softamp::test {

struct SvgPoint {
  double x, y;
};

/// What a plot's .svg holds: the points of each curve, in the coordinates of the picture.
class SvgPlot {
 public:
  explicit SvgPlot(const std::string& svg) : svg_(svg) {
    const std::string open = "<metadata>", close = "</metadata>";
    const size_t from = svg.find(open), to = svg.find(close);
    if (from != std::string::npos && to != std::string::npos)
      axes = nlohmann::json::parse(svg.substr(from + open.size(), to - from - open.size()));
  }

  nlohmann::json axes;  ///< see write_plot; null where there are none

  /// Where a point of the data stands. Defined for points that the axes show.
  SvgPoint place(double x, double y) const {
    const auto share = [&](const char* name, double value) {
      const nlohmann::json& axis = axes.at(name);
      double least = axis.at("least"), greatest = axis.at("greatest");
      if (axis.at("log") != 0) {
        value = std::log(value);
        least = std::log(least);
        greatest = std::log(greatest);
      }
      return (value - least) / (greatest - least);
    };
    const double left = axes["box"]["left"], right = axes["box"]["right"];
    const double top = axes["box"]["top"], bottom = axes["box"]["bottom"];
    return {left + share("x", x) * (right - left), bottom + share("y", y) * (top - bottom)};
  }

  bool inside(const SvgPoint& p, double room) const {
    return p.x > axes["box"]["left"].get<double>() - room && p.x < axes["box"]["right"].get<double>() + room &&
           p.y > axes["box"]["top"].get<double>() - room && p.y < axes["box"]["bottom"].get<double>() + room;
  }

  /// The corners of the lines and the places of the marks of curve i; what stands in the legend is outside the box.
  std::vector<SvgPoint> points(size_t i) const {
    std::vector<SvgPoint> found;
    for (const auto& path : paths(i)) found.insert(found.end(), path.begin(), path.end());
    const std::string_view group = group_of(i);
    const std::string_view mark = "transform='translate(";
    for (size_t at = group.find(mark); at != std::string_view::npos; at = group.find(mark, at + 1))
      found.push_back(pair_at(group, at + mark.size()));
    std::erase_if(found, [&](const SvgPoint& p) { return !inside(p, 0.02); });
    return found;
  }

  /// Of each bar of curve i the middle of its end.
  std::vector<SvgPoint> bars(size_t i) const {
    std::vector<SvgPoint> found;
    for (const auto& path : paths(i)) {
      const auto by_x = [](const SvgPoint& a, const SvgPoint& b) { return a.x < b.x; };
      const auto by_y = [](const SvgPoint& a, const SvgPoint& b) { return a.y < b.y; };
      const auto [left, right] = std::minmax_element(path.begin(), path.end(), by_x);
      const SvgPoint end{(left->x + right->x) / 2, std::min_element(path.begin(), path.end(), by_y)->y};
      if (inside(end, 0.02)) found.push_back(end);
    }
    return found;
  }

 private:
  /// The element of curve i, by the nesting of <g>.
  std::string_view group_of(size_t i) const {
    const std::string_view svg = svg_;
    const size_t from = svg.find("<g id=\"gnuplot_plot_" + std::to_string(i + 1) + "\"");
    if (from == std::string_view::npos) return {};
    int depth = 0;
    for (size_t at = from; at != std::string_view::npos; at = svg.find('<', at + 1)) {
      if (svg.substr(at, 2) == "<g" && (svg[at + 2] == ' ' || svg[at + 2] == '>')) ++depth;
      if (svg.substr(at, 4) == "</g>" && --depth == 0) return svg.substr(from, at - from);
    }
    return {};
  }

  SvgPoint pair_at(std::string_view text, size_t at) const {
    char* end = nullptr;
    const double x = std::strtod(text.data() + at, &end);  // svg_ ends with a zero byte
    const double y = std::strtod(end + 1, nullptr);
    return {x, y};
  }

  std::vector<std::vector<SvgPoint>> paths(size_t i) const {
    std::vector<std::vector<SvgPoint>> found;
    const std::string_view group = group_of(i);
    for (size_t at = group.find(" d='"); at != std::string_view::npos; at = group.find(" d='", at + 1)) {
      found.emplace_back();
      const size_t end = group.find('\'', at + 4);
      for (size_t c = at + 4; c < end; ++c)
        if (group[c] == 'M' || group[c] == 'L') found.back().push_back(pair_at(group, c + 1));
    }
    return found;
  }

  const std::string svg_;
};

/// Empty where every point of the plot that its axes can show stands in the picture, and nothing else does; else what
/// is wrong. A line that a given range cuts off ends on the border of the box.
inline std::string picture_differs(const Plot& plot, const SvgPlot& svg) {
  if (!svg.axes.is_object()) return "no axes in the picture";
  if (svg.axes["x"]["log"] != plot.x_log || svg.axes["y"]["log"] != plot.y_log) return "other kinds of axes";
  const bool cut = plot.x_range || plot.y_range;
  const double left = svg.axes["box"]["left"], right = svg.axes["box"]["right"];
  const double top = svg.axes["box"]["top"], bottom = svg.axes["box"]["bottom"];
  const auto cell = [](const SvgPoint& p) {
    return std::pair<long, long>(std::lround(p.x * 100), std::lround(p.y * 100));
  };
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve& curve = plot.curves[i];
    const bool bars = curve.style == CurveStyle::kBars;
    const double tolerance = bars ? 0.0201 : 0.0051;
    std::set<std::pair<long, long>> drawn, wanted;
    for (const SvgPoint& p : bars ? svg.bars(i) : svg.points(i)) drawn.insert(cell(p));
    const auto near = [&](const std::set<std::pair<long, long>>& some, const SvgPoint& p) {
      const auto [x, y] = cell(p);
      for (long dx = -3; dx <= 3; ++dx)
        for (long dy = -3; dy <= 3; ++dy)
          if (some.contains({x + dx, y + dy}) && std::abs(static_cast<double>(x + dx) / 100 - p.x) <= tolerance &&
              std::abs(static_cast<double>(y + dy) / 100 - p.y) <= tolerance)
            return true;
      return false;
    };
    const auto words = [&](const SvgPoint& p) {
      return "curve " + std::to_string(i) + " '" + curve.title + "': " + std::to_string(p.x) + ", " +
             std::to_string(p.y);
    };
    std::vector<SvgPoint> places;
    for (size_t k = 0; k < curve.x.size(); ++k) {
      if (!std::isfinite(curve.x[k]) || !std::isfinite(curve.y[k])) continue;
      if ((plot.x_log && curve.x[k] <= 0) || (plot.y_log && curve.y[k] <= 0)) continue;
      const SvgPoint p = svg.place(curve.x[k], curve.y[k]);
      if (cut && !svg.inside(p, 0.005)) continue;
      places.push_back(p);
      if (bars && bottom - p.y < 0.006) continue;  // a bar of no height: there is nothing to see
      if (!near(drawn, p)) return words(p) + " is not in the picture (point " + std::to_string(k) + ")";
    }
    // The other way round: each corner and mark is a point's. A corner is the nearest hundredth to one of `places`.
    for (const SvgPoint& p : places)
      for (long dx = -3; dx <= 3; ++dx)
        for (long dy = -3; dy <= 3; ++dy) {
          const auto [x, y] = cell(p);
          if (std::abs(static_cast<double>(x + dx) / 100 - p.x) <= tolerance &&
              std::abs(static_cast<double>(y + dy) / 100 - p.y) <= tolerance)
            wanted.insert({x + dx, y + dy});
        }
    for (const auto& [x, y] : drawn) {
      const SvgPoint p{static_cast<double>(x) / 100, static_cast<double>(y) / 100};
      const bool border = std::abs(p.x - left) < 0.011 || std::abs(p.x - right) < 0.011 ||
                          std::abs(p.y - top) < 0.011 || std::abs(p.y - bottom) < 0.011;
      if (!wanted.contains({x, y}) && !(cut && border)) return words(p) + " is in the picture but not in the plot";
    }
  }
  return {};
}

}  // namespace softamp::test
