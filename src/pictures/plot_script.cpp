#include "src/pictures/plot_script.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "src/numbers/decimal_text.h"
#include "src/text/joined.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

/// A gnuplot string in double quotes: whatever could mean something, now or in another version, by its octal number.
/// So is a digit behind one: gnuplot reads three digits of a number, but four where the first is 0.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  bool by_number = false;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool octal_digit = c >= '0' && c <= '7';
    const bool plain =
        std::isalnum(code) || code >= 0x80 || std::string_view(" .,:;()+-=/").find(c) != std::string_view::npos;
    by_number = !plain || (by_number && octal_digit);
    if (by_number)
      result += {'\\', static_cast<char>('0' + code / 64), static_cast<char>('0' + code / 8 % 8),
                 static_cast<char>('0' + code % 8)};
    else
      result += c;
  }
  return result + "\"";
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// How many characters after the '^' at `i` are its exponent: a whole number, or one letter; 0: it is no power.
size_t exponent_length(const std::string& text, size_t i) {
  if (i == 0 || !(is_word(text[i - 1]) || text[i - 1] == ')')) return 0;
  const size_t first = i + 1;
  size_t end = first;
  if (end < text.size() && text[end] == '-') ++end;
  const size_t digits = end;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  if (end == digits && end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  const bool whole_word = end > digits && (end == text.size() || !is_word(text[end]));
  return whole_word ? end - first : 0;
}

/// Literal text for gnuplot's enhanced mode, which has its own markup. Powers are raised.
std::string plain(const std::string& original) {
  // gnuplot breaks a run of more bytes than 1023, even within a character.
  constexpr size_t kLongestRun = 500;
  const std::string text = text_in_plot(original);
  std::string result;
  size_t run = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const size_t raised = c == '^' ? exponent_length(text, i) : 0) {
      result += "^{" + text.substr(i + 1, raised) + "}";
      i += raised;
      continue;
    }
    if (text.compare(i, 3, "\\U+") == 0) {  // the number of a character, whatever stands before it
      result += "\\\\{U}";
      ++i;
      continue;
    }
    if (text.compare(i, 3, "]]>") == 0) {  // which XML forbids, and gnuplot hands on
      result += "]]{>}";
      i += 2;
      continue;
    }
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // a character
    if (begins && run >= kLongestRun) {
      result += "{}";
      run = 0;
    }
    if (std::string_view("^_@&~{}\\").find(c) != std::string_view::npos) result += '\\';
    result += c;
    ++run;
  }
  return result;
}

/// The title, larger than other texts unless it is too long for that.
std::string large(const std::string& title) {
  constexpr size_t kLongest = 80;  // bytes
  return (title.size() > kLongest ? "{" : "{/*1.25 ") + plain(title) + "}";
}

/// All its digits.
std::string number(double value) { return significant_digits(value, 17); }

bool drawable(double value, int log) { return std::isfinite(value) && (log == 0 || value > 0); }

bool drawable(const Plot& plot, const Curve& curve, size_t i) {
  return drawable(curve.x[i], plot.x_log) && drawable(curve.y[i], plot.y_log);
}

struct Extent {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  void take(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  bool empty() const { return least > greatest; }
};

/// The width of a curve's bars: the distance of its two nearest points; 1 if it has fewer than two.
double bar_width(const Plot& plot, const Curve& curve) {
  std::vector<double> x;
  for (size_t i = 0; i < curve.x.size(); ++i)
    if (drawable(plot, curve, i)) x.push_back(curve.x[i]);
  std::sort(x.begin(), x.end());
  double width = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < x.size(); ++i)
    if (x[i] > x[i - 1]) width = std::min(width, x[i] - x[i - 1]);
  return std::isfinite(width) ? width : 1;
}

/// The ranges of both axes that the curves need.
struct Extents {
  Extent x, y;
  bool bars = false;

  explicit Extents(const Plot& plot) {
    for (const Curve& curve : plot.curves) {
      const bool bar = curve.style == CurveStyle::kBars;
      const double half = bar ? bar_width(plot, curve) / 2 : 0;
      bars |= bar;
      for (size_t i = 0; i < curve.x.size(); ++i) {
        if (!drawable(plot, curve, i)) continue;
        x.take(curve.x[i] - half);
        x.take(curve.x[i] + half);
        y.take(curve.y[i]);
        if (bar && plot.y_log == 0) y.take(0);
      }
    }
  }
};

/// For each curve, how many bold ones before it lie under it: at a third of its points or more they are closer than
/// lines are wide, a 250th of the axis.
std::vector<int> bold_ones_under(const Plot& plot) {
  const Extents extents(plot);
  const auto height = [&](double y) { return plot.y_log ? std::log(y) : y; };
  const PlotRange range = plot.y_range.value_or(PlotRange{extents.y.least, extents.y.greatest});
  const double width = (height(range.greatest) - height(range.least)) / 250;
  std::vector<int> under(plot.curves.size());
  for (size_t c = 0; c < plot.curves.size(); ++c)
    for (size_t below = 0; below < c && !extents.y.empty(); ++below) {
      const Curve &upper = plot.curves[c], &lower = plot.curves[below];
      if (upper.style != CurveStyle::kBold || lower.style != CurveStyle::kBold || upper.x != lower.x) continue;
      size_t drawn = 0, near = 0;
      for (size_t i = 0; i < upper.x.size(); ++i) {
        if (!drawable(plot, upper, i) || !drawable(plot, lower, i)) continue;
        ++drawn;
        near += std::abs(height(upper.y[i]) - height(lower.y[i])) <= width;
      }
      under[c] += near > 0 && near * 3 >= drawn;
    }
  return under;
}

/// The styles of curves, in order. The colours can be distinguished by colour-blind readers, too (Okabe and Ito; black
/// and a brown for the seventh and eighth, because their yellow is too light for lines). When they begin again, so does
/// another dash: no two curves of 32 have both alike.
class Looks {
 public:
  explicit Looks(const Plot& plot) {
    const auto some = [&](CurveStyle style) {
      return std::count_if(plot.curves.begin(), plot.curves.end(), [&](const Curve& c) { return c.style == style; });
    };
    several_ = some(CurveStyle::kBold) + some(CurveStyle::kPoints) > 1;
    bars_ = some(CurveStyle::kBars) > 0;
  }

  /// under: how many bold curves it would hide; it is dashed then, the more often the more there are.
  std::string next(const Curve& curve, size_t points, int under) {
    switch (curve.style) {
      case CurveStyle::kThin: return "lines linewidth 1 linecolor rgb '#703a7fc4'";
      case CurveStyle::kReference: return reference();
      case CurveStyle::kBars: return "boxes fillstyle solid 0.55 border linewidth 1 " + colour(curve);
      case CurveStyle::kPoints: {
        static constexpr const char* kFilled[] = {"7 ", "5 ", "9 ", "11 ", "13 "};
        const std::string size = points > 200 ? "0.35" : points > 60 ? "0.7" : "1.1";
        return "points pointsize " + size + " pointtype " + kFilled[coloured_ % std::size(kFilled)] + colour(curve);
      }
      case CurveStyle::kBold: break;
    }
    const std::string dash = curve.dashed ? " dashtype (8,5)"
                             : under > 0  ? " dashtype (" + std::to_string(std::max(10 - 3 * under, 2)) + ",8)"
                                          : round();
    if (!several_) return "lines linewidth 2.5" + dash + " linecolor rgb '#c8442b'";
    // A mark on each of many points would hide the line.
    const std::string interval = points > 40 ? " pointinterval " + std::to_string(points / 12) : "";
    return "linespoints linewidth 2" + dash + " pointsize 0.8" + interval + mark() + colour(curve);
  }

 private:
  std::string mark() const { return " pointtype " + std::to_string(4 + coloured_ % 10) + " "; }

  std::string round() const {
    static constexpr const char* kDashes[] = {"", " dashtype (6,2)", " dashtype (1.5,2)", " dashtype (9,2,1.5,2)"};
    return kDashes[coloured_ / std::size(kColours) % std::size(kDashes)];
  }

  std::string colour(const Curve& curve) {
    const size_t next = coloured_++;
    // A curve on blue bars is not light blue.
    const size_t which = curve.colour > 0 ? static_cast<size_t>(curve.colour - 1) : bars_ && next > 0 ? next + 1 : next;
    return std::string("linecolor rgb '") + kColours[which % std::size(kColours)] + "'";
  }

  std::string reference() {
    static constexpr const char* kDashes[] = {"(10,6) linecolor rgb '#1a1a1a'", "(3,4) linecolor rgb '#5a5a5a'",
                                              "(14,4,3,4) linecolor rgb '#7a7a7a'",
                                              "(8,3,2,3,2,3) linecolor rgb '#444444'"};
    return std::string("lines linewidth 1.8 dashtype ") + kDashes[references_++ % std::size(kDashes)];
  }

  static constexpr const char* kColours[] = {"#0072b2", "#56b4e9", "#009e73", "#d55e00",
                                             "#e69f00", "#cc79a7", "#000000", "#8c564b"};
  bool several_ = false, bars_ = false;
  size_t coloured_ = 0, references_ = 0;
};

/// Ticks at every value of a list, written as plain numbers.
std::string ticks_at(char axis, const std::vector<double>& values) {
  const auto tick = [](double value) { return quoted(significant_digits(value, 6)) + " " + number(value); };
  return std::string("set ") + axis + "tics (" + joined(values, ", ", tick) + ")\n";
}

/// 1, 2 or 5 times a power of ten: the least that is not below `rough`, which is positive.
double even_step(double rough) {
  const double ten = std::pow(10, std::floor(std::log10(rough)));
  return rough / ten > 5 ? 10 * ten : rough / ten > 2 ? 5 * ten : rough / ten > 1 ? 2 * ten : ten;
}

/// Powers of two, or 1, 2, 5 times powers of ten, within the range; even steps if that leaves fewer than three.
std::vector<double> ticks_of_narrow(int base, const PlotRange& range) {
  std::vector<double> values;
  const auto inside = [&](double v) { return v >= range.least && v <= range.greatest; };
  if (base == 2) {
    for (int e = std::ilogb(range.least); std::ldexp(1, e) <= range.greatest; ++e)
      if (const double v = std::ldexp(1, e); inside(v)) values.push_back(v);
    if (values.size() >= 3) return values;
    values.clear();
  }
  for (int e = static_cast<int>(std::floor(std::log10(range.least))); std::pow(10, e) <= range.greatest; ++e)
    for (const int digit : {1, 2, 5})
      if (const double v = digit * std::pow(10, e); inside(v)) values.push_back(v);
  if (values.size() >= 3) return values;
  const double step = even_step((range.greatest - range.least) / 4);
  values.clear();
  for (double k = std::ceil(range.least / step); k * step <= range.greatest; ++k) values.push_back(k * step);
  return values;
}

/// A logarithmic axis: its range, and ticks that can be read: numbers where all are short, else powers.
std::string log_axis(char axis, int base, const PlotRange& range) {
  const std::string name(1, axis), text = std::to_string(base);
  std::string script = "set logscale " + name + " " + text + "\n";
  if (range.greatest / range.least < 20) return script + ticks_at(axis, ticks_of_narrow(base, range));
  // Tiny numbers as powers, sizes as plain numbers.
  const bool extents = axis == 'x' && range.least > (base == 2 ? 0.02 : 0.0009) && range.greatest < 150000;
  if (!extents) script += "set format " + name + " '" + text + "^{%L}'\n";
  return script;
}

/// Ticks of a logarithmic axis that is a few lines high.
std::string strip_ticks(int base, const PlotRange& range) {
  const std::string text = std::to_string(base);
  const double width = std::log(range.greatest / range.least) / std::log(base);
  std::string script = "set logscale y " + text + "\n";
  if (base == 10 && width < 1.5) return script + ticks_at('y', ticks_of_narrow(base, range));
  // Every tick a power, at most five of them.
  const double step = std::pow(base, std::max(1.0, std::ceil(width / 5)));
  return script + "set ytics auto\nset ytics " + number(step) + "\nset format y '" + text + "^{%L}'\n";
}

/// The visible range of an axis; empty if gnuplot may choose.
std::optional<PlotRange> range_of(const std::optional<PlotRange>& asked, const Extent& extent, int log, bool margin) {
  if (asked) return asked;
  if (log == 0 || extent.empty()) return std::nullopt;
  const double ratio = extent.greatest / extent.least;
  // Without a margin the range is still widened by the rounding error of its text, so that a point on the border is not
  // cut off.
  constexpr double kHair = 1 + 1e-9;
  const double room = ratio > 1 ? (margin ? std::pow(ratio, 0.04) : kHair) : std::sqrt(static_cast<double>(log));
  return PlotRange{extent.least / room, extent.greatest * room};
}

std::string axes(const Plot& plot) {
  const Extents extents(plot);
  std::optional<PlotRange> x = range_of(plot.x_range, extents.x, plot.x_log, false);
  std::optional<PlotRange> y = range_of(plot.y_range, extents.y, plot.y_log, true);
  if (extents.bars && !extents.x.empty()) {
    // gnuplot's own choice would cut the first and the last bar in half, and the bars would not start at the axis.
    if (!x) x = {extents.x.least, extents.x.greatest};
    if (!y && extents.y.greatest > 0 && extents.y.least >= 0) y = {0, extents.y.greatest * 1.05};
  }
  std::string script;
  if (x) script += "set xrange [" + number(x->least) + ":" + number(x->greatest) + "]\n";
  if (y) script += "set yrange [" + number(y->least) + ":" + number(y->greatest) + "]\n";
  if (plot.x_log != 0 && x) script += log_axis('x', plot.x_log, *x);
  if (plot.y_log != 0 && y) script += log_axis('y', plot.y_log, *y);
  if (plot.y_log == 0 && !y) script += "set offsets graph 0, graph 0, graph 0.05, graph 0.05\n";
  if (plot.equal_aspect) script += "set size ratio -1\n";
  return script;
}

/// The position of the legend: never on the curves.
std::string legend(const Plot& plot) {
  size_t titled = 0, longest = 0;
  for (const Curve& curve : plot.curves) {
    titled += !curve.title.empty();
    longest = std::max(longest, curve.title.size());
  }
  // A long legend is beside the curves, or below them if its lines are long, too (unless the curves are square and
  // leave the side free); a short one is above them, on one line of equally wide columns.
  constexpr size_t kLong = 24, kLine = 110, kSample = 6;
  const std::string key = " Left reverse samplen 3 width 1 textcolor rgb '#333333'\n";
  if (titled > 4 || titled * (longest + kSample) > kLine)
    return std::string("set tmargin at screen 0.88\n") +
           (longest > kLong && !plot.equal_aspect
                ? "set rmargin 4\nset key outside below center vertical maxcols 2 height 0.6"
                : "set key outside right center vertical") +
           key;
  return "set tmargin at screen 0.82\nset rmargin 4\nset key at screen 0.5, 0.87 center horizontal" + key;
}

/// A box at these shares of the picture's height, as wide as every other.
std::string box_at(double upper, double lower) {
  return "set lmargin at screen 0.11\nset rmargin at screen 0.97\nset tmargin at screen " + number(upper) +
         "\nset bmargin at screen " + number(lower) + "\n";
}

/// Where the two boxes of a plot with a panel stand, as shares of the picture's height, and its legend: above the
/// curves if it fits on a line, else below everything.
struct PanelLayout {
  double top, middle, panel_top, panel_bottom;
  std::string legend;

  explicit PanelLayout(const Plot& plot) {
    size_t titled = 0, longest = 0;
    for (const Curve& curve : plot.curves) {
      titled += !curve.title.empty();
      longest = std::max(longest, curve.title.size());
    }
    constexpr size_t kLine = 100, kSample = 6;
    const bool above = titled * (longest + kSample) <= kLine;
    const size_t columns = 2 * (longest + kSample) <= kLine - 8 ? 2 : 1;
    const double below = above ? 0.0 : 0.028 * static_cast<double>((titled + columns - 1) / columns) + 0.02;
    top = above ? 0.83 : 0.88;
    panel_bottom = below + 0.1;
    panel_top = panel_bottom + 0.2;
    middle = panel_top + 0.05;
    legend = above ? "set key at screen 0.5, 0.875 center horizontal"
                   : "set key at screen 0.53, " + number(below - 0.01) + " center top horizontal maxcols " +
                         std::to_string(columns) + " height 0.3";
    legend += " Left reverse samplen 3 width 1 textcolor rgb '#333333'\n";
  }
};

/// Where the boxes of a plot with strips stand. The upper one is as high as that of a plot without.
struct StripLayout {
  int strips;

  double height() const { return kPlotHeight + double{kStripHeight} * strips; }
  /// The place of what stands at this share of a plot without strips, as far from the top.
  double at(double share) const { return 1 - (1 - share) * kPlotHeight / height(); }
  std::string legend() const {
    return "set key at screen 0.5, " + number(at(0.87)) +
           " center horizontal Left reverse samplen 3 width 1 textcolor rgb '#333333'\n";
  }
  std::string upper_box() const { return box_at(at(0.82), (kFoot + double{kStripHeight} * strips) / height()); }
  double middle_of(int strip) const {
    return (kFoot + kStripHeight * (strips - 1 - strip + 0.5) - kGap / 2) / height();
  }
  std::string box(int strip) const {
    const double bottom = kFoot + double{kStripHeight} * (strips - 1 - strip);
    return box_at((bottom + kStripHeight - kGap) / height(), bottom / height());
  }

 private:
  static constexpr double kFoot = 62, kGap = 26;  ///< below the last box; between two
};

std::string data(const Plot& plot, const Curve& curve, const std::string& name) {
  std::string text = "$" + name + " << END\n";
  for (size_t i = 0; i < curve.x.size(); ++i)
    if (drawable(plot, curve, i)) text += number(curve.x[i]) + " " + number(curve.y[i]) + "\n";
  return text + "END\n";
}

/// The data of these curves, and the command that draws them. One without a point to draw is a line of the legend.
std::string plot_command(const Plot& plot, const std::vector<Curve>& curves, const std::vector<std::string>& styles,
                         const std::string& name, bool titled) {
  std::string blocks, list;
  for (size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    const std::string block = name + std::to_string(i);
    bool any = false;
    for (size_t p = 0; p < curve.x.size(); ++p) any |= drawable(plot, curve, p);
    list += i ? ", " : "";
    if (any) {
      blocks += data(plot, curve, block);
      list += "$" + block;
      if (curve.style == CurveStyle::kBars) list += " using 1:2:(" + number(bar_width(plot, curve)) + ")";
    } else {
      list += "NaN";
    }
    list +=
        " with " + styles[i] + (curve.title.empty() || !titled ? " notitle" : " title " + quoted(plain(curve.title)));
  }
  return blocks + "plot " + list + "\n";
}

/// The boxes below the upper one, whose x axis they have.
std::string strip_commands(const Plot& plot, const StripLayout& layout) {
  std::string script = "unset key\nunset label\nset xrange [GPVAL_X_MIN:GPVAL_X_MAX]\n";
  for (size_t s = 0; s < plot.strips.size(); ++s) {
    const PlotStrip& strip = plot.strips[s];
    Plot box;
    box.curves = strip.curves;
    box.x_log = plot.x_log;
    box.y_log = strip.y_log;
    const Extents extents(box);
    script += "unset logscale y\nset format y '%h'\nset offsets 0, 0, 0, 0\n" + layout.box(static_cast<int>(s));
    if (strip.y_log != 0 && !extents.y.empty()) {
      const PlotRange y = *range_of(std::nullopt, extents.y, strip.y_log, true);
      script += "set yrange [" + number(y.least) + ":" + number(y.greatest) + "]\n" + strip_ticks(strip.y_log, y);
    } else if (extents.y.empty()) {
      script += "unset ytics\nset yrange [0:1]\n";  // gnuplot refuses a box without a point
    } else {
      // At most five ticks, where gnuplot would have ten.
      const double extent = extents.y.greatest - extents.y.least;
      script += "set ytics " + (extent > 0 ? number(even_step(extent / 4)) : "auto") +
                "\nset yrange [*:*]\nset offsets graph 0, graph 0, graph 0.08, graph 0.08\n";
    }
    if (s + 1 == plot.strips.size()) script += "set format x '%h'\nset xlabel " + quoted(plain(plot.x_label)) + "\n";
    // At a place of its own: gnuplot leaves out a label that wide ticks push out of the picture.
    script += "unset ylabel\nset label 3 " + quoted(plain(strip.label)) + " at screen 0.015, " +
              number(layout.middle_of(static_cast<int>(s))) + " rotate by 90 center\n";
    Looks looks(box);
    std::vector<std::string> styles;
    for (const Curve& curve : strip.curves) styles.push_back(looks.next(curve, curve.x.size(), 0));
    script += plot_command(box, strip.curves, styles, "strip" + std::to_string(s) + "curve", false);
  }
  return script + "unset multiplot\n";
}

}  // namespace

std::string text_in_plot(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  return files::printable(text);
}

void check_plot(const Plot& plot) {
  std::vector<const std::vector<Curve>*> boxes{&plot.curves, &plot.panel};
  for (const PlotStrip& strip : plot.strips) boxes.push_back(&strip.curves);
  for (const std::vector<Curve>* curves : boxes)
    for (const Curve& curve : *curves)
      if (curve.x.size() != curve.y.size())
        throw std::invalid_argument("plot curve '" + files::printable(curve.title) +
                                    "': " + std::to_string(curve.x.size()) + " x but " +
                                    std::to_string(curve.y.size()) + " y values");
  for (const Curve& curve : plot.curves) {
    const std::string place = "plot curve '" + files::printable(curve.title) + "': ";
    if (curve.style == CurveStyle::kBars && plot.x_log != 0)
      throw std::invalid_argument(place + "bars on a logarithmic x axis; expected a linear one");
  }
  const auto check = [](const char* name, const std::optional<PlotRange>& range, int log) {
    if (range && !(drawable(range->least, log) && drawable(range->greatest, log) && range->least < range->greatest))
      throw std::invalid_argument(std::string("plot: ") + name + " " + significant_digits(range->least, 6) + ":" +
                                  significant_digits(range->greatest, 6) + ": expected least < greatest" +
                                  (log != 0 ? ", both positive on a logarithmic axis" : ""));
  };
  check("x_range", plot.x_range, plot.x_log);
  check("y_range", plot.y_range, plot.y_log);
  check("panel_range", plot.panel_range, 0);
  if (!plot.panel.empty() && plot.panel.size() != plot.curves.size())
    throw std::invalid_argument("plot: a panel of " + std::to_string(plot.panel.size()) + " curves; expected " +
                                std::to_string(plot.curves.size()) + ", one for each curve above");
  if (!plot.panel.empty() && !plot.strips.empty())
    throw std::invalid_argument("plot: a panel and " + std::to_string(plot.strips.size()) +
                                " strips; expected one of them");
}

std::string plot_script(const Plot& plot, const std::string& terminal) {
  std::string script = terminal + R"(
set encoding utf8
set border 3 linecolor rgb '#888888'
set tics nomirror out textcolor rgb '#333333'
set grid linetype 1 linecolor rgb '#e2e2e2' linewidth 0.8
set format '%h'
set autoscale xfix
set autoscale yfix
)";
  const bool panel = !plot.panel.empty(), strips = !plot.strips.empty();
  const PanelLayout layout(plot);
  const StripLayout strip_layout{static_cast<int>(plot.strips.size())};
  if (strips)
    script += "set multiplot\n" + strip_layout.upper_box() + strip_layout.legend() + axes(plot);
  else if (panel)
    script += "set multiplot\n" + box_at(layout.top, layout.middle) + layout.legend + axes(plot);
  else
    script += legend(plot) + axes(plot);
  // Title, subtitle, legend and curves each have their own band of the plot.
  const double title = strips ? strip_layout.at(0.955) : 0.955, subtitle = strips ? strip_layout.at(0.915) : 0.915;
  script += "set label 1 " + quoted(large(plot.title)) + " at screen 0.5, " + number(title) + " center\n";
  script += "set label 2 " + quoted(plain(plot.subtitle)) + " at screen 0.5, " + number(subtitle) +
            " center textcolor rgb '#555555'\n";
  script += (panel || strips ? "set format x ''\n" : "set xlabel " + quoted(plain(plot.x_label)) + "\n") +
            "set ylabel " + quoted(plain(plot.y_label)) + "\n";
  Looks looks(plot);
  std::vector<std::string> styles;
  const std::vector<int> under = bold_ones_under(plot);
  for (size_t i = 0; i < plot.curves.size(); ++i)
    styles.push_back(looks.next(plot.curves[i], plot.curves[i].x.size(), under[i]));
  script += plot_command(plot, plot.curves, styles, "curve", true);
  script += std::string("print sprintf('") + kPlotAxesLine +
            " %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g', GPVAL_X_MIN, GPVAL_X_MAX, GPVAL_Y_MIN, GPVAL_Y_MAX, "
            "GPVAL_TERM_XMIN, GPVAL_TERM_XMAX, GPVAL_TERM_YMIN, GPVAL_TERM_YMAX)\n";
  if (strips) return script + strip_commands(plot, strip_layout);
  if (!panel) return script;
  Plot lower = plot;
  lower.y_log = 0;
  script +=
      "unset key\nunset label\nset xrange [GPVAL_X_MIN:GPVAL_X_MAX]\nunset logscale y\nset ytics auto\nset format "
      "'%h'\n" +
      (plot.panel_range ? "set offsets 0, 0, 0, 0\nset yrange [" + number(plot.panel_range->least) + ":" +
                              number(plot.panel_range->greatest) + "]\n"
                        : "set offsets graph 0, graph 0, graph 0.08, graph 0.08\nset yrange [*:*]\n") +
      box_at(layout.panel_top, layout.panel_bottom) + "set xlabel " + quoted(plain(plot.x_label)) + "\nset ylabel " +
      quoted(plain(plot.panel_label)) + "\n" + plot_command(lower, plot.panel, styles, "panel", false);
  return script + "unset multiplot\n";
}

}  // namespace softamp
