// A graph's gradients, judged three ways: by differences of the forward graph in long double, node by node by the model
// library, and as a whole by what the errors of the nodes can add up to.
#pragma once

#include "softamp/graph/gradients.h"
#include "tests/graph/models/model_operation.h"

namespace softamp::test {

/// A graph to differentiate, and the data for its placeholders.
struct Differentiated {
  Graph graph;
  Port loss;
  std::vector<Port> variables;  ///< placeholders
  std::vector<std::pair<std::string, Tensor>> data;
  std::string what;

  std::map<int, Array> given() const {
    std::map<int, Array> all;
    for (const auto& [name, tensor] : data) all.emplace(graph.find(name), model::as_it_stands(tensor));
    return all;
  }
};

/// The derivative of the loss by element i of a placeholder: differences over 2h, h, h/2 and h/4, h = 2^-9, each pair
/// extrapolated once (Richardson): D = f' + c h^2 + O(h^4), so (4 D(h/2) - D(h)) / 3 = f' + O(h^4). Of two such values
/// the finer one is 16 times as good, so that it is off by less than they differ by. A kink within h shows, too: the
/// two then differ by far more than is allowed.
struct Difference {
  Real value, error;
};
inline Difference difference(const Differentiated& d, std::map<int, Array>& given, int node, int64_t i) {
  Range& x = given[node][i];
  const Real at = x.low;
  const auto loss = [&](Real moved) {
    x = at + moved;
    const Values values = evaluate(d.graph, given);
    return values[static_cast<size_t>(d.loss.node)][static_cast<size_t>(d.loss.port)][0].low;
  };
  Real slope[3], most = 0;
  for (int k = 0; k < 3; ++k) {
    const Real h = std::ldexp(Real{1}, -9 - k), up = loss(h), down = loss(-h);
    slope[k] = (up - down) / (2 * h);
    most = std::fmax(most, std::fmax(std::fabs(up), std::fabs(down)));
  }
  x = at;
  const Real coarse = (4 * slope[1] - slope[0]) / 3, fine = (4 * slope[2] - slope[1]) / 3;
  // Functions are good to 2^-58 (model::Function), sums of some hundred terms to 2^-55, over 2 h/4 = 2^-10; times 5/3.
  return {fine, std::fabs(fine - coarse) + (most + 1) * 0x1p-44L};
}

/// Values of gradients that are missing are zeros.
inline Real gradient_at(const Values& values, const std::optional<Port>& g, int64_t i) {
  return g ? values[static_cast<size_t>(g->node)][static_cast<size_t>(g->port)][i].low : Real{0};
}

/// Formulas: the graph of gradients in long double against differences of the forward graph.
inline void expect_derivatives(const Differentiated& d, const GradientGraph& g) {
  std::map<int, Array> given = d.given();
  const Values values = evaluate(g.graph, given);
  int told = 0;
  for (size_t v = 0; v < d.variables.size(); ++v) {
    const int node = d.variables[v].node;
    for (int64_t i = 0; i < given[node].size() && told < 3; ++i) {
      const Difference expected = difference(d, given, node, i);
      const Real got = gradient_at(values, g.gradients[v], i);
      // The bound must say something: no more than 1e-8 of the slope, or of 1.
      EXPECT_LT(expected.error, 1e-8L * (1 + std::fabs(expected.value))) << d.what << ": a kink within reach";
      if (std::fabs(got - expected.value) <= expected.error) continue;
      ++told;
      ADD_FAILURE() << d.what << ", variable " << v << " element " << i << ": the gradient is "
                    << static_cast<double>(got) << ", the slope " << static_cast<double>(expected.value) << " +- "
                    << static_cast<double>(expected.error);
    }
  }
}

/// The run of a graph of gradients: what every node gave, and how far from its real value the model lets it be.
struct Checked {
  std::vector<std::vector<Tensor>> tensors;
  std::vector<std::vector<std::vector<Real>>> errors;  ///< node, output, element
};

/// Every node on an executor, against what the model library admits for the values that entered it.
inline Checked expect_admitted_nodes(const Differentiated& d, const GradientGraph& g, const Mode& mode) {
  std::vector<Feed> feeds;
  for (const auto& [name, tensor] : d.data) feeds.push_back({name, &tensor});
  std::vector<Port> wanted;
  for (const std::optional<Port>& p : g.gradients)
    if (p) wanted.push_back(*p);
  Checked checked;
  checked.tensors = run_all(g.graph, feeds, wanted, options_of(mode));
  checked.errors.resize(static_cast<size_t>(g.graph.size()));
  std::vector<std::vector<Array>> loaded(static_cast<size_t>(g.graph.size()));
  for (int i = 0; i < g.graph.size(); ++i) {
    const Node& n = g.graph.node(i);
    const std::vector<Tensor>& tensors = checked.tensors[static_cast<size_t>(i)];
    for (const Tensor& t : tensors) loaded[static_cast<size_t>(i)].push_back(model::load(t, mode));
    checked.errors[static_cast<size_t>(i)].resize(tensors.size());
    if (tensors.empty() || (n.inputs.empty() && n.op != "Fill")) continue;
    std::vector<const Array*> in;
    for (const Port p : n.inputs) in.push_back(&loaded[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]);
    const std::vector<Array> ranges = model_operation(n, in, mode), reals = real_operation(n, in);
    for (size_t o = 0; o < tensors.size(); ++o) {
      const std::string name = d.what + ", " + g.graph.port_name({i, static_cast<int>(o)}) + " (" + n.op + ")";
      expect_admitted(tensors[o], ranges[o], mode, name);
      for (int64_t e = 0; e < reals[o].size(); ++e) {
        const model::Admitted set = model::admitted(ranges[o][e], tensors[o].dtype(), mode);
        const Real r = reals[o][e].low;
        checked.errors[static_cast<size_t>(i)][o].push_back(std::fmax(std::fabs(set.high - r), std::fabs(set.low - r)));
      }
    }
  }
  return checked;
}

/// The whole: a gradient of the run is within sum over all nodes and elements of |d gradient / d element| times the
/// error that the model admits there, of the real gradient. Derivatives are differences of the real graph's tail with
/// the element moved by 2^-20 of its size: good to about that, and the error's second order is 2^-20 of it or less for
/// fp32, which 1 % covers. Half the least fp32 number for results that nothing else moves.
inline void expect_within_conditioned_error(const Differentiated& d, const GradientGraph& g, const Checked& checked) {
  const std::map<int, Array> given = d.given();
  const Values real = evaluate(g.graph, given);
  std::vector<Reals> bounds;
  for (const std::optional<Port>& p : g.gradients)
    bounds.emplace_back(p ? real[static_cast<size_t>(p->node)][static_cast<size_t>(p->port)].at.size() : 0, Real{0});
  for (int n = 0; n < g.graph.size(); ++n)
    for (size_t o = 0; o < checked.errors[static_cast<size_t>(n)].size(); ++o)
      for (size_t e = 0; e < checked.errors[static_cast<size_t>(n)][o].size(); ++e) {
        const Real error = checked.errors[static_cast<size_t>(n)][o][e];
        if (error == 0) continue;
        Values moved = real;
        Range& x = moved[static_cast<size_t>(n)][o].at[e];
        const Real step = 0x1p-20L * std::fmax(std::fabs(x.low), 0x1p-10L);
        x = x.low + step;
        evaluate_from(g.graph, n + 1, moved, given);
        for (size_t v = 0; v < bounds.size(); ++v)
          for (size_t i = 0; i < bounds[v].size(); ++i) {
            const int64_t place = static_cast<int64_t>(i);
            bounds[v][i] +=
                error *
                std::fabs(gradient_at(moved, g.gradients[v], place) - gradient_at(real, g.gradients[v], place)) / step;
          }
      }
  for (size_t v = 0; v < bounds.size(); ++v) {
    if (!g.gradients[v]) continue;
    const Port p = *g.gradients[v];
    const Array got = model::as_it_stands(checked.tensors[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]);
    for (size_t i = 0; i < bounds[v].size(); ++i) {
      const Real expected = gradient_at(real, p, static_cast<int64_t>(i));
      EXPECT_LT(bounds[v][i], 0x1p-14L * (1 + std::fabs(expected))) << d.what << ": the bound says nothing";
      EXPECT_LE(std::fabs(got.at[i].low - expected), 1.01L * bounds[v][i] + 0x1p-150L)
          << d.what << ", variable " << v << " element " << i << ": " << static_cast<double>(got.at[i].low) << " for "
          << static_cast<double>(expected);
    }
  }
}

}  // namespace softamp::test
