// Operations that move elements. Their axes, sizes and shapes are inputs there and attributes here, so they have to be
// known.
#include <algorithm>

#include "softamp/graph/operation.h"
#include "src/precision/graph_def/import.h"

namespace softamp::graph_def_detail {
namespace {

using Ints = std::vector<int64_t>;

void reshape(NodeImport& n) {
  n.expect_inputs(2);
  n.add("Reshape", {n.port(0)}, {{"shape", n.ints(1, "the shape")}});
}

void expand_dims(NodeImport& n) {
  n.expect_inputs(2);
  n.add("ExpandDims", {n.port(0)}, {{"axis", n.one_int(1, "the axis")}});
}

void squeeze(NodeImport& n) {
  n.expect_inputs(1);
  n.add("Squeeze", {n.port(0)}, {{"squeeze_dims", n.list("squeeze_dims")}});
}

void transpose(NodeImport& n) {
  n.expect_inputs(2);
  n.add("Transpose", {n.port(0)}, {{"perm", n.ints(1, "the permutation")}});
}

void concat(NodeImport& n, size_t first, size_t axis) {
  if (n.inputs.size() < 2) n.expect_inputs(2);
  n.add("ConcatV2", n.ports(first, n.inputs.size() - 1), {{"axis", n.one_int(axis, "the axis")}});
}
void concat_v1(NodeImport& n) { concat(n, 1, 0); }
void concat_v2(NodeImport& n) { concat(n, 0, n.inputs.size() - 1); }

void pack(NodeImport& n) { n.add("Pack", n.ports(0, n.inputs.size()), {{"axis", n.integer("axis", 0)}}); }

void unpack(NodeImport& n) {
  n.expect_inputs(1);
  n.set_all(n.add("Unpack", {n.port(0)}, {{"num", n.integer("num", 0)}, {"axis", n.integer("axis", 0)}}));
}

void split(NodeImport& n) {
  n.expect_inputs(2);
  n.set_all(
      n.add("Split", {n.port(1)}, {{"num_split", n.integer("num_split", 0)}, {"axis", n.one_int(0, "the axis")}}));
}

void split_v(NodeImport& n) {
  n.expect_inputs(3);
  Ints sizes = n.ints(1, "the sizes");
  const int64_t axis = n.one_int(2, "the axis");
  const Shape shape = n.type(0).shape;
  const int64_t at = axis < 0 ? axis + shape.rank() : axis;
  int64_t rest = at >= 0 && at < shape.rank() ? shape[static_cast<int>(at)] : 0;
  // Sizes that 64 bits do not hold together are refused as those that do not fit.
  for (const int64_t s : sizes) (void)__builtin_sub_overflow(rest, s == -1 ? int64_t{0} : s, &rest);
  for (int64_t& s : sizes)
    if (s == -1) s = std::max<int64_t>(rest, 0);
  n.set_all(n.add("SplitV", {n.port(0)}, {{"size_splits", sizes}, {"axis", axis}}));
}

void pad(NodeImport& n) {
  const bool valued = n.node.op() == "PadV2";
  n.expect_inputs(valued ? 3 : 2);
  n.add(
      "Pad", {n.port(0)},
      {{"paddings", n.ints(1, "the paddings")}, {"constant_value", valued ? n.number(2, "the value around it") : 0.0}});
}

void slice(NodeImport& n) {
  n.expect_inputs(3);
  n.add("Slice", {n.port(0)}, {{"begin", n.ints(1, "begin")}, {"size", n.ints(2, "size")}});
}

/// Ellipses are written out, and new axes are a reshape behind.
void strided_slice(NodeImport& n) {
  n.expect_inputs(4);
  const Ints begin = n.ints(1, "begin"), end = n.ints(2, "end"), strides = n.ints(3, "strides");
  const Shape in = n.type(0).shape;
  const size_t given = begin.size();
  if (given > 31 || end.size() != given || strides.size() != given)
    n.fail("begin, end and strides have " + std::to_string(given) + ", " + std::to_string(end.size()) + " and " +
           std::to_string(strides.size()) + " numbers; expected the same, at most 31");
  const int64_t ellipsis = n.integer("ellipsis_mask", 0), fresh = n.integer("new_axis_mask", 0);
  int64_t taken = 0;  // axes of the input that the entries stand for
  for (size_t i = 0; i < given; ++i) taken += !(ellipsis >> i & 1) && !(fresh >> i & 1);
  if (taken > in.rank()) n.fail(std::to_string(taken) + " axes of shape " + in.text());
  Ints b, e, s;
  int64_t begin_mask = 0, end_mask = 0, shrink = 0;
  std::vector<int> places;  // of the result before the reshape: -1 a new axis, else an axis of the input
  const auto whole = [&](int64_t axis) {
    begin_mask |= int64_t{1} << axis;
    end_mask |= int64_t{1} << axis;
    b.push_back(0), e.push_back(0), s.push_back(1);
    places.push_back(static_cast<int>(axis));
  };
  for (size_t i = 0; i < given; ++i) {
    const auto axis = static_cast<int64_t>(b.size());
    if (ellipsis >> i & 1) {
      for (int64_t a = 0; a < in.rank() - taken; ++a) whole(axis + a);
      continue;
    }
    if (fresh >> i & 1) {
      places.push_back(-1);
      continue;
    }
    b.push_back(begin[i]), e.push_back(end[i]), s.push_back(strides[i]);
    begin_mask |= (n.integer("begin_mask", 0) >> i & 1) << axis;
    end_mask |= (n.integer("end_mask", 0) >> i & 1) << axis;
    const int64_t shrinks = n.integer("shrink_axis_mask", 0) >> i & 1;
    shrink |= shrinks << axis;
    if (!shrinks) places.push_back(static_cast<int>(axis));
  }
  for (int axis = static_cast<int>(b.size()); axis < in.rank(); ++axis) places.push_back(axis);
  const Attributes attributes{{"begin", b},           {"end", e},
                              {"strides", s},         {"begin_mask", begin_mask},
                              {"end_mask", end_mask}, {"shrink_axis_mask", shrink}};
  if (fresh == 0) {
    n.add("StridedSlice", {n.port(0)}, attributes);
    return;
  }
  const Port sliced = n.helper("sliced", "StridedSlice", {n.port(0)}, attributes);
  const Shape out = n.importer.type(sliced).shape;
  Ints extents;
  int next = 0;
  for (const int place : places) extents.push_back(place < 0 ? 1 : out[next++]);
  n.add("Reshape", {sliced}, {{"shape", extents}});
}

/// Zeros around the gradient. Of steps other than 1, new axes and ellipses there is none here.
void strided_slice_grad(NodeImport& n) {
  n.expect_inputs(5);
  const Shape shape = n.shape_from(0, "the shape");
  const Ints begin = n.ints(1, "begin"), end = n.ints(2, "end"), strides = n.ints(3, "strides");
  const auto rank = static_cast<size_t>(shape.rank());
  if (begin.size() > rank || end.size() != begin.size() || strides.size() != begin.size())
    n.fail("begin, end and strides do not fit shape " + shape.text());
  if ((n.integer("ellipsis_mask", 0) | n.integer("new_axis_mask", 0)) != 0)
    n.fail("an ellipsis or a new axis; expected axes of the input alone");
  Ints extents, paddings;
  for (size_t a = 0; a < rank; ++a) {
    const int64_t size = shape[static_cast<int>(a)];
    int64_t from = 0, to = size;
    if (a < begin.size()) {
      const auto masked = [&](const char* mask) { return (n.integer(mask, 0) >> a & 1) != 0; };
      const auto place = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + size : p, 0, size); };
      if (strides[a] != 1) n.fail("stride " + std::to_string(strides[a]) + "; expected 1");
      if (!masked("begin_mask") || masked("shrink_axis_mask")) from = place(begin[a]);
      if (masked("shrink_axis_mask"))
        to = std::min(from + 1, size);
      else if (!masked("end_mask"))
        to = std::max(place(end[a]), from);
    }
    extents.push_back(to - from);
    paddings.insert(paddings.end(), {from, size - to});
  }
  n.add("Pad", {n.helper("places", "Reshape", {n.port(4)}, {{"shape", extents}})}, {{"paddings", paddings}});
}

void tile(NodeImport& n) {
  n.expect_inputs(2);
  n.add("Tile", {n.port(0)}, {{"multiples", n.ints(1, "the multiples")}});
}

/// x, in front of whose axes there are new ones of extent 1, repeated to the shape.
void broadcast_to(NodeImport& n, size_t input, const Shape& shape) {
  Port x = n.port(input);
  const Shape own = n.importer.type(x).shape;
  if (broadcast(own, shape) != shape) n.fail("shape " + own.text() + " is not broadcast to " + shape.text());
  Ints extents(static_cast<size_t>(shape.rank() - own.rank()), 1), multiples;
  extents.insert(extents.end(), own.begin(), own.end());
  for (int a = 0; a < shape.rank(); ++a)
    multiples.push_back(extents[static_cast<size_t>(a)] == shape[a] ? 1 : shape[a]);
  if (own.rank() != shape.rank()) x = n.helper("axes", "Reshape", {x}, {{"shape", extents}});
  n.add("Tile", {x}, {{"multiples", multiples}});
}

void broadcast_to(NodeImport& n) {
  n.expect_inputs(2);
  broadcast_to(n, 0, n.shape_from(1, "the shape"));
}

void fill(NodeImport& n) {
  n.expect_inputs(2);
  const Shape shape = n.shape_from(0, "the shape");
  if (n.is_known(1) && n.known(1).elements() == 1 && n.known(1).dtype() != DType::kInt64)
    n.add("Fill", {}, {{"dtype", n.type(1).dtype}, {"shape", shape}, {"value", n.number(1, "the value")}});
  else
    broadcast_to(n, 1, shape);
}

void gather(NodeImport& n, Port params) {
  if (n.integer("batch_dims", 0) != 0) n.fail("attribute 'batch_dims' is not 0; expected 0");
  n.add("GatherV2", {params, n.port(1)}, {{"axis", n.inputs.size() > 2 ? n.one_int(2, "the axis") : int64_t{0}}});
}
void gather(NodeImport& n) { gather(n, n.port(0)); }

void segment_sum(NodeImport& n) {
  n.expect_inputs(3);
  n.add("UnsortedSegmentSum", {n.port(0), n.port(1)}, {{"num_segments", n.one_int(2, "the number of segments")}});
}

void one_hot(NodeImport& n) {
  n.expect_inputs(4);
  n.add("OneHot", {n.port(0)},
        {{"depth", n.one_int(1, "the depth")},
         {"on_value", n.number(2, "the value at the index")},
         {"off_value", n.number(3, "the value elsewhere")},
         {"axis", n.integer("axis", -1)},
         {"dtype", n.type(2).dtype}});
}

void reverse(NodeImport& n) {
  n.expect_inputs(2);
  const Shape in = n.type(0).shape;
  Ints strides(static_cast<size_t>(in.rank()), 1);
  for (const int64_t a : n.ints(1, "the axes")) {
    const int64_t axis = a < 0 ? a + in.rank() : a;
    if (axis < 0 || axis >= in.rank()) n.fail("axis " + std::to_string(a) + " of shape " + in.text());
    strides[static_cast<size_t>(axis)] = -1;
  }
  const int64_t mask = (int64_t{1} << in.rank()) - 1;
  const Ints zeros(strides.size(), 0);
  n.add("StridedSlice", {n.port(0)},
        {{"begin", zeros}, {"end", zeros}, {"strides", strides}, {"begin_mask", mask}, {"end_mask", mask}});
}

// ---- what is known of a shape

DType out_type(const NodeImport& n) {
  return n.element("out_type", false) == ElementType::kInt64 ? DType::kInt64 : DType::kInt32;
}

void shape(NodeImport& n) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Shape s = n.type(i).shape;
    n.set_known(i, tensor_of(out_type(n), Shape{s.rank()}, s.extents()));
  }
}

void size(NodeImport& n) {
  n.expect_inputs(1);
  n.set_known(0, tensor_of(out_type(n), Shape{}, Ints{n.type(0).shape.elements()}));
}

void rank(NodeImport& n) {
  n.expect_inputs(1);
  n.set_known(0, tensor_of(DType::kInt32, Shape{}, Ints{n.type(0).shape.rank()}));
}

void concat_offset(NodeImport& n) {
  const int64_t axis = n.one_int(0, "the axis");
  int64_t offset = 0;
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const Shape s = n.shape_from(i, "a shape");
    const int64_t at = axis < 0 ? axis + s.rank() : axis;
    if (at < 0 || at >= s.rank()) n.fail("axis " + std::to_string(axis) + " of shape " + s.text());
    Ints begin(static_cast<size_t>(s.rank()), 0);
    begin[static_cast<size_t>(at)] = offset;
    offset += s[static_cast<int>(at)];
    n.set_known(i - 1, tensor_of(DType::kInt32, Shape{s.rank()}, begin));
  }
}

/// Of a run with known integers alone; import_fold.cpp settles it there.
void only_known(NodeImport& n) {
  for (size_t i = 0; i < n.inputs.size(); ++i) n.ints(i, "an operand");
  n.fail("its operands are of a form that is not settled before the graph runs");
}

}  // namespace

void add_structure_translations(Translations& all) {
  all["Reshape"] = {reshape};
  all["ExpandDims"] = {expand_dims};
  all["Squeeze"] = {squeeze};
  all["Transpose"] = {transpose};
  all["Concat"] = {concat_v1};
  all["ConcatV2"] = {concat_v2};
  all["Pack"] = {pack};
  all["Unpack"] = {unpack};
  all["Split"] = {split};
  all["SplitV"] = {split_v};
  all["Pad"] = all["PadV2"] = {pad};
  all["Slice"] = {slice};
  all["StridedSlice"] = {strided_slice};
  all["StridedSliceGrad"] = {strided_slice_grad};
  all["Tile"] = {tile};
  all["BroadcastTo"] = {broadcast_to};
  all["Fill"] = {fill};
  all["Gather"] = all["GatherV2"] = all["ResourceGather"] = {gather};
  all["UnsortedSegmentSum"] = {segment_sum};
  all["OneHot"] = {one_hot};
  all["ReverseV2"] = {reverse};
  all["Shape"] = all["ShapeN"] = all["VariableShape"] = {shape};
  all["Size"] = {size};
  all["Rank"] = {rank};
  all["ConcatOffset"] = {concat_offset};
  for (const std::string_view op : words_of("Range InvertPermutation BroadcastArgs BroadcastGradientArgs FloorDiv "
                                            "FloorMod Prod All Any"))
    all[op] = {only_known};
}

}  // namespace softamp::graph_def_detail
