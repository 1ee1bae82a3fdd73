// The operations of real_graph.h: their definitions in long double.
#pragma once

#include <algorithm>
#include <numeric>

#include "tests/graph/real_graph.h"
#include "tests/ops/element_rows.h"

namespace softamp::test {

/// A function of one element; nothing for other operations.
inline std::function<Real(Real)> real_function(const Node& n) {
  const std::string& op = n.op;
  if (op == "LogicalNot") return [](Real x) { return x == 0 ? Real{1} : Real{0}; };
  if (op == "ZerosLike") return [](Real) { return Real{0}; };
  if (op == "OnesLike") return [](Real) { return Real{1}; };
  if (op == "Cast") {
    const DType t = attribute<DType>(n, "DstT");
    return [t](Real x) { return t == DType::kBool ? Real(x != 0) : t == DType::kInt32 ? std::trunc(x) : x; };
  }
  const ElementRow* const row = element_row(op, n.attributes);
  if (!row || row->operands() != 1) return {};
  return [row, &n](Real x) { return row->value(x, 0, n.attributes); };
}

/// Of two elements, broadcast.
inline std::function<Real(Real, Real)> real_function_of_two(const Node& n) {
  const std::string& op = n.op;
  if (op == "LogicalAnd") return [](Real x, Real y) { return Real(x != 0 && y != 0); };
  if (op == "LogicalOr") return [](Real x, Real y) { return Real(x != 0 || y != 0); };
  const ElementRow* const row = element_row(op == "BiasAdd" ? "AddV2" : op, n.attributes);
  if (!row || row->operands() != 2) return {};
  return [row, &n](Real x, Real y) { return row->value(x, y, n.attributes); };
}

inline Array of_two(const Array& x, const Array& y, const std::function<Real(Real, Real)>& f) {
  return model::broadcast_map(x, y, [&](const Range& a, const Range& b) { return Range(f(a.low, b.low)); });
}

inline Real total(const Reals& x) { return std::accumulate(x.begin(), x.end(), Real{0}); }
inline Real mean_of(const Reals& x) { return total(x) / static_cast<Real>(x.size()); }

/// Each row of the last axis.
inline Array by_rows(const Array& x, const Array& y, const std::function<Reals(const Reals&, const Reals&)>& f) {
  Array out(x.shape);
  const int64_t columns = x.shape.back();
  for (int64_t first = 0; first < x.size(); first += columns) {
    Reals a, b;
    for (int64_t j = first; j < first + columns; ++j) {
      a.push_back(x[j].low);
      b.push_back(y[j].low);
    }
    const Reals row = f(a, b);
    for (int64_t j = 0; j < columns; ++j) out[first + j] = row[static_cast<size_t>(j)];
  }
  return out;
}

inline Reals real_log_softmax(const Reals& x) {
  const Real most = *std::max_element(x.begin(), x.end());
  Real sum = 0;
  for (const Real v : x) sum += std::exp(v - most);
  Reals out;
  for (const Real v : x) out.push_back(v - most - std::log(sum));
  return out;
}

inline std::optional<std::vector<Array>> real_softmax(const Node& n, std::span<const Array* const> x) {
  const bool logarithmic = n.op.starts_with("Log");
  if (n.op == "Softmax" || n.op == "LogSoftmax")
    return {{by_rows(*x[0], *x[0], [&](const Reals& a, const Reals&) {
      Reals y = real_log_softmax(a);
      for (Real& v : y) v = logarithmic ? v : std::exp(v);
      return y;
    })}};
  if (n.op == "SoftmaxGrad" || n.op == "LogSoftmaxGrad")
    return {{by_rows(*x[0], *x[1], [&](const Reals& y, const Reals& g) {
      Reals out;
      Real sum = 0;
      for (size_t j = 0; j < y.size(); ++j) sum += logarithmic ? g[j] : g[j] * y[j];
      for (size_t j = 0; j < y.size(); ++j)
        out.push_back(logarithmic ? g[j] - std::exp(y[j]) * sum : (g[j] - sum) * y[j]);
      return out;
    })}};
  if (!n.op.ends_with("SoftmaxCrossEntropyWithLogits")) return std::nullopt;
  Array labels = *x[1];
  if (n.op.starts_with("Sparse")) {
    labels = Array(x[0]->shape);
    for (int64_t i = 0; i < x[1]->size(); ++i)
      labels[i * labels.shape[1] + static_cast<int64_t>((*x[1])[i].low)] = Real{1};
  }
  Array loss({x[0]->shape[0]});
  int64_t row = 0;
  Array backprop = by_rows(*x[0], labels, [&](const Reals& logits, const Reals& label) {
    Reals y = real_log_softmax(logits);
    Real sum = 0;
    for (size_t j = 0; j < y.size(); ++j) {
      sum -= label[j] * y[j];
      y[j] = std::exp(y[j]) - label[j];
    }
    loss[row++] = sum;
    return y;
  });
  return {{loss, backprop}};
}

inline std::optional<std::vector<Array>> real_norm(const Node& n, std::span<const Array* const> x) {
  if (n.op.find("Norm") == std::string::npos) return std::nullopt;
  const Real epsilon = float_of(n, "epsilon");
  const bool batch = n.op.starts_with("FusedBatchNorm"), training = !batch || flag_of(n, "is_training");
  const bool backward = n.op.find("Grad") != std::string::npos;
  const Array& values = *x[backward ? 1 : 0];
  const model::NormGroups groups = groups_of(n, values.shape);
  const auto over = [&](const Ints& places, const std::function<Real(int64_t)>& f) {
    Reals terms;
    for (const int64_t p : places) terms.push_back(f(p));
    return mean_of(terms);
  };
  if (!backward) {
    Array y(values.shape), mean(groups.statistics_shape), variance(groups.statistics_shape);
    for (int64_t g = 0; g < mean.size(); ++g) {
      const Ints& places = groups.places[static_cast<size_t>(g)];
      const Real m = training ? over(places, [&](int64_t p) { return values[p].low; }) : (*x[3])[g].low;
      const Real v = training ? over(places, [&](int64_t p) { return (values[p].low - m) * (values[p].low - m); })
                              : (*x[4])[g].low;
      mean[g] = m;
      variance[g] = v;
      for (const int64_t p : places) {
        const int64_t c = groups.parameter[static_cast<size_t>(p)];
        y[p] = (values[p].low - m) / std::sqrt(v + epsilon) * (*x[1])[c].low + (*x[2])[c].low;
      }
    }
    if (!batch) return {{y, mean, variance}};
    Array running = variance;  // Bessel's correction; a factor of 1
    const Real count = static_cast<Real>(groups.places.empty() ? 0 : groups.places[0].size());
    if (training)
      for (Range& r : running.at) r = r.low * count / std::fmax(count - 1, Real{1});
    return {{y, mean, running, mean, variance}};
  }
  const Array &dy = *x[0], &gamma = *x[2], &mean = *x[3], &variance = *x[4];
  Array dx(values.shape), scale(gamma.shape), offset(gamma.shape);
  for (int64_t g = 0; g < mean.size(); ++g) {
    const Ints& places = groups.places[static_cast<size_t>(g)];
    const Real inverse = 1 / std::sqrt(variance[g].low + epsilon);
    const auto h = [&](int64_t p) { return (values[p].low - mean[g].low) * inverse; };
    const auto through = [&](int64_t p) { return dy[p].low * gamma[groups.parameter[static_cast<size_t>(p)]].low; };
    const Real a = training ? over(places, through) : 0;
    const Real b = training ? over(places, [&](int64_t p) { return through(p) * h(p); }) : 0;
    for (const int64_t p : places) {
      const int64_t c = groups.parameter[static_cast<size_t>(p)];
      dx[p] = inverse * (through(p) - a - h(p) * b);
      scale[c] = scale[c].low + dy[p].low * h(p);
      offset[c] = offset[c].low + dy[p].low;
    }
  }
  return {{dx, scale, offset}};
}

inline std::optional<std::vector<Array>> real_pooling(const Node& n, std::span<const Array* const> x) {
  if (n.op.find("Pool") == std::string::npos) return std::nullopt;
  const bool maximum = n.op.starts_with("Max"), backward = n.op.ends_with("Grad");
  const Ints in = backward && !maximum ? ints_of(n, "orig_input_shape") : x[0]->shape;
  const std::vector<Ints> windows = pooled_places(n, in);
  Array out(extents_of(n.outputs[0].shape));
  for (size_t o = 0; o < windows.size(); ++o) {
    const Ints& places = windows[o];
    const int64_t place = static_cast<int64_t>(o);
    const Real count = static_cast<Real>(places.size());
    if (maximum) {
      int64_t best = places[0];
      for (const int64_t p : places)
        if ((*x[0])[p].low > (*x[0])[best].low) best = p;
      if (backward)
        out[best] = out[best].low + (*x[2])[place].low;
      else
        out[place] = (*x[0])[best];
      continue;
    }
    for (const int64_t p : places)
      if (backward)
        out[p] = out[p].low + (*x[0])[place].low / count;
      else
        out[place] = out[place].low + (*x[0])[p].low / count;
  }
  return {{out}};
}

inline std::optional<std::vector<Array>> real_reduction(const Node& n, std::span<const Array* const> x) {
  Ints axes;
  bool keep = false;
  if (n.op == "BiasAddGrad") {
    for (int a = 0; a + 1 < x[0]->rank(); ++a) axes.push_back(a);
  } else if (n.op == "Sum" || n.op == "Mean" || n.op == "Max" || n.op == "Min") {
    axes = ints_of(n, "axes");
    keep = flag_of(n, "keep_dims");
  } else if (n.op != "L2Loss") {
    return std::nullopt;
  }
  return {{model::reduce(*x[0], model::reduce_groups(x[0]->shape, axes, keep), [&](const std::vector<Range>& r) {
    Reals terms;
    for (const Range& v : r) terms.push_back(n.op == "L2Loss" ? v.low * v.low / 2 : v.low);
    if (n.op == "Max") return Range(*std::max_element(terms.begin(), terms.end()));
    if (n.op == "Min") return Range(*std::min_element(terms.begin(), terms.end()));
    return Range(n.op == "Mean" ? mean_of(terms) : total(terms));
  })}};
}

inline std::vector<Array> real_operation(const Node& n, std::span<const Array* const> x) {
  if (n.op == "Const") return {model::as_it_stands(*attribute<std::shared_ptr<const Tensor>>(n, "value"))};
  if (n.op == "VariableV2") return {Array(extents_of(n.outputs[0].shape))};  // zeros until set
  if (n.op == "Fill") {
    Array out(extents_of(n.outputs[0].shape));
    for (Range& r : out.at) r = static_cast<Real>(attribute<double>(n, "value"));
    return {out};
  }
  if (const std::optional<Moves> m = moves_of(n, x)) {
    std::vector<Array> out;
    for (size_t o = 0; o < m->outputs.size(); ++o) {
      out.emplace_back(extents_of(n.outputs[o].shape));
      for (size_t i = 0; i < m->outputs[o].size(); ++i) {
        const Moves::From from = m->outputs[o][i];
        out[o].at[i] = from.input < 0 ? Range(m->fill) : (*x[static_cast<size_t>(from.input)])[from.place];
      }
    }
    return out;
  }
  if (const auto products = products_of(n, x)) return {summed(*products)};
  for (const auto family : {real_reduction, real_pooling, real_softmax, real_norm})
    if (const auto out = family(n, x)) return *out;
  if (const auto f = real_function(n)) return {model::map(*x[0], [&](const Range& r) { return Range(f(r.low)); })};
  if (const auto f = real_function_of_two(n)) return {of_two(*x[0], *x[1], f)};
  if (n.op == "AddN") {
    Array sum = *x[0];
    for (size_t i = 1; i < x.size(); ++i) sum = of_two(sum, *x[i], [](Real a, Real b) { return a + b; });
    return {sum};
  }
  if (n.op == "SelectV2") {
    const Array yes = of_two(*x[0], *x[1], [](Real c, Real t) { return c != 0 ? t : Real{0}; });
    const Array no = of_two(*x[0], *x[2], [](Real c, Real e) { return c == 0 ? e : Real{0}; });
    return {of_two(yes, no, [](Real a, Real b) { return a + b; })};
  }
  if (n.op == "UnsortedSegmentSum") {
    Array out(extents_of(n.outputs[0].shape));
    const int64_t inner = x[1]->size() ? x[0]->size() / x[1]->size() : 0;
    for (int64_t i = 0; i < x[1]->size(); ++i)
      for (int64_t j = 0; j < inner; ++j) {
        const int64_t s = static_cast<int64_t>((*x[1])[i].low);
        if (s >= 0) out[s * inner + j] = out[s * inner + j].low + (*x[0])[i * inner + j].low;
      }
    return {out};
  }
  throw std::logic_error("no real definition of " + n.op);
}

}  // namespace softamp::test
