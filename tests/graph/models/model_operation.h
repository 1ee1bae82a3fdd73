// What the model library admits for any one node of a graph, from the values that entered it: a whole graph is checked
// node by node, each with the derived bounds of the tests of its operation.
#pragma once

#include "tests/graph/models/model_run.h"
#include "tests/graph/real_operations.h"

namespace softamp::test {

/// The ranges of a node's outputs before their last rounding. x: what entered, as operations see it.
inline std::vector<Array> model_operation(const Node& n, std::span<const Array* const> x, const Mode& mode) {
  using namespace model;
  const std::string& op = n.op;
  const DType t = n.outputs[0].dtype;
  if (const auto products = products_of(n, x)) {
    // Sums over a batch add their partials of 1024 in fp32.
    const bool batch =
        op.ends_with("BackpropFilter") || (n.attributes.contains("batch_sum") && flag_of(n, "batch_sum"));
    int64_t longest = 0;
    for (const Factors& f : products->outputs) longest = std::max(longest, static_cast<int64_t>(f.a.size()));
    return {products->sums({false, 0, batch ? longest / 1024 : 0}, mode)};
  }
  if (op == "Sum" || op == "Mean" || op == "BiasAddGrad" || op == "L2Loss") {
    Ints axes;
    for (int a = 0; op == "BiasAddGrad" && a + 1 < x[0]->rank(); ++a) axes.push_back(a);
    if (op == "Sum" || op == "Mean") axes = ints_of(n, "axes");
    const bool keep = op != "BiasAddGrad" && op != "L2Loss" && flag_of(n, "keep_dims");
    return {reduce(*x[0], reduce_groups(x[0]->shape, axes, keep), [&](std::vector<Range> all) {
      if (op == "L2Loss")
        for (Range& r : all) r = f32(square(r));
      const Range sum = sum_in_any_order(all);
      return op == "L2Loss" ? f32(Range(0.5L) * f32(sum)) : op == "Mean" ? f32(f32(sum) / count_of(all.size())) : sum;
    })};
  }
  if (op == "AddN" || op == "UnsortedSegmentSum") {
    Array out(extents_of(n.outputs[0].shape));
    std::vector<std::vector<Range>> terms(out.at.size());
    if (op == "AddN") {
      for (const Array* in : x)
        for (size_t i = 0; i < terms.size(); ++i) terms[i].push_back(in->at[i]);
    } else {
      const int64_t inner = x[1]->size() ? x[0]->size() / x[1]->size() : 0;
      for (int64_t i = 0; i < x[0]->size(); ++i) {
        const int64_t s = static_cast<int64_t>((*x[1])[i / inner].low);
        if (s >= 0) terms[static_cast<size_t>(s * inner + i % inner)].push_back((*x[0])[i]);
      }
    }
    for (size_t i = 0; i < terms.size(); ++i) out.at[i] = sum_in_any_order(terms[i]);
    return {out};
  }
  if (op == "AvgPool") return {average_pool(*x[0], ints_of(n, "ksize"), window_of(n))};
  if (op == "AvgPoolGrad")
    return {average_pool_gradient(ints_of(n, "orig_input_shape"), *x[0], ints_of(n, "ksize"), window_of(n))};
  if (op == "MaxPoolGrad") return {max_pool_gradient(*x[0], *x[2], ints_of(n, "ksize"), window_of(n))};
  if (op == "Softmax") return {softmax(*x[0])};
  if (op == "LogSoftmax") return {log_softmax(*x[0])};
  if (op == "SoftmaxGrad") return {softmax_gradient(*x[0], *x[1])};
  if (op == "LogSoftmaxGrad") return {log_softmax_gradient(*x[0], *x[1])};
  if (op.ends_with("SoftmaxCrossEntropyWithLogits")) {
    Array labels = *x[1];
    if (op.starts_with("Sparse")) {
      labels = Array(x[0]->shape);
      for (int64_t i = 0; i < x[1]->size(); ++i)
        labels[i * labels.shape[1] + static_cast<int64_t>((*x[1])[i].low)] = Real{1};
    }
    CrossEntropy both = cross_entropy(*x[0], labels);
    return {both.loss, both.backprop};
  }
  if (op.find("Norm") != std::string::npos) {
    const bool batch = op.starts_with("FusedBatchNorm"), training = !batch || flag_of(n, "is_training");
    const bool backward = op.find("Grad") != std::string::npos;
    const NormGroups groups = groups_of(n, x[backward ? 1 : 0]->shape);
    const Real epsilon = float_of(n, "epsilon");
    if (backward) {
      NormGradients g = norm_gradients(*x[0], *x[1], *x[2], *x[3], *x[4], groups, epsilon, training, batch);
      return {g.x, g.gamma, g.beta};
    }
    if (!training)
      return {normalise_by(*x[0], *x[1], *x[2], *x[3], *x[4], groups, epsilon), *x[3], *x[4], *x[3], *x[4]};
    Normalised y = normalise(*x[0], *x[1], *x[2], groups, epsilon, false);
    if (!batch) return {y.y, y.mean, y.variance};
    Array running = y.variance;
    const size_t count = groups.places.empty() ? 0 : groups.places[0].size();
    for (Range& r : running.at) r = f32(r * f32(count_of(count) / count_of(std::max<size_t>(count, 2) - 1)));
    return {y.y, y.mean, running, y.mean, y.variance};
  }
  if (op == "GeluGrad")
    return {broadcast_map(*x[0], *x[1], [&](const Range& g, const Range& v) {
      return f32(g * gelu_gradient(v.low, flag_of(n, "approximate")));
    })};
  if (op == "Pow")
    return {broadcast_map(*x[0], *x[1], [&](const Range& a, const Range& b) { return power(a.low, b.low, mode); })};
  const std::string name = op == "Gelu" && flag_of(n, "approximate") ? "Gelu approximate" : op;
  for (const Function& f : functions())
    if (f.op == name) return {map(*x[0], [&](const Range& r) { return function_range(f, r.low, mode); })};
  const ElementRow* const row = element_row(op == "BiasAdd" ? "AddV2" : op, n.attributes);
  if (row && (row->is(kernel::is_arithmetic) || row->is(kernel::is_fp32_inside))) {
    const Real alpha = n.attributes.contains("alpha") ? float_of(n, "alpha") : Real{0};
    return {broadcast_map(*x[0], x.size() > 1 ? *x[1] : *x[0],
                          [&](const Range& a, const Range& b) { return elementwise(op, a, b, alpha, t, mode); })};
  }
  // The rest chooses, copies or converts: its real value is what is rounded.
  return real_operation(n, x);
}

/// A run whose every tensor is fetched that the outputs `wanted` depend on; other nodes have none.
inline std::vector<std::vector<Tensor>> run_all(const Graph& graph, const std::vector<Feed>& feeds,
                                                const std::vector<Port>& wanted, ExecutorOptions options) {
  options.print = [](const std::string&) {};
  std::vector<std::vector<Tensor>> all(static_cast<size_t>(graph.size()));
  std::vector<bool> needed(all.size(), false);
  for (const Port p : wanted) needed[static_cast<size_t>(p.node)] = true;
  std::vector<std::string> fetches;
  std::vector<size_t> owners;
  for (size_t i = all.size(); i-- > 0;) {
    const Node& node = graph.node(static_cast<int>(i));
    if (!needed[i]) continue;
    for (const Port p : node.inputs) needed[static_cast<size_t>(p.node)] = true;
    for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
      fetches.push_back(graph.port_name({static_cast<int>(i), o}));
      owners.push_back(i);
    }
  }
  RunResult result = make_executor(graph, options)->run(feeds, fetches);
  for (size_t k = 0; k < owners.size(); ++k) all[owners[k]].push_back(std::move(result.values[k]));
  return all;
}

}  // namespace softamp::test
