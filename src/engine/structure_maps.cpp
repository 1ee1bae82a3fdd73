#include "softamp/engine/structure_maps.h"

#include "softamp/graph/operation.h"

namespace softamp::engine {
namespace {

using kernel::AxisMap;
using kernel::StructureMap;
using Ints = std::vector<int64_t>;

/// Every element of the output is the same element of the input.
StructureMap same(const Shape& in) {
  StructureMap map;
  map.rank = in.rank();
  int64_t stride = 1;
  for (int a = in.rank(); a-- > 0;) {
    map.axis[a] = {in[a], 0, 1, in[a], stride, false};
    stride *= in[a];
  }
  return map;
}

StructureMap with_axis(const Shape& in, int axis, int64_t extent, int64_t start) {
  StructureMap map = same(in);
  map.axis[axis].extent = extent;
  map.axis[axis].start = start;
  return map;
}

/// The input has no axis `axis`; it is place `place` of the output's.
StructureMap inserted(const Shape& in, int axis, int64_t extent, int64_t place) {
  const StructureMap plain = same(in);
  StructureMap map;
  map.rank = in.rank() + 1;
  for (int a = 0, from = 0; a < map.rank; ++a)
    map.axis[a] = a == axis ? AxisMap{extent, -place, 1, 1, 0, false} : plain.axis[from++];
  return map;
}

StructureMap strided(const Node& node, const Shape& in) {
  const Ints &begin = attribute<Ints>(node, "begin"), &end = attribute<Ints>(node, "end");
  const Ints& strides = attribute<Ints>(node, "strides");
  const int64_t begin_mask = attribute<int64_t>(node, "begin_mask"), end_mask = attribute<int64_t>(node, "end_mask");
  const int64_t shrink = attribute<int64_t>(node, "shrink_axis_mask");
  StructureMap map = same(in);
  for (size_t a = 0; a < begin.size(); ++a) {
    AxisMap& axis = map.axis[a];
    if (shrink >> a & 1) {
      axis.extent = 1;
      axis.start = begin[a] < 0 ? begin[a] + axis.bound : begin[a];
      continue;
    }
    const kernel::SliceRange range =
        kernel::strided_range(axis.bound, begin[a], end[a], strides[a], begin_mask >> a & 1, end_mask >> a & 1);
    axis.extent = range.count;
    axis.start = range.start;
    axis.step = range.step;
  }
  return map;
}

}  // namespace

StructureMaps structure_maps(const Node& node, std::span<const TensorType> inputs) {
  StructureMaps maps;
  const Shape& in = inputs[0].shape;
  const std::string& op = node.op;
  if (op == "Transpose") {
    const StructureMap plain = same(in);
    StructureMap map = plain;
    const Ints& perm = attribute<Ints>(node, "perm");
    for (size_t a = 0; a < perm.size(); ++a) map.axis[a] = plain.axis[perm[a]];
    maps.uses.push_back({0, 0, map});
  } else if (op == "ConcatV2") {
    const int axis = axis_of(node, in.rank());
    int64_t offset = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      maps.uses.push_back({i, 0, with_axis(inputs[i].shape, axis, node.outputs[0].shape[axis], -offset)});
      offset += inputs[i].shape[axis];
    }
  } else if (op == "Pack") {
    const int axis = axis_of(node, in.rank() + 1);
    for (size_t i = 0; i < inputs.size(); ++i)
      maps.uses.push_back({i, 0, inserted(in, axis, static_cast<int64_t>(inputs.size()), static_cast<int64_t>(i))});
  } else if (op == "Unpack") {
    const int axis = axis_of(node, in.rank());
    for (size_t i = 0; i < node.outputs.size(); ++i)
      maps.uses.push_back({0, i, with_axis(in, axis, 1, static_cast<int64_t>(i))});
  } else if (op == "Split" || op == "SplitV") {
    const int axis = axis_of(node, in.rank());
    int64_t offset = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int64_t extent = node.outputs[i].shape[axis];
      maps.uses.push_back({0, i, with_axis(in, axis, extent, offset)});
      offset += extent;
    }
  } else if (op == "Pad") {
    StructureMap map = same(in);
    const Ints& paddings = attribute<Ints>(node, "paddings");
    for (int a = 0; a < map.rank; ++a) {
      const size_t i = 2 * static_cast<size_t>(a);
      map.axis[a].start = -paddings[i];
      map.axis[a].extent = paddings[i] + in[a] + paddings[i + 1];
    }
    maps.uses.push_back({0, 0, map});
    maps.filled = true;
    maps.fill = Tensor::full(inputs[0].dtype, {}, attribute<double>(node, "constant_value")).code(0);
  } else if (op == "Slice") {
    StructureMap map = same(in);
    const Ints& begin = attribute<Ints>(node, "begin");
    for (int a = 0; a < map.rank; ++a) {
      map.axis[a].start = begin[static_cast<size_t>(a)];
      map.axis[a].extent = node.outputs[0].shape[a];
    }
    maps.uses.push_back({0, 0, map});
  } else if (op == "StridedSlice") {
    maps.uses.push_back({0, 0, strided(node, in)});
  } else {  // Tile
    StructureMap map = same(in);
    for (int a = 0; a < map.rank; ++a) {
      map.axis[a].extent = node.outputs[0].shape[a];
      map.axis[a].periodic = true;
    }
    maps.uses.push_back({0, 0, map});
  }
  return maps;
}

}  // namespace softamp::engine
