// What the rule of an operation's gradient works with (src/graph/ops/): a node, the gradients that arrive at its
// outputs, and which inputs need one. A rule adds nodes to the builder and sets the inputs' gradients. Every node is an
// ordinary operation with its own roundings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp::graph_detail {

class GradientContext {
 public:
  /// `arriving`: of each output; `wanted`: of each input, whether its gradient is needed.
  GradientContext(GraphBuilder& builder, const Node& node, int number, std::span<const std::optional<Port>> arriving,
                  const std::vector<bool>& wanted)
      : builder_(builder),
        node_(node),
        number_(number),
        arriving_(arriving),
        wanted_(wanted),
        results_(node.inputs.size()) {}

  const Node& node() const { return node_; }
  size_t inputs() const { return node_.inputs.size(); }
  size_t outputs() const { return node_.outputs.size(); }
  Port input(size_t i) const { return node_.inputs[i]; }
  Port output(size_t i = 0) const { return {number_, static_cast<int>(i)}; }
  TensorType type(Port p) const { return builder_.type(p); }
  DType dtype(size_t i = 0) const { return type(input(i)).dtype; }
  Shape shape(size_t i = 0) const { return type(input(i)).shape; }

  bool wants(size_t i) const { return wanted_[i]; }
  bool arrives(size_t output) const { return arriving_[output].has_value(); }
  /// The gradient that arrives at an output; zeros if none does.
  Port arriving(size_t output);
  /// The same for output 0. Throws GraphError if a gradient arrives at another output, naming it.
  Port arriving();
  void set(size_t input, Port gradient) { results_[input] = gradient; }
  const std::vector<std::optional<Port>>& results() const { return results_; }

  Port add(std::string_view op, std::vector<Port> inputs, Attributes attributes = {}) {
    return builder_.add(op, std::move(inputs), std::move(attributes));
  }
  /// Throws GraphError: "GatherV2 'y': " + message.
  [[noreturn]] void fail(const std::string& message) const;

  /// The node's attributes of these names, for an operation that has the same ones.
  Attributes attributes(std::initializer_list<const char*> names) const;

  // The functions below add no node if it would change nothing.

  Port scalar(DType t, double value);
  Port zeros(const TensorType& t);
  Port cast(Port x, DType t);
  Port reshape(Port x, const Shape& shape);
  /// Sums x over the axes along which `shape` was broadcast to that of x, rounded once, and gives it this shape.
  Port sum_to(Port x, const Shape& shape);
  /// x, whose extents are those of `shape` or 1, repeated to that shape: exact copies.
  Port tile_to(Port x, const Shape& shape);
  Port transpose(Port x, const std::vector<int64_t>& perm);

 private:
  GraphBuilder& builder_;
  const Node& node_;
  int number_;
  std::span<const std::optional<Port>> arriving_;
  const std::vector<bool>& wanted_;
  std::vector<std::optional<Port>> results_;
};

/// fp16 and bf16: derivatives that would lose digits in them are computed in fp32 and cast back.
inline bool is_narrow(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
inline DType wide_of(DType t) { return is_narrow(t) ? DType::kFloat32 : t; }

/// A shape as the value of an attribute.
inline std::vector<int64_t> extents_attribute(const Shape& s) { return {s.begin(), s.end()}; }

}  // namespace softamp::graph_detail
