// Sparse gradients as nodes: found in a graph of gradients, joined, summed.
#include "softamp/train/indexed_slices.h"

#include <algorithm>
#include <numeric>

#include "softamp/findings/tensor_text.h"

namespace softamp {
namespace {

bool exists(const Graph& graph, Port p) {
  return p.node >= 0 && p.node < graph.size() && p.port >= 0 &&
         static_cast<size_t>(p.port) < graph.node(p.node).outputs.size();
}

bool is_gradient(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16 || t == DType::kFloat32; }

Port reshape(GraphBuilder& b, Port x, const Shape& shape, const char* name) {
  if (b.type(x).shape == shape) return x;
  return b.add("Reshape", {x}, {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}}, name);
}

/// [first, extents of `shape` from axis `from` on]
Shape with_rows(int64_t first, const Shape& shape, int from) {
  std::vector<int64_t> extents{first};
  extents.insert(extents.end(), shape.begin() + from, shape.end());
  return Shape(extents);
}

/// Whether slices_of finds slices in this gradient.
bool is_sparse(const Graph& graph, Port gradient) {
  const Node& node = graph.node(gradient.node);
  if (node.op == "AddN")
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Port p) { return is_sparse(graph, p); });
  return node.op == "UnsortedSegmentSum" && is_gradient(graph.type(gradient).dtype);
}

/// The indices themselves, by way of an operation that stops a run at one that is no row.
Port checked_indices(GraphBuilder& b, const IndexedSlices& slices) {
  Tensor rows(DType::kInt32, Shape{slices.dense_shape[0]});
  const std::span<int32_t> numbers = rows.as<int32_t>();
  std::iota(numbers.begin(), numbers.end(), 0);
  return b.add("GatherV2", {b.constant(std::move(rows), "rows"), slices.indices}, {}, "slices");
}

}  // namespace

void check_slices(const GraphBuilder& b, const IndexedSlices& s, const std::string& whose) {
  const Graph& graph = b.graph();
  const std::string place = "the slices of " + whose + ": ";
  for (const auto& [port, what] : {std::pair(s.values, "values"), std::pair(s.indices, "indices")})
    if (!exists(graph, port)) throw GraphError(place + what + " is no output of the graph");
  if (s.dense_shape.rank() == 0) throw GraphError(place + "dense_shape is []; expected rank 1 at least");
  const auto fail = [&](const char* what, Port port, const std::string& expected) {
    throw GraphError(place + what + " is " + graph.port_name(port) + ", " + text_of(b.type(port)) + "; expected " +
                     expected);
  };
  const TensorType &values = b.type(s.values), &indices = b.type(s.indices);
  if (values.shape.rank() == 0 || !is_gradient(values.dtype) ||
      values.shape != with_rows(values.shape[0], s.dense_shape, 1)) {
    std::string shape = "[n";
    for (int a = 1; a < s.dense_shape.rank(); ++a) shape += "," + std::to_string(s.dense_shape[a]);
    fail("values", s.values, "float16, bfloat16 or float32 " + shape + "], rows of " + s.dense_shape.text());
  }
  if (indices != TensorType{DType::kInt32, {values.shape[0]}})
    fail("indices", s.indices, "int32 [" + std::to_string(values.shape[0]) + "], one to a row of the values");
}

std::optional<IndexedSlices> slices_of(GraphBuilder& b, Port gradient) {
  if (!exists(b.graph(), gradient)) throw GraphError("the gradient is no output of the graph");
  if (!is_sparse(b.graph(), gradient)) return std::nullopt;
  const Node node = b.graph().node(gradient.node);  // a copy: the builder moves its nodes as it grows
  if (node.op == "AddN") {
    std::vector<IndexedSlices> parts;
    for (const Port p : node.inputs) parts.push_back(*slices_of(b, p));
    return concatenate(b, parts);
  }
  const Shape data = b.type(node.inputs[0]).shape, ids = b.type(node.inputs[1]).shape;
  return IndexedSlices{reshape(b, node.inputs[0], with_rows(ids.elements(), data, ids.rank()), "slice_values"),
                       reshape(b, node.inputs[1], Shape{ids.elements()}, "slice_indices"), b.type(gradient).shape};
}

IndexedSlices concatenate(GraphBuilder& b, std::span<const IndexedSlices> parts) {
  if (parts.empty()) throw GraphError("no slices are given; expected one part at least");
  std::vector<Port> values, indices;
  for (const IndexedSlices& s : parts) {
    const std::string whose = "part " + std::to_string(values.size());
    check_slices(b, s, whose);
    if (s.dense_shape != parts[0].dense_shape)
      throw GraphError("the slices of " + whose + ": dense_shape is " + s.dense_shape.text() + "; expected " +
                       parts[0].dense_shape.text() + ", that of part 0");
    values.push_back(s.values);
    indices.push_back(s.indices);
  }
  if (parts.size() == 1) return parts[0];
  const Attributes along_rows{{"axis", int64_t{0}}};
  return {b.add("ConcatV2", values, along_rows, "slice_values"),
          b.add("ConcatV2", indices, along_rows, "slice_indices"), parts[0].dense_shape};
}

// implements: N264
Port to_dense(GraphBuilder& b, const IndexedSlices& s) {
  check_slices(b, s, "a sum");
  return b.add("UnsortedSegmentSum", {s.values, checked_indices(b, s)}, {{"num_segments", s.dense_shape[0]}},
               "sum_of_slices");
}

// implements: N264
Port touched_rows(GraphBuilder& b, const IndexedSlices& s) {
  check_slices(b, s, "a sum");
  const Port ones = b.constant(Tensor::full(DType::kInt32, b.type(s.indices).shape, 1), "ones");
  const Port count =
      b.add("UnsortedSegmentSum", {ones, checked_indices(b, s)}, {{"num_segments", s.dense_shape[0]}}, "slices_of_row");
  const Port touched = b.add("GreaterEqual", {count, b.constant(Tensor::full(DType::kInt32, {}, 1), "one")});
  std::vector<int64_t> extents(static_cast<size_t>(s.dense_shape.rank()), 1);
  extents[0] = s.dense_shape[0];
  return reshape(b, touched, Shape(extents), "touched");
}

}  // namespace softamp
