// Attributes of the nodes that read indices from a tensor (GatherV2, OneHot, UnsortedSegmentSum), and the error for an
// index out of range.
#pragma once

#include <stdexcept>
#include <string>

#include "softamp/engine/op_kernel.h"
#include "softamp/engine/structure_maps.h"
#include "softamp/graph/operation.h"

namespace softamp::engine {

/// Throws std::out_of_range: "GatherV2 'emb': indices[3] = 17 is not in [0, 17)".
// implements: N303
[[noreturn]] inline void fail_index(const Node& node, const char* argument, int64_t position, int32_t index,
                                    const std::string& expected) {
  throw std::out_of_range(node.op + " '" + node.name + "': " + argument + "[" + std::to_string(position) +
                          "] = " + std::to_string(index) + " is not " + expected);
}

/// Output row (o, i) is the row (o, index[i]) of params: outer x extent rows become outer x indices.
// implements: N212
struct GatherNode {
  explicit GatherNode(const OpContext& c) : node(c.node), indices(c.inputs[1].shape.elements()) {
    const Shape& params = c.inputs[0].shape;
    const int axis = axis_of(c.node, params.rank());
    for (int a = 0; a < axis; ++a) outer *= params[a];
    extent = params[axis];
    row = size_of(c.inputs[0].dtype);
    for (int a = axis + 1; a < params.rank(); ++a) row *= static_cast<size_t>(params[a]);
  }

  bool valid(int32_t index) const { return index >= 0 && index < extent; }
  [[noreturn]] void fail(int64_t position, int32_t index) const {
    fail_index(node, "indices", position, index, "in [0, " + std::to_string(extent) + ")");
  }

  const Node& node;
  int64_t outer = 1, extent = 0, indices;
  size_t row = 0;  ///< bytes of what one index picks
};

/// Output (o, d, i) is `on` where index (o, i) is d, else `off`. An index outside [0, depth) sets no element, as in
/// TensorFlow.
// implements: N212
struct OneHotNode {
  explicit OneHotNode(const OpContext& c) : depth(attribute<int64_t>(c.node, "depth")) {
    const DType dtype = c.node.outputs[0].dtype;
    const Shape& places = c.inputs[0].shape;
    const int axis = axis_of(c.node, places.rank() + 1);
    for (int a = 0; a < places.rank(); ++a) (a < axis ? outer : inner) *= places[a];
    element = size_of(dtype);
    on = Tensor::full(dtype, {}, attribute<double>(c.node, "on_value")).code(0);
    off = Tensor::full(dtype, {}, attribute<double>(c.node, "off_value")).code(0);
  }

  int64_t depth, outer = 1, inner = 1;
  size_t element = 0;
  uint64_t on = 0, off = 0;
};

/// Positions, each with a segment and `columns` elements.
struct SegmentSumNode {
  explicit SegmentSumNode(const OpContext& c)
      : node(c.node),
        dtype(c.inputs[0].dtype),
        positions(c.inputs[1].shape.elements()),
        segments(attribute<int64_t>(c.node, "num_segments")) {
    for (int a = c.inputs[1].shape.rank(); a < c.inputs[0].shape.rank(); ++a) columns *= c.inputs[0].shape[a];
  }

  bool valid(int32_t id) const { return id < segments; }
  [[noreturn]] void fail(int64_t position, int32_t id) const {
    fail_index(node, "segment_ids", position, id, "below num_segments = " + std::to_string(segments));
  }
  OpKernel::SiteRoundings roundings(uint32_t site) const {
    if (site != 0 || dtype == DType::kInt32) return {};
    return {1, static_cast<uint64_t>(segments * columns)};
  }

  const Node& node;
  DType dtype;
  int64_t positions, segments, columns = 1;
};

}  // namespace softamp::engine
