// Checks of a layer's inputs before it adds anything.
#pragma once

#include <string>
#include <string_view>

#include "softamp/numbers/number_text.h"
#include "softamp/train/variable.h"

namespace softamp::layers_detail {

/// Errors of one layer: "conv2d 'block1/conv2d': kernel is 0; expected at least 1".
class Check {
 public:
  /// kind: the layer's function; name: as given to it.
  Check(VariableStore& store, std::string_view kind, std::string_view name)
      : builder_(store.builder()), place_(std::string(kind) + " '" + store.scope_path() + std::string(name) + "': ") {}

  [[noreturn]] void fail(const std::string& message) const { throw GraphError(place_ + message); }

  void at_least_one(const char* what, int64_t value) const {
    if (value < 1) fail(std::string(what) + " is " + std::to_string(value) + "; expected at least 1");
  }

  /// x as an image batch: rank 4, of a dtype that products take.
  const TensorType& image(Port x) const { return ranked(x, 4, 4, "[batch, height, width, channels]"); }
  /// x as rows along its last axis.
  const TensorType& rows(Port x) const { return ranked(x, 2, Shape::kMaxRank, "[batch, ..., in]"); }
  /// x as sequences of rows.
  const TensorType& sequences(Port x) const { return ranked(x, 3, 3, "[batch, time, units]"); }
  /// x of a rank in [least, most].
  const TensorType& ranked(Port x, int least, int most, const char* expected) const {
    const TensorType& type = any(x);
    if (!is_floating(type.dtype) || type.shape.rank() < least || type.shape.rank() > most)
      fail("x is " + type.text() + "; expected " + expected + " of float16, bfloat16, float32 or float64");
    return type;
  }
  /// x of any type.
  const TensorType& any(Port x) const {
    const Graph& graph = builder_.graph();
    if (x.node < 0 || x.node >= graph.size() || x.port < 0 ||
        static_cast<size_t>(x.port) >= graph.node(x.node).outputs.size())
      fail("x is output " + std::to_string(x.port) + " of node number " + std::to_string(x.node) +
           "; expected an output of a node that was added before");
    return builder_.type(x);
  }
  /// Of a dropout: [0, 1).
  void rate(const char* what, double value) const {
    if (!(value >= 0 && value < 1))
      fail(std::string(what) + " is " + shortest_decimal(value) + "; expected 0 or more, and less than 1");
  }

 private:
  GraphBuilder& builder_;
  std::string place_;
};

}  // namespace softamp::layers_detail
