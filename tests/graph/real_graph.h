// A graph evaluated in real arithmetic: every operation by its definition in long double, nothing rounded to a dtype.
//
// Derivatives are judged by this: differences of the forward graph are as good as the 64 bits of long double, and a
// graph of gradients, evaluated the same way, shows its formulas without the noise of fp32.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>

#include "softamp/graph/operation.h"
#include "tests/ops/product_rows.h"
#include "tests/oracle/tensor_model_elementwise.h"
#include "tests/oracle/tensor_model_reductions.h"
#include "tests/oracle/tensor_model_structure.h"

namespace softamp::test {

namespace model = oracle::model;
using model::Array;
using model::Norm;
using model::Range;
using model::Real;
using Ints = std::vector<int64_t>;
using Reals = std::vector<Real>;

inline Ints extents_of(const Shape& s) { return {s.begin(), s.end()}; }
inline const Ints& ints_of(const Node& n, const char* name) { return attribute<Ints>(n, name); }
inline int64_t int_of(const Node& n, const char* name) { return attribute<int64_t>(n, name); }
inline bool flag_of(const Node& n, const char* name) { return attribute<bool>(n, name); }
/// An attribute that the operation takes as fp32.
inline Real float_of(const Node& n, const char* name) {
  return static_cast<Real>(static_cast<float>(attribute<double>(n, name)));
}

inline model::Window window_of(const Node& n) {
  model::Window w{ints_of(n, "strides"), {1, 1, 1, 1}, attribute<std::string>(n, "padding") == "SAME"};
  if (n.attributes.contains("dilations")) w.dilations = ints_of(n, "dilations");
  return w;
}

inline model::NormGroups groups_of(const Node& n, const Ints& shape) {
  if (n.op.starts_with("FusedBatchNorm")) return model::batch_groups(shape);
  if (n.op.starts_with("LayerNorm")) return model::layer_groups(shape, int_of(n, "begin_norm_axis"));
  return model::channel_groups(shape, int_of(n, "groups"));
}

/// What an operation without arithmetic does: for each output and element of it, which input and place it is, or input
/// -1 for `fill`. Nothing for other operations.
struct Moves {
  struct From {
    int input = -1;
    int64_t place = 0;
  };
  std::vector<std::vector<From>> outputs;
  Real fill = 0;
};

inline std::optional<Moves> moves_of(const Node& n, std::span<const Array* const> x) {
  const auto one = [](const model::Places& p, Real fill = 0) {
    Moves m{{{}}, fill};
    for (const int64_t place : p.from) m.outputs[0].push_back({place < 0 ? -1 : 0, place});
    return m;
  };
  const auto axis_of = [&](int rank) {
    const int64_t a = int_of(n, "axis");
    return static_cast<size_t>(a < 0 ? a + rank : a);
  };
  static const std::set<std::string> kCopies = {"Identity", "StopGradient", "PrintTensor", "OutfeedEnqueue",
                                                "Assign",   "Reshape",      "ExpandDims",  "Squeeze"};
  if (kCopies.contains(n.op)) {
    Moves m{{{}}, 0};
    for (int64_t i = 0; i < x[0]->size(); ++i) m.outputs[0].push_back({0, i});
    return m;
  }
  if (n.op == "Transpose") return one(model::transpose(x[0]->shape, ints_of(n, "perm")));
  if (n.op == "Pad")
    return one(model::pad(x[0]->shape, ints_of(n, "paddings")), attribute<double>(n, "constant_value"));
  if (n.op == "Slice") return one(model::slice(x[0]->shape, ints_of(n, "begin"), ints_of(n, "size")));
  if (n.op == "Tile") return one(model::tile(x[0]->shape, ints_of(n, "multiples")));
  if (n.op == "StridedSlice")
    return one(model::strided_slice(x[0]->shape, ints_of(n, "begin"), ints_of(n, "end"), ints_of(n, "strides"),
                                    int_of(n, "begin_mask"), int_of(n, "end_mask"), int_of(n, "shrink_axis_mask")));
  if (n.op == "GatherV2") {
    Ints places;
    for (const Range& r : x[1]->at) places.push_back(static_cast<int64_t>(r.low));
    return one(model::gather(x[0]->shape, x[1]->shape, places, static_cast<int64_t>(axis_of(x[0]->rank()))));
  }
  const bool joins = n.op == "ConcatV2" || n.op == "Pack";
  const bool parts = n.op == "Split" || n.op == "SplitV" || n.op == "Unpack";
  if (!joins && !parts) return std::nullopt;
  // Seen as [outer, extent, inner]; Pack's and Unpack's axis has extent 1 in the parts.
  const Ints whole = joins ? extents_of(n.outputs[0].shape) : x[0]->shape;
  const size_t axis = axis_of(static_cast<int>(whole.size()));
  int64_t inner = 1, outer = 1, first = 0;
  for (size_t a = 0; a < whole.size(); ++a)
    if (a != axis) (a < axis ? outer : inner) *= whole[a];
  Moves m;
  const size_t count = joins ? x.size() : n.outputs.size();
  if (joins) m.outputs.assign(1, std::vector<Moves::From>(static_cast<size_t>(model::product_of(whole))));
  for (size_t part = 0; part < count; ++part) {
    const int64_t elements = joins ? x[part]->size() : n.outputs[part].shape.elements();
    const int64_t around = outer * inner, extent = around > 0 ? elements / around : 0;
    if (parts) m.outputs.emplace_back(static_cast<size_t>(elements));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t e = 0; e < extent; ++e)
        for (int64_t i = 0; i < inner; ++i) {
          const int64_t in_part = (o * extent + e) * inner + i;
          const int64_t in_whole = (o * whole[axis] + first + e) * inner + i;
          if (joins)
            m.outputs[0][static_cast<size_t>(in_whole)] = {static_cast<int>(part), in_part};
          else
            m.outputs[part][static_cast<size_t>(in_part)] = {0, in_whole};
        }
    first += extent;
  }
  return m;
}

/// Sums of products, in whatever order.
inline Array summed(const model::Products& products) {
  Array out(products.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const model::Factors& f = products.outputs[static_cast<size_t>(i)];
    Real sum = 0;
    for (size_t k = 0; k < f.a.size(); ++k) sum += f.a[k].low * f.b[k].low;
    out[i] = sum;
  }
  return out;
}

/// The products of a MatMul, a convolution or a gradient of one; nothing for other operations.
inline std::optional<model::Products> products_of(const Node& n, std::span<const Array* const> x) {
  for (const ProductRow& row : product_rows())
    if (n.op == row.op) return contraction_of(n.op, n.attributes, *x[0], *x[1]);
  if (n.op == "ScaledMatMul")  // of operands that quantising leaves as they are
    return model::matrix_product(*x[0], *x[1], attribute<bool>(n, "transpose_a"), attribute<bool>(n, "transpose_b"));
  const bool depthwise = n.op.starts_with("DepthwiseConv2dNative");
  if (n.op == "Conv2D" || n.op == "DepthwiseConv2dNative")
    return model::convolution(*x[0], *x[1], window_of(n), depthwise);
  if (n.op.ends_with("BackpropInput"))
    return model::convolution_input_gradient(ints_of(n, "input_sizes"), *x[0], *x[1], window_of(n), depthwise);
  if (n.op.ends_with("BackpropFilter"))
    return model::convolution_filter_gradient(*x[0], ints_of(n, "filter_sizes"), *x[1], window_of(n), depthwise);
  return std::nullopt;
}

/// The input places of each window of a pooling, by output place; those outside of the input left out.
inline std::vector<Ints> pooled_places(const Node& n, const Ints& in) {
  const Ints& k = ints_of(n, "ksize");
  const model::Window w = window_of(n);
  const Array x(in), y({in[0], w.outputs(1, in[1], k[1]), w.outputs(2, in[2], k[2]), in[3]});
  std::vector<Ints> places;
  for (int64_t o = 0; o < y.size(); ++o) {
    const Ints at = y.index(o);
    places.emplace_back();
    for (int64_t kh = 0; kh < k[1]; ++kh)
      for (int64_t kw = 0; kw < k[2]; ++kw) {
        const int64_t ih = at[1] * w.strides[1] + kh - w.before(1, in[1], k[1]);
        const int64_t iw = at[2] * w.strides[2] + kw - w.before(2, in[2], k[2]);
        if (ih >= 0 && ih < in[1] && iw >= 0 && iw < in[2]) places.back().push_back(x.place({at[0], ih, iw, at[3]}));
      }
  }
  return places;
}

/// The real result of an operation; the families are in real_operations.h.
std::vector<Array> real_operation(const Node& n, std::span<const Array* const> x);

/// All outputs of all nodes. `given`: values of placeholders and variables, and of any other node that is not to be
/// computed.
using Values = std::vector<std::vector<Array>>;
inline void evaluate_from(const Graph& graph, int first, Values& values, const std::map<int, Array>& given) {
  values.resize(static_cast<size_t>(graph.size()));
  for (int i = first; i < graph.size(); ++i) {
    const auto it = given.find(i);
    if (it != given.end()) {
      values[static_cast<size_t>(i)] = {it->second};
      continue;
    }
    std::vector<const Array*> in;
    for (const Port p : graph.node(i).inputs)
      in.push_back(&values[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]);
    values[static_cast<size_t>(i)] = real_operation(graph.node(i), in);
  }
}
inline Values evaluate(const Graph& graph, const std::map<int, Array>& given) {
  Values values;
  evaluate_from(graph, 0, values, given);
  return values;
}

}  // namespace softamp::test
