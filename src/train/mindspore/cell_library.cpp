// The library's cells: what each adds to a graph.
#include <algorithm>
#include <cctype>

#include "softamp/train/mindspore/cell.h"

namespace softamp::cells {
namespace {

using Ints = std::vector<int64_t>;

/// MindSpore writes "same" and "valid", operations "SAME" and "VALID".
std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

Port transposed(GraphBuilder& b, Port x, DataFormat format, Ints axes, const char* name) {
  if (format == DataFormat::kNHWC) return x;
  return b.add("Transpose", {x}, {{"perm", std::move(axes)}}, name);
}
Port entering(GraphBuilder& b, Port x, DataFormat format) { return transposed(b, x, format, {0, 2, 3, 1}, "nhwc"); }

/// Images that have another number of channels than the cell: told with the order that would fit.
void check_channels(const GraphBuilder& b, const Cell& cell, Port x, DataFormat format, int64_t channels) {
  const Shape& shape = b.type(x).shape;
  const bool first = format == DataFormat::kNCHW;
  if (shape.rank() != 4)
    throw GraphError("cell '" + cell.name() + "': x has shape " + shape.text() + "; expected " +
                     (first ? "[batch, channels, height, width]" : "[batch, height, width, channels]"));
  const int axis = first ? 1 : 3;
  if (channels == 0 || shape[axis] == channels) return;
  throw GraphError("cell '" + cell.name() + "': x has shape " + shape.text() + " and so " +
                   std::to_string(shape[axis]) + " channels in axis " + std::to_string(axis) + "; expected " +
                   std::to_string(channels) +
                   (shape[4 - axis] == channels ? std::string(", or data_format ") + (first ? "kNHWC" : "kNCHW") +
                                                      ", whose channels are axis " + std::to_string(4 - axis)
                                                : std::string()));
}
Port leaving(GraphBuilder& b, Port y, DataFormat format) { return transposed(b, y, format, {0, 3, 1, 2}, "nchw"); }

}  // namespace

Dense::Dense(Cell& parent, std::string name, int64_t in_channels, int64_t out_channels, DenseOptions options)
    : Cell(parent, std::move(name)), in_(in_channels), out_(out_channels), options_(std::move(options)) {}

Port Dense::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  const Port weight = parameter(build, "weight", {out_, in_}, options_.weight_init);
  const Port y = build.builder().add("MatMul", {inputs[0], weight}, {{"transpose_b", true}});
  if (!options_.has_bias) return y;
  return build.builder().add("BiasAdd", {y, parameter(build, "bias", {out_}, options_.bias_init)});
}

Conv2d::Conv2d(Cell& parent, std::string name, int64_t in_channels, int64_t out_channels, int64_t kernel_size,
               Conv2dOptions options)
    : Cell(parent, std::move(name)),
      in_(in_channels),
      out_(out_channels),
      kernel_(kernel_size),
      options_(std::move(options)) {}

Port Conv2d::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  GraphBuilder& b = build.builder();
  check_channels(b, *this, inputs[0], options_.data_format, in_);
  const Port weight = parameter(build, "weight", {kernel_, kernel_, in_, out_}, options_.weight_init);
  Port y = b.add("Conv2D", {entering(b, inputs[0], options_.data_format), weight},
                 {{"strides", Ints{1, options_.stride, options_.stride, 1}}, {"padding", upper(options_.pad_mode)}});
  if (options_.has_bias) y = b.add("BiasAdd", {y, parameter(build, "bias", {out_}, options_.bias_init)});
  return leaving(b, y, options_.data_format);
}

// implements: N293
BatchNorm2d::BatchNorm2d(Cell& parent, std::string name, int64_t num_features, double eps, double momentum,
                         DataFormat data_format)
    : Cell(parent, std::move(name)), features_(num_features), eps_(eps), momentum_(momentum), format_(data_format) {}

Port BatchNorm2d::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  GraphBuilder& b = build.builder();
  check_channels(b, *this, inputs[0], format_, features_);
  // Without `parameter`: these are float32 for every x.
  const auto kept = [&](const char* name, const Initializer& initializer, bool trainable) {
    return build.store.get({name, {features_}, DType::kFloat32, initializer, trainable}).port;
  };
  const Port gamma = kept("gamma", Initializer::ones(), true), beta = kept("beta", Initializer::zeros(), true);
  const Port mean = kept("moving_mean", Initializer::zeros(), false);
  const Port variance = kept("moving_variance", Initializer::ones(), false);
  const Port y = b.add("FusedBatchNormV3", {entering(b, inputs[0], format_), gamma, beta, mean, variance},
                       {{"epsilon", eps_},
                        {"is_training", build.training},
                        {"exponential_avg_factor", build.training ? 1 - momentum_ : 1.0}});
  if (build.training)
    for (const auto& [port, name] : {std::pair(1, "moving_mean"), std::pair(2, "moving_variance")})
      assign(b, build.store.variable(build.store.scope_path() + name), {y.node, port});
  return leaving(b, y, format_);
}

Port ReLU::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  return build.builder().add("Relu", {inputs[0]});
}

MaxPool2d::MaxPool2d(Cell& parent, std::string name, int64_t kernel_size, int64_t stride, std::string pad_mode,
                     DataFormat data_format)
    : Cell(parent, std::move(name)),
      size_(kernel_size),
      stride_(stride),
      pad_mode_(std::move(pad_mode)),
      format_(data_format) {}

Port MaxPool2d::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  GraphBuilder& b = build.builder();
  check_channels(b, *this, inputs[0], format_, 0);
  const Port y = b.add(
      "MaxPool", {entering(b, inputs[0], format_)},
      {{"ksize", Ints{1, size_, size_, 1}}, {"strides", Ints{1, stride_, stride_, 1}}, {"padding", upper(pad_mode_)}});
  return leaving(b, y, format_);
}

Port Flatten::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  const Shape& shape = build.builder().type(inputs[0]).shape;
  if (shape.rank() < 1) throw GraphError("cell '" + name() + "': x is a scalar; expected [batch, ...]");
  int64_t rest = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) rest *= shape[axis];
  return build.builder().add("Reshape", {inputs[0]}, {{"shape", Ints{shape[0], rest}}});
}

Port SequentialCell::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 1);
  Port x = inputs[0];
  for (const auto& cell : owned_) x = (*cell)(build, x);
  return x;
}

Port SoftmaxCrossEntropyWithLogits::construct(CellBuild& build, std::span<const Port> inputs) {
  expect_inputs(inputs, 2);
  GraphBuilder& b = build.builder();
  const Port loss =
      b.add(sparse_ ? "SparseSoftmaxCrossEntropyWithLogits" : "SoftmaxCrossEntropyWithLogits", {inputs[0], inputs[1]});
  switch (reduction_) {
    case Reduction::kMean: return b.add("Mean", {loss});
    case Reduction::kSum: return b.add("Sum", {loss});
    default: return loss;
  }
}

}  // namespace softamp::cells
