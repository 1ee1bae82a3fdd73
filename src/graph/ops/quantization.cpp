// Block formats in graphs. Meaning: kernel/quantization.h.
#include "softamp/names/block_format_names.h"
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;
using block::BlockFamily;
using block::BlockFormat;

BlockFormat format_of_attribute(InferenceContext& c) {
  try {
    return parse_block_format(c.get_string("format"));
  } catch (const std::invalid_argument& e) {
    c.fail("attribute 'format': " + std::string(e.what()));
  }
}

/// The axis from 0 on.
int64_t checked_axis(InferenceContext& c) {
  const int64_t axis = c.get_int("axis"), rank = c.shape(0).rank();
  if (axis < -rank || axis >= rank)
    c.fail("axis is " + std::to_string(axis) + " of an input " + c.shape(0).text() + "; expected " +
           std::to_string(-rank) + " .. " + std::to_string(rank - 1));
  return axis < 0 ? axis + rank : axis;
}

void need_scalar(InferenceContext& c, size_t input, const char* name) {
  if (c.shape(input).rank() != 0)
    c.fail("input '" + std::string(name) + "' is " + c.shape(input).text() + "; expected a scalar");
}

void infer_fake_quantize(InferenceContext& c) {
  const BlockFormat format = format_of_attribute(c);
  if (format.rows != 0 || format.size != 0) {
    const int64_t axis = checked_axis(c);
    if (format.rows > 1 && axis + 1 != c.shape(0).rank())
      c.fail("axis is " + std::to_string(axis) + " of an input " + c.shape(0).text() + "; tiles of " +
             std::to_string(format.rows) + " rows, as of " + block_format_text(format) +
             ", lie along the last axis, -1");
  }
  if (c.inputs() > 1) {
    need_scalar(c, 1, "factor");
    if (format.family != BlockFamily::kPlain)
      c.fail("there is a factor, and " + block_format_text(format) +
             " has scales of its own; expected a format without, such as e4m3");
  }
  c.output(0, c.shape(0));
}

/// Straight through: the quantised value stands for x itself.
// implements: N496
void straight_through(GradientContext& c) { c.set(0, c.arriving()); }

void infer_hadamard(InferenceContext& c) {
  const int64_t size = c.get_int("size");
  if (size < 1 || size > 4096 || (size & (size - 1)) != 0)
    c.fail("size is " + std::to_string(size) + "; expected a power of two from 1 to 4096");
  checked_axis(c);
  c.output(0, c.shape(0));
}

void infer_scale_update(InferenceContext& c) {
  const BlockFormat format = format_of_attribute(c);
  if (format.family != BlockFamily::kPlain || format.element.integer)
    c.fail("format is " + block_format_text(format) + "; expected a format without scales, such as e4m3");
  if (c.shape(0).rank() != 1 || c.shape(0)[0] < 1)
    c.fail("input 'amax_history' is " + c.shape(0).text() + "; expected a vector of at least one element");
  need_scalar(c, 1, "scale");
  need_scalar(c, 2, "amax");
  const int64_t margin = c.get_int("margin");
  if (margin < -64 || margin > 64) c.fail("margin is " + std::to_string(margin) + "; expected -64 .. 64");
  c.output(0, c.shape(0));
  c.output(1, c.shape(1));
}

AttributeSpec format(const char* summary) { return {"format", kString, {}, summary, {}, {}}; }
AttributeSpec axis() { return {"axis", kInt, int64_t{-1}, "along which blocks lie; from the end if negative", {}, {}}; }

}  // namespace

std::vector<Operation> quantization() {
  return {
      row("FakeQuantize",
          "x quantised in blocks along an axis, and back: the value that each element then has. With a factor: "
          "quantised elements of x factor, divided by it. The gradient goes straight through.",
          {{"x", "float32"}, {"factor", "float32", false, true}}, {{"y", "float32"}},
          {format("a block format: mxfp4:scale_rule=rceil, nvfp4, e4m3_1x128, ...; its rounding is its own"), axis()},
          infer_fake_quantize)
          .with(straight_through),
      row("HadamardTransform",
          "x H along an axis, in tiles of `size`, H[i, j] = s[i] (-1)^popcount(i and j) / sqrt(size): a sum in "
          "binary64, i ascending, rounded once; elements behind the last whole tile stay.",
          {{"x", "float32"}}, {{"y", "float32"}},
          {{"size", kInt, int64_t{16}, "of a tile, a power of two", {}, {}},
           {"signs", kInt, int64_t{0}, "bit i mod 64 is set where s[i] is -1", {}, {}},
           axis()},
          infer_hadamard),
      row("Fp8ScaleUpdate",
          "Delayed scaling: the history with amax in front, and the format's largest number times 2^-margin, divided "
          "by the greatest of the history; where that is 0 or infinite, scale.",
          {{"amax_history", "float32"}, {"scale", "float32"}, {"amax", "float32"}},
          {{"next_history", "float32"}, {"next_scale", "float32"}},
          {format("e4m3, e5m2, ...: whose largest number it is"),
           {"margin", kInt, int64_t{0}, "powers of two that are kept free", {}, {}},
           {"amax_compute_algo",
            kString,
            std::string("max"),
            "of the history, or its newest",
            {"max", "most_recent"},
            {}},
           {"zero_keeps_history", kBool, true, "an amax of 0 moves nothing", {}, {}}},
          infer_scale_update),
  };
}

}  // namespace softamp::operations_of
