// Losses by name. Formulas: Keras 3, keras.losses.
#include "softamp/train/losses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "src/text/joined.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/train/cast_node.h"

namespace softamp {
namespace {

constexpr double kClip = 1e-7;  // keras.config.epsilon()

/// Nodes of one loss.
struct Formula {
  GraphBuilder& b;

  Port number(double value, DType dtype) { return b.constant(Tensor::full(dtype, {}, value)); }
  Port number(double value, Port like) { return number(value, b.type(like).dtype); }
  Port mean(Port x) { return last_axis("Mean", x); }
  Port sum(Port x) { return last_axis("Sum", x); }
  Port sub(Port x, Port y) { return b.add("Sub", {x, y}); }
  Port mul(Port x, Port y) { return b.add("Mul", {x, y}); }
  Port one(std::string_view op, Port x) { return b.add(op, {x}); }
  Port clipped(Port x, double low, double high) {
    return b.add("Minimum", {b.add("Maximum", {x, number(low, x)}), number(high, x)});
  }
  Port probability(Port p) { return clipped(p, kClip, 1 - kClip); }

 private:
  Port last_axis(const char* op, Port x) {
    return b.type(x).shape.rank() == 0 ? x : b.add(op, {x}, {{"axes", std::vector<int64_t>{-1}}});
  }
};

[[noreturn]] void refuse_shape(const GraphBuilder& b, Port labels, Port outputs, const std::string& expected) {
  throw GraphError("loss: the labels are " + b.type(labels).text() + " and the outputs " + b.type(outputs).text() +
                   "; expected labels " + expected);
}

/// Labels of the outputs' shape and dtype.
Port like_outputs(GraphBuilder& b, Port labels, Port outputs) {
  if (b.type(labels).shape != b.type(outputs).shape)
    refuse_shape(b, labels, outputs, b.type(outputs).shape.text() + ", as the outputs");
  return cast_to(b, labels, b.type(outputs).dtype, "labels_cast");
}

/// What an operation that ends the network got, if `op` does, in the dtype of the outputs.
std::optional<Port> input_of(GraphBuilder& b, Port outputs, std::string_view op) {
  const DType dtype = b.type(outputs).dtype;
  for (Port p = outputs;;) {
    const Node& node = b.graph().node(p.node);
    if (node.op == op) return cast_to(b, node.inputs[0], dtype, "logits_cast");
    if (node.op != "Identity" && node.op != "Cast") return {};
    p = node.inputs[0];
  }
}

Port error(GraphBuilder& b, Port labels, Port outputs) {
  return b.add("Sub", {outputs, like_outputs(b, labels, outputs)});
}

Port squared(GraphBuilder& b, Port labels, Port outputs) {
  return Formula{b}.mean(b.add("SquaredDifference", {outputs, like_outputs(b, labels, outputs)}));
}

Port absolute(GraphBuilder& b, Port labels, Port outputs) {
  return Formula{b}.mean(b.add("Abs", {error(b, labels, outputs)}));
}

Port huber(GraphBuilder& b, Port labels, Port outputs) {
  Formula f{b};
  const Port e = f.one("Abs", error(b, labels, outputs)), half = f.number(0.5, e);
  const Port near = b.add("LessEqual", {e, f.number(1, e)});
  return f.mean(b.add("SelectV2", {near, f.mul(half, f.one("Square", e)), f.sub(e, half)}));
}

Port log_cosh(GraphBuilder& b, Port labels, Port outputs) {
  Formula f{b};
  const Port e = error(b, labels, outputs);
  const Port tail = f.one("Softplus", f.mul(f.number(-2, e), e));
  return f.mean(f.sub(b.add("AddV2", {e, tail}), f.number(0.693147180559945309, e)));
}

Port kl_divergence(GraphBuilder& b, Port labels, Port outputs) {
  Formula f{b};
  const Port y = f.clipped(like_outputs(b, labels, outputs), kClip, 1), p = f.clipped(outputs, kClip, 1);
  return f.sum(f.mul(y, f.sub(f.one("Log", y), f.one("Log", p))));
}

Port binary_from_logits(GraphBuilder& b, Port labels, Port x) {
  Formula f{b};
  const Port y = like_outputs(b, labels, x);
  const Port tail = f.one("Log1p", f.one("Exp", f.one("Neg", f.one("Abs", x))));
  return f.mean(b.add("AddV2", {f.sub(f.one("Relu", x), f.mul(x, y)), tail}));
}

Port binary(GraphBuilder& b, Port labels, Port outputs) {
  if (const auto logits = input_of(b, outputs, "Sigmoid")) return binary_from_logits(b, labels, *logits);
  Formula f{b};
  const Port y = like_outputs(b, labels, outputs), p = f.probability(outputs), one = f.number(1, p);
  const Port yes = f.mul(y, f.one("Log", p)), no = f.mul(f.sub(one, y), f.one("Log", f.sub(one, p)));
  return f.one("Neg", f.mean(b.add("AddV2", {yes, no})));
}

/// Two axes, as the operations on logits take them.
Port as_rows(GraphBuilder& b, Port x) {
  const Shape& shape = b.type(x).shape;
  if (shape.rank() == 2) return x;
  const int64_t last = shape[shape.rank() - 1];
  return b.add("Reshape", {x}, {{"shape", std::vector<int64_t>{shape.elements() / std::max<int64_t>(last, 1), last}}});
}

void require_classes(const GraphBuilder& b, Port labels, Port outputs) {
  if (b.type(outputs).shape.rank() < 2) refuse_shape(b, labels, outputs, "of classes, and outputs [batch, classes]");
}

Port categorical_from_logits(GraphBuilder& b, Port labels, Port x) {
  require_classes(b, labels, x);
  const Port y = like_outputs(b, labels, x);
  return b.add("SoftmaxCrossEntropyWithLogits", {as_rows(b, x), as_rows(b, y)});
}

Port categorical_of(GraphBuilder& b, Port y, Port outputs) {
  Formula f{b};
  const Port total = b.add("Sum", {outputs}, {{"axes", std::vector<int64_t>{-1}}, {"keep_dims", true}});
  const Port p = f.probability(b.add("RealDiv", {outputs, total}));
  return f.one("Neg", f.sum(f.mul(y, f.one("Log", p))));
}

Port categorical(GraphBuilder& b, Port labels, Port outputs) {
  require_classes(b, labels, outputs);
  if (const auto logits = input_of(b, outputs, "Softmax")) return categorical_from_logits(b, labels, *logits);
  return categorical_of(b, like_outputs(b, labels, outputs), outputs);
}

/// Numbers of classes, one for each row of the outputs, as int32.
Port class_numbers(GraphBuilder& b, Port labels, Port outputs) {
  require_classes(b, labels, outputs);
  const Shape &shape = b.type(outputs).shape, &found = b.type(labels).shape;
  std::vector<int64_t> rows;
  for (int a = 0; a + 1 < shape.rank(); ++a) rows.push_back(shape[a]);
  const Shape plain(rows);
  rows.push_back(1);
  if (found != plain && found != Shape(rows))
    refuse_shape(b, labels, outputs, plain.text() + " or " + Shape(rows).text() + ", the number of a class each");
  const Port flat = b.add("Reshape", {labels}, {{"shape", std::vector<int64_t>{plain.elements()}}});
  return cast_to(b, flat, DType::kInt32, "labels_cast");
}

Port sparse_from_logits(GraphBuilder& b, Port labels, Port x) {
  const Port numbers = class_numbers(b, labels, x);
  return b.add("SparseSoftmaxCrossEntropyWithLogits", {as_rows(b, x), numbers});
}

Port sparse(GraphBuilder& b, Port labels, Port outputs) {
  if (const auto logits = input_of(b, outputs, "Softmax")) return sparse_from_logits(b, labels, *logits);
  const Port numbers = class_numbers(b, labels, outputs), rows = as_rows(b, outputs);
  const TensorType type = b.type(rows);
  return categorical_of(b, b.add("OneHot", {numbers}, {{"depth", type.shape[1]}, {"dtype", type.dtype}}), rows);
}

struct Row {
  const char* name;
  const char* alias;  ///< "": none
  Port (*loss)(GraphBuilder&, Port, Port);
};
constexpr std::array kLosses = {
    Row{"mean_squared_error", "mse", squared},
    Row{"mean_absolute_error", "mae", absolute},
    Row{"huber", "", huber},
    Row{"log_cosh", "", log_cosh},
    Row{"kl_divergence", "", kl_divergence},
    Row{"binary_crossentropy", "", binary},
    Row{"binary_crossentropy_from_logits", "", binary_from_logits},
    Row{"categorical_crossentropy", "", categorical},
    Row{"categorical_crossentropy_from_logits", "", categorical_from_logits},
    Row{"sparse_categorical_crossentropy", "", sparse},
    Row{"sparse_categorical_crossentropy_from_logits", "", sparse_from_logits},
};

}  // namespace

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const Row& row : kLosses) {
    names.emplace_back(row.name);
    if (*row.alias) names.emplace_back(row.alias);
  }
  return names;
}

LossFunction find_loss(std::string_view name) {
  for (const Row& row : kLosses)
    if (name == row.name || (*row.alias && name == row.alias)) return row.loss;
  const std::vector<std::string> known = loss_names();
  throw std::invalid_argument("unknown loss '" + files::excerpt(name) + "'; expected one of " + joined(known) +
                              graph_detail::nearest_of(name, known));
}

LossFunction loss_function(const AnyLoss& loss) {
  if (const auto* name = std::get_if<std::string>(&loss)) return find_loss(*name);
  const auto& function = std::get<LossFunction>(loss);
  if (!function) throw std::invalid_argument("loss: the function is empty; expected one that adds a loss to a graph");
  return function;
}

}  // namespace softamp
