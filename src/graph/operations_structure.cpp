// Operations that move elements. Axes, paddings, sizes are attributes (not inputs, as in TensorFlow): all shapes are
// known when a graph is built. No copy raises a flag; UnsortedSegmentSum, the gradient of GatherV2, is the one sum
// here.
#include "src/graph/structure_inference.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;
using namespace graph_detail;

AttributeSpec integer(const char* name, const char* summary, std::optional<Attribute> value = {}) {
  return {name, kInt, std::move(value), summary, {}, {}};
}
AttributeSpec integers(const char* name, const char* summary, std::optional<Attribute> value = {}) {
  return {name, kInts, std::move(value), summary, {}, {}};
}
AttributeSpec number(const char* name, const char* summary, double value) {
  return {name, kFloat, Attribute(value), summary, {}, {}};
}

}  // namespace

std::vector<Operation> structure() {
  const AttributeSpec type{"T", kType, {}, "dtype of the elements", {}, {}};
  const std::vector<PortSpec> in{{"input", "T"}}, out{{"output", "T"}}, list{{"values", "T", true}},
      outs{{"output", "T", true}};
  const AttributeSpec axis = integer("axis", "from -rank");
  return {
      {"Reshape",
       "The elements in row-major order under another shape.",
       {{"tensor", "T"}},
       out,
       {type, integers("shape", "extents; one may be -1: it follows from the others")},
       1,
       infer_reshape,
       false},
      {"ExpandDims",
       "The same elements with one more axis of extent 1, at place `axis` of the output.",
       in,
       out,
       {type, integer("axis", "from -(rank + 1)")},
       1,
       infer_expand,
       false},
      {"Squeeze",
       "The same elements without axes of extent 1.",
       in,
       out,
       {type, integers("squeeze_dims", "which; []: all", std::vector<int64_t>{})},
       1,
       infer_squeeze,
       false},
      {"Transpose",
       "y[i_0, i_1, ...]: axis a of the output is axis perm[a] of the input.",
       {{"x", "T"}},
       {{"y", "T"}},
       {type, integers("perm", "a permutation of the axes")},
       1,
       infer_transpose,
       false},
      {"ConcatV2", "The inputs side by side along axis.", list, out, {type, axis}, 1, infer_concat, false},
      {"Pack",
       "The inputs side by side along a new axis.",
       list,
       out,
       {type, integer("axis", "from -(rank + 1)", int64_t{0})},
       1,
       infer_pack,
       false},
      {"Unpack",
       "Output i is the slice at place i of axis.",
       {{"value", "T"}},
       outs,
       {type, integer("num", "extent of the axis"), integer("axis", "from -rank", int64_t{0})},
       1,
       infer_unpack,
       false},
      {"Split",
       "num_split equal parts along axis.",
       {{"value", "T"}},
       outs,
       {type, integer("num_split", "number of parts"), axis},
       1,
       infer_split,
       false},
      {"SplitV",
       "Parts of the given sizes along axis.",
       {{"value", "T"}},
       outs,
       {type, integers("size_splits", "sizes; their sum is the extent"), axis},
       1,
       infer_split_v,
       false},
      {"Pad",
       "The input with constant_value around it.",
       in,
       out,
       {type, integers("paddings", "before and after axis 0, before and after axis 1, ..."),
        number("constant_value", "rounded to nearest even in T", 0)},
       1,
       infer_pad,
       false},
      {"Slice",
       "Along each axis a, size[a] places from begin[a] on.",
       in,
       out,
       {type, integers("begin", "from 0"), integers("size", "-1: to the end")},
       1,
       infer_slice,
       false},
      {"StridedSlice",
       "Python's begin:end:stride along the first axes.",
       in,
       out,
       {type, integers("begin", "negative: from the end"), integers("end", "negative: from the end"),
        integers("strides", "not 0"), integer("begin_mask", "bit a: begin[a] is not read", int64_t{0}),
        integer("end_mask", "bit a: end[a] is not read", int64_t{0}),
        integer("shrink_axis_mask", "bit a: only place begin[a], and the axis is left out", int64_t{0})},
       1,
       infer_strided_slice,
       false},
      {"Tile",
       "The input multiples[a] times along each axis a.",
       in,
       out,
       {type, integers("multiples", "from 0")},
       1,
       infer_tile,
       false},
      {"GatherV2",
       "The slices of params at the given indices along axis. An index outside the axis stops the run.",
       {{"params", "T"}, {"indices", "int32"}},
       out,
       {type, integer("axis", "from -rank", int64_t{0})},
       1,
       infer_gather,
       false},
      {"UnsortedSegmentSum",
       "output[s] = sum of data[p] over positions p with segment_ids[p] = s: p ascending from +0 in fp32, rounded "
       "once; int32 wraps. "
       "Negative ids are left out; an id from num_segments on stops the run.",
       {{"data", "T"}, {"segment_ids", "int32"}},
       out,
       {{"T",
         kType,
         {},
         "dtype of the elements",
         {},
         {DType::kBFloat16, DType::kFloat16, DType::kFloat32, DType::kInt32}},
        integer("num_segments", "extent of axis 0 of the output")},
       1,
       infer_segment_sum,
       false},
      {"OneHot",
       "on_value where the index along axis equals indices, off_value elsewhere.",
       {{"indices", "int32"}},
       {{"output", "dtype"}},
       {integer("depth", "extent of the new axis"),
        number("on_value", "rounded to nearest even in dtype", 1),
        number("off_value", "rounded to nearest even in dtype", 0),
        integer("axis", "of the output, from -(rank + 1)", int64_t{-1}),
        {"dtype", kType, Attribute(DType::kFloat32), "of the output", {}, {}}},
       1,
       infer_one_hot,
       false},
  };
}

}  // namespace softamp::operations_of
