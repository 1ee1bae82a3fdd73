// The operations that compute in binary64 (N441), for every engine: what one unit of work does. A unit is a run of
// outputs of a product, an output of a pooling, a row of a softmax, a group or a channel of a norm, an element of an
// update. Units write their own outputs, so an engine runs them in any order, by a loop over units and nothing else;
// the fast code of the other dtypes has no part in it.
//
// Element-wise operations, functions, casts and reductions take binary64 in their own kernels.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <vector>

#include "softamp/engine/convolution_node.h"
#include "softamp/engine/norm_node.h"
#include "softamp/engine/optimizer_node.h"
#include "softamp/engine/pooling_node.h"
#include "softamp/engine/product_node.h"
#include "softamp/engine/softmax_node.h"
#include "softamp/kernel/double_products.h"
#include "softamp/kernel/softmax.h"

namespace softamp::engine {

/// Where the tensors of a call lie: in the host's memory or a device's. Null: left out.
// implements: N441
struct DoubleTensors {
  static constexpr size_t kInputs = 8, kOutputs = 5;
  const void* in[kInputs]{};
  void* out[kOutputs]{};

  DoubleTensors(const void* const* inputs, size_t input_count, void* const* outputs, size_t output_count) {
    for (size_t i = 0; i < input_count && i < kInputs; ++i) in[i] = inputs[i];
    for (size_t i = 0; i < output_count && i < kOutputs; ++i) out[i] = outputs[i];
  }
  SOFTAMP_INLINE const uint64_t* codes(int input) const { return static_cast<const uint64_t*>(in[input]); }
  SOFTAMP_INLINE kernel::Elements elements(size_t input) const { return {in[input], FloatFormat::binary64()}; }
  SOFTAMP_INLINE void put(int port, uint64_t index, const Rounded& r) const {
    if (out[port]) static_cast<uint64_t*>(out[port])[index] = r.code;
  }
};

// Each work has `units`; `steps`, of arithmetic in a unit, roughly; and operator()(unit, tensors, environment, raise),
// where raise(uint8_t flags, uint64_t index) is the engine's. Node::work() lists the work of a node, in any order.

/// Of products: a unit is a run of up to eight outputs along the last axis.
struct DoubleMatMul {
  uint64_t units, steps;
  kernel::DoubleMatrices product;
  uint64_t a, b, out;  ///< first elements
  bool by_definition;

  static constexpr uint64_t kRun = kernel::DoubleLanes::kLanes;
  static uint64_t runs(uint64_t extent) { return (extent + kRun - 1) / kRun; }

  template <class Raise>
  SOFTAMP_HD void operator()(uint64_t unit, const DoubleTensors& t, const kernel::Environment& e,
                             const Raise& raise) const {
    const uint64_t in_row = (product.columns + kRun - 1) / kRun, row = unit / in_row, column = unit % in_row * kRun;
    const uint64_t left = product.columns - column;
    kernel::double_outputs(
        t.codes(0) + a, t.codes(1) + b, product.stride(), static_cast<unsigned>(left < kRun ? left : kRun),
        product.independent, by_definition, e.semantics, [&](auto& products) { product.walk(row, column, products); },
        [&](unsigned lane, const Rounded& r) {
          const uint64_t index = out + row * product.columns + column + lane;
          t.put(0, index, r);
          raise(r.flags, index);
        });
  }
};

struct DoubleConvolution {
  uint64_t units, steps;
  ConvolutionKind kind;
  kernel::ConvolutionGeometry geometry;
  bool by_definition;

  /// Channels that a run goes along.
  SOFTAMP_INLINE int64_t channels() const {
    return kind == ConvolutionKind::kInputGradient ? geometry.in_channels : geometry.out_channels;
  }

  template <class Raise>
  SOFTAMP_HD void operator()(uint64_t unit, const DoubleTensors& t, const kernel::Environment& e,
                             const Raise& raise) const {
    constexpr auto kRun = static_cast<int64_t>(DoubleMatMul::kRun);
    const kernel::ConvolutionGeometry& g = geometry;
    kernel::ConvolutionRules order;
    order.block = 0;
    auto rest = static_cast<int64_t>(unit);
    const auto next = [&rest](int64_t extent) {
      const int64_t at = rest % extent;
      rest /= extent;
      return at;
    };
    const int64_t c = next((channels() + kRun - 1) / kRun) * kRun, left = channels() - c;
    const auto count = static_cast<unsigned>(left < kRun ? left : kRun);
    uint64_t first = 0;
    const auto put = [&](unsigned lane, const Rounded& r) {
      t.put(0, first + lane, r);
      raise(r.flags, first + lane);
    };
    const auto outputs = [&](int a, int b, int64_t stride, bool independent, const auto& walk) {
      kernel::double_outputs(t.codes(a), t.codes(b), static_cast<uint64_t>(stride), count, independent, by_definition,
                             e.semantics, walk, put);
    };
    if (kind == ConvolutionKind::kForward) {
      const int64_t group = next(g.groups), x = next(g.w.output), y = next(g.h.output);
      first = g.output_at(rest, y, x) + static_cast<uint64_t>(group * g.out_channels + c);
      outputs(0, 1, 1, false, [&](auto& products) { kernel::walk_output(g, order, rest, y, x, group, c, products); });
    } else if (kind == ConvolutionKind::kInputGradient) {
      const int64_t group = next(g.groups), x = next(g.w.input), y = next(g.h.input);
      first = g.input_at(rest, y, x) + static_cast<uint64_t>(group * g.in_channels + c);
      outputs(1, 0, g.out_channels, false,
              [&](auto& products) { kernel::walk_input(g, order, rest, y, x, group, c, products); });
    } else {
      const int64_t in = next(g.in_channels), group = next(g.groups), kw = next(g.w.kernel);
      first = g.filter_at(rest, kw, group, in) + static_cast<uint64_t>(c);
      outputs(0, 1, 1, true, [&](auto& products) {
        kernel::walk_filter(g, order, rest, kw, group, in, c, 0, g.batch * g.h.output * g.w.output, products);
      });
    }
  }
};

struct DoublePooling {
  uint64_t units, steps;
  kernel::PoolingGeometry geometry;
  bool maximum, gradient;

  template <class Raise>
  SOFTAMP_HD void operator()(uint64_t unit, const DoubleTensors& t, const kernel::Environment& e,
                             const Raise& raise) const {
    using kernel::DoubleSum;
    const kernel::PoolingGeometry& g = geometry;
    const FloatFormat f = FloatFormat::binary64();
    const Semantics& s = e.semantics;
    auto rest = static_cast<int64_t>(unit);
    const auto split = [&rest](int64_t extent) {
      const int64_t at = rest % extent;
      rest /= extent;
      return at;
    };
    const int64_t c = split(g.channels), x = split(gradient ? g.w.input : g.w.output),
                  y = split(gradient ? g.h.input : g.h.output), n = rest;
    Rounded r;
    if (maximum && !gradient) {
      r = kernel::max_pool(g, f, s, t.in[0], n, y, x, c);
    } else {
      const DoubleSum sum = maximum    ? kernel::max_pool_gradient<DoubleSum>(g, f, s, t.in[0], t.in[2], n, y, x, c)
                            : gradient ? kernel::average_pool_gradient<DoubleSum>(g, f, s, t.in[0], n, y, x, c)
                                       : kernel::average_pool<DoubleSum>(g, f, s, t.in[0], n, y, x, c);
      r = kernel::pooling_result(f, e, sum, unit);
    }
    t.put(0, unit, r);
    raise(r.flags, unit);
  }
};

struct DoubleSoftmax {
  uint64_t units, steps, classes;
  SoftmaxKind kind;

  /// Whether the row's sparse label is out of range. Engines look before they run the units.
  SOFTAMP_INLINE bool wrong(uint64_t row, const DoubleTensors& t) const {
    const int32_t label = kind == SoftmaxKind::kSparse ? static_cast<const int32_t*>(t.in[1])[row] : 0;
    return label < 0 || static_cast<uint64_t>(label) >= classes;
  }

  template <class Raise>
  SOFTAMP_HD void operator()(uint64_t row, const DoubleTensors& t, const kernel::Environment& e,
                             const Raise& raise) const {
    if (wrong(row, t)) return;  // it will be refused; here it must only do no harm
    const auto sink = [&](int port, uint64_t index, const Rounded& r, uint64_t flag_index) {
      t.put(port, index, r);
      raise(r.flags, flag_index);
    };
    const kernel::Elements x = t.elements(0), second = t.elements(1);
    switch (kind) {
      case SoftmaxKind::kSoftmax:
      case SoftmaxKind::kLogSoftmax:
        return kernel::softmax<double>(kind == SoftmaxKind::kLogSoftmax, x, row, classes, e, sink);
      case SoftmaxKind::kGradient:
      case SoftmaxKind::kLogGradient:
        return kernel::softmax_gradient<double>(kind == SoftmaxKind::kLogGradient, x, second, row, classes, e, sink);
      case SoftmaxKind::kDense: return kernel::cross_entropy<double>(x, &second, 0, row, classes, e, sink);
      case SoftmaxKind::kSparse: {
        const auto label = static_cast<uint64_t>(static_cast<const int32_t*>(t.in[1])[row]);
        return kernel::cross_entropy<double>(x, nullptr, label, row, classes, e, sink);
      }
    }
  }
};

struct DoubleNorm {
  uint64_t units, steps;
  NormKind kind;
  bool gradient, training;
  kernel::NormShape shape;
  kernel::NormOptions options;
  double factor;

  template <class Raise>
  SOFTAMP_HD void operator()(uint64_t unit, const DoubleTensors& t, const kernel::Environment& e,
                             const Raise& raise) const {
    // Flags count where element `index` of output 0 lies; of an empty tensor there is none.
    const auto sink = [&](int port, uint64_t index, const Rounded& r, uint64_t flag_index) {
      t.put(port, index, r);
      raise(r.flags, flag_index);
    };
    const kernel::Elements first = t.elements(0), second = t.elements(1), third = t.elements(2), fourth = t.elements(3),
                           fifth = t.elements(4);
    if (gradient) {
      const kernel::NormGradient n{first, second, third, fourth, fifth, shape, options, training};
      if (unit < shape.groups())
        kernel::norm_input_gradient<double>(n, kind == NormKind::kBatch, unit, e, sink);
      else
        kernel::norm_parameter_gradient<double>(n, unit - shape.groups(), e, sink);
    } else if (kind != NormKind::kBatch) {
      kernel::group_norm<double>(first, second, third, shape, unit, options, e, sink);
    } else if (training) {
      kernel::batch_norm_training<double>(first, second, third, first.format, shape, unit, options,
                                          {factor, &fourth, &fifth}, e, sink);
    } else {
      kernel::batch_norm_inference<double>(first, second, third, fourth, fifth, shape, unit, options, e, sink);
    }
  }
};

struct DoubleUpdate {
  uint64_t units, steps;
  kernel::UpdateRule rule;
  uint32_t slots, rate, gradient, apply;  ///< slots; places among the inputs
  bool decays, rated;

  template <class Raise>
  SOFTAMP_HD void operator()(uint64_t i, const DoubleTensors& t, const kernel::Environment& e,
                             const Raise& raise) const {
    const auto code = [&](size_t input, uint64_t at) { return static_cast<const uint64_t*>(t.in[input])[at]; };
    kernel::UpdateOperands x;
    x.var = code(0, i);
    for (uint32_t k = 0; k < slots; ++k) x.slot[k] = code(1 + k, i);
    x.grad = code(gradient, i);
    kernel::Updated u{{x.var, x.slot[0], x.slot[1]}, 0};
    if (*static_cast<const uint8_t*>(t.in[apply]) != 0)
      u = kernel::updated(rule, {rated ? code(rate, 0) : 0, decays ? code(rate + 1, 0) : 0}, x, e, i);
    for (uint32_t k = 0; k <= slots; ++k) t.put(static_cast<int>(k), i, {u.code[k], 0});
    raise(u.flags, i);
  }
};

/// What is fixed for a node; double_entries names the operations of each.
struct DoubleMatMulNode : MatMulNode {
  using Work = DoubleMatMul;
  explicit DoubleMatMulNode(const OpContext& c);
  std::vector<Work> work() const;
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& e, uint64_t index) const;

 private:
  bool independent_, by_definition_;
};
struct DoubleConvolutionNode {
  using Work = DoubleConvolution;
  explicit DoubleConvolutionNode(const OpContext& c);
  std::vector<Work> work() const { return {work_}; }

 private:
  Work work_;
};
struct DoublePoolingNode : PoolingNode {
  using Work = DoublePooling;
  using PoolingNode::PoolingNode;
  std::vector<Work> work() const;
};
struct DoubleSoftmaxNode : SoftmaxNode {
  using Work = DoubleSoftmax;
  using SoftmaxNode::SoftmaxNode;
  std::vector<Work> work() const { return {{rows, 40 * classes, classes, kind}}; }
};
struct DoubleNormNode : NormNode {
  using Work = DoubleNorm;
  using NormNode::NormNode;
  std::vector<Work> work() const;
};
struct DoubleUpdateNode : UpdateNode {
  using Work = DoubleUpdate;
  using UpdateNode::UpdateNode;
  std::vector<Work> work() const;
};

/// What the kernels of all engines have in common: Base is the engine's OpKernel.
template <class Node, class Base>
class DoubleKernelBase : public Base {
 public:
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& e,
                                    uint64_t index) const override {
    if constexpr (requires { node_.operands_at(in, e, index); }) return node_.operands_at(in, e, index);
    if constexpr (requires { node_.operands_at(in, index); }) return node_.operands_at(in, index);
    return {};
  }

 protected:
  static constexpr bool kLabels = std::is_same_v<Node, DoubleSoftmaxNode>;  ///< labels may be out of range

  explicit DoubleKernelBase(const OpContext& c)
      : node_(c), work_(node_.work()), inputs_(c.inputs.size()), outputs_(c.node.outputs.size()) {}
  DoubleTensors tensors(const void* const* in, void* const* out) const { return {in, inputs_, out, outputs_}; }

  Node node_;
  std::vector<typename Node::Work> work_;

 private:
  size_t inputs_, outputs_;
};

/// An engine's entries: make(std::type_identity<Node>) is what makes the kernel of such a node.
// implements: N441
template <class Entry, class Make>
std::vector<Entry> double_entries(const Make& make) {
  std::vector<Entry> all;
  const auto add = [&]<class Node>(std::type_identity<Node> node, std::initializer_list<const char*> ops) {
    for (const char* op : ops) all.push_back({op, make(node)});
  };
  add(std::type_identity<DoubleMatMulNode>{}, {"MatMul", "BatchMatMulV2"});
  add(std::type_identity<DoubleConvolutionNode>{},
      {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNative",
       "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"});
  add(std::type_identity<DoublePoolingNode>{}, {"MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"});
  add(std::type_identity<DoubleSoftmaxNode>{},
      {"Softmax", "LogSoftmax", "SoftmaxGrad", "LogSoftmaxGrad", "SoftmaxCrossEntropyWithLogits",
       "SparseSoftmaxCrossEntropyWithLogits"});
  add(std::type_identity<DoubleNormNode>{},
      {"FusedBatchNormV3", "FusedBatchNormGradV3", "LayerNorm", "LayerNormGrad", "GroupNorm", "GroupNormGrad"});
  add(std::type_identity<DoubleUpdateNode>{},
      {"ApplyGradientDescent", "ApplyMomentum", "ApplyRMSProp", "ApplyAdam", "ApplyCompensated"});
  return all;
}

}  // namespace softamp::engine
