// Softmax, cross-entropies and normalisation: sums in any order, every other step with its fp32 rounding.
#include <algorithm>

#include "tests/oracle/tensor_model_elementwise.h"
#include "tests/oracle/tensor_model_reductions.h"

namespace oracle::model {
namespace {

int64_t rows_of(const Array& x) { return x.extent(-1) == 0 ? 0 : x.size() / x.extent(-1); }

/// e^t and ln t in fp32.
Range exponential(const Range& t) {
  const Function& f = function("Exp");
  const Range y = monotone(t, f.value);
  return y.nan ? y : f32_function(y, f.ulps);
}
Range logarithm(const Range& t) {
  const Function& f = function("Log");
  const Range y = monotone(t, f.value);
  return y.nan ? y : f32_function(y, f.ulps);
}

/// What a row's outputs share: x - max, its exponentials, their sum.
struct Row {
  std::vector<Range> shifted, power;
  Range sum;
};
Row row_of(const Array& x, int64_t row) {
  const int64_t classes = x.extent(-1);
  Row r;
  Range most = x[row * classes];
  for (int64_t j = 1; j < classes; ++j) most = larger(most, x[row * classes + j]);
  for (int64_t j = 0; j < classes; ++j) {
    r.shifted.push_back(f32(x[row * classes + j] - most));
    r.power.push_back(exponential(r.shifted.back()));
  }
  r.sum = sum_in_any_order(r.power);
  // The greatest element's power is 1 and none is negative: no fp32 sum is below 1.
  if (!r.sum.nan) r.sum.low = std::max(r.sum.low, Real{1});
  return r;
}

}  // namespace

Array softmax(const Array& x) {
  Array out(x.shape);
  for (int64_t row = 0; row < rows_of(x); ++row) {
    const Row r = row_of(x, row);
    for (int64_t j = 0; j < x.extent(-1); ++j)
      out[row * x.extent(-1) + j] = f32(r.power[static_cast<size_t>(j)] / r.sum);
  }
  return out;
}

Array log_softmax(const Array& x) {
  Array out(x.shape);
  for (int64_t row = 0; row < rows_of(x); ++row) {
    const Row r = row_of(x, row);
    for (int64_t j = 0; j < x.extent(-1); ++j)
      out[row * x.extent(-1) + j] = f32(r.shifted[static_cast<size_t>(j)] - logarithm(r.sum));
  }
  return out;
}

Array softmax_gradient(const Array& y, const Array& dy) {
  Array out(y.shape);
  const int64_t classes = y.extent(-1);
  for (int64_t row = 0; row < rows_of(y); ++row) {
    std::vector<Range> terms;
    for (int64_t j = 0; j < classes; ++j) terms.push_back(f32(dy[row * classes + j] * y[row * classes + j]));
    const Range total = sum_in_any_order(terms);
    for (int64_t i = row * classes; i < (row + 1) * classes; ++i) out[i] = f32(f32(dy[i] - total) * y[i]);
  }
  return out;
}

Array log_softmax_gradient(const Array& y, const Array& dy) {
  Array out(y.shape);
  const int64_t classes = y.extent(-1);
  for (int64_t row = 0; row < rows_of(y); ++row) {
    std::vector<Range> terms;
    for (int64_t j = 0; j < classes; ++j) terms.push_back(dy[row * classes + j]);
    const Range total = sum_in_any_order(terms);
    for (int64_t i = row * classes; i < (row + 1) * classes; ++i) out[i] = f32(dy[i] - f32(exponential(y[i]) * total));
  }
  return out;
}

CrossEntropy cross_entropy(const Array& features, const Array& labels) {
  const int64_t classes = features.extent(-1), rows = features.shape[0];
  CrossEntropy out{Array({rows}), Array(features.shape)};
  for (int64_t row = 0; row < rows; ++row) {
    const Row r = row_of(features, row);
    const Range log_sum = logarithm(r.sum);
    std::vector<Range> terms;
    for (int64_t j = 0; j < classes; ++j) {
      const Range& label = labels[row * classes + j];
      const Range minus_log = f32(log_sum - r.shifted[static_cast<size_t>(j)]);
      terms.push_back(f32(label * minus_log));
      out.backprop[row * classes + j] = f32(f32(r.power[static_cast<size_t>(j)] / r.sum) - label);
    }
    out.loss[row] = sum_in_any_order(terms);
  }
  return out;
}

NormGroups batch_groups(const std::vector<int64_t>& shape) {
  const Array x(shape);
  const int64_t channels = shape.back();
  NormGroups g{{channels}, {}, {}, {}};
  g.places.resize(static_cast<size_t>(channels));
  for (int64_t i = 0; i < x.size(); ++i) {
    g.places[static_cast<size_t>(i % channels)].push_back(i);
    g.group.push_back(i % channels);
    g.parameter.push_back(i % channels);
  }
  return g;
}

NormGroups layer_groups(const std::vector<int64_t>& shape, int64_t axis) {
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  NormGroups g{std::vector<int64_t>(shape.begin(), shape.begin() + axis), {}, {}, {}};
  const int64_t outer = product_of(g.statistics_shape), inner = outer ? product_of(shape) / outer : 0;
  g.places.resize(static_cast<size_t>(outer));
  for (int64_t i = 0; i < product_of(shape); ++i) {
    g.places[static_cast<size_t>(i / inner)].push_back(i);
    g.group.push_back(i / inner);
    g.parameter.push_back(i % inner);
  }
  return g;
}

NormGroups channel_groups(const std::vector<int64_t>& shape, int64_t groups) {
  const Array x(shape);
  const int64_t channels = shape.back(), to_group = channels / groups;
  NormGroups g{{shape[0], groups}, {}, {}, {}};
  g.places.resize(static_cast<size_t>(shape[0] * groups));
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t sample = x.index(i)[0], channel = i % channels, group = sample * groups + channel / to_group;
    g.places[static_cast<size_t>(group)].push_back(i);
    g.group.push_back(group);
    g.parameter.push_back(channel);
  }
  return g;
}

namespace {

Range inverse_deviation(const Range& variance, Real epsilon) {
  return f32(Range(Real{1}) / f32(square_root(f32(variance + Range(epsilon)))));
}

/// Sum of f(place) over a group, divided by the number of elements.
Range mean_over(const std::vector<int64_t>& places, const std::function<Range(int64_t)>& f) {
  std::vector<Range> terms;
  for (const int64_t p : places) terms.push_back(f(p));
  return f32(sum_in_any_order(terms) / count_of(places.size()));
}

}  // namespace

Array normalise_by(const Array& x, const Array& gamma, const Array& beta, const Array& mean, const Array& variance,
                   const NormGroups& groups, Real epsilon) {
  Array y(x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t g = groups.group[static_cast<size_t>(i)], p = groups.parameter[static_cast<size_t>(i)];
    const Range h = f32(f32(x[i] - mean[g]) * inverse_deviation(variance[g], epsilon));
    y[i] = f32(h * gamma[p] + beta[p]);
  }
  return y;
}

Normalised normalise(const Array& x, const Array& gamma, const Array& beta, const NormGroups& groups, Real epsilon,
                     bool stable) {
  Normalised out{Array(x.shape), Array(groups.statistics_shape), Array(groups.statistics_shape)};
  for (int64_t g = 0; g < out.mean.size(); ++g) {
    const std::vector<int64_t>& places = groups.places[static_cast<size_t>(g)];
    const Range mean = mean_over(places, [&](int64_t p) { return x[p]; });
    out.mean[g] = mean;
    if (stable)
      out.variance[g] = mean_over(places, [&](int64_t p) { return f32(square(f32(x[p] - mean))); });
    else
      out.variance[g] = f32(mean_over(places, [&](int64_t p) { return f32(square(x[p])); }) - f32(square(mean)));
  }
  out.y = normalise_by(x, gamma, beta, out.mean, out.variance, groups, epsilon);
  return out;
}

NormGradients norm_gradients(const Array& dy, const Array& x, const Array& gamma, const Array& mean,
                             const Array& variance, const NormGroups& groups, Real epsilon, bool training, bool batch) {
  NormGradients out{Array(x.shape), Array(gamma.shape), Array(gamma.shape)};
  std::vector<Range> inverse, h;
  for (int64_t g = 0; g < mean.size(); ++g) inverse.push_back(inverse_deviation(variance[g], epsilon));
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t g = groups.group[static_cast<size_t>(i)];
    h.push_back(f32(f32(x[i] - mean[g]) * inverse[static_cast<size_t>(g)]));
  }
  std::vector<std::vector<Range>> to_gamma(gamma.at.size()), to_beta(gamma.at.size());
  for (int64_t i = 0; i < x.size(); ++i) {
    const size_t p = static_cast<size_t>(groups.parameter[static_cast<size_t>(i)]);
    to_gamma[p].push_back(f32(dy[i] * h[static_cast<size_t>(i)]));
    to_beta[p].push_back(dy[i]);
  }
  for (int64_t p = 0; p < gamma.size(); ++p) {
    out.gamma[p] = sum_in_any_order(to_gamma[static_cast<size_t>(p)]);
    out.beta[p] = sum_in_any_order(to_beta[static_cast<size_t>(p)]);
  }
  for (int64_t g = 0; g < mean.size(); ++g) {
    const std::vector<int64_t>& places = groups.places[static_cast<size_t>(g)];
    const auto arriving = [&](int64_t i) {
      return batch ? dy[i] : f32(dy[i] * gamma[groups.parameter[static_cast<size_t>(i)]]);
    };
    const Range own = inverse[static_cast<size_t>(g)], factor = batch ? f32(gamma[g] * own) : own;
    const Range a = mean_over(places, arriving);
    const Range b = mean_over(places, [&](int64_t i) { return f32(arriving(i) * h[static_cast<size_t>(i)]); });
    for (const int64_t i : places) {
      const Range inner = f32(f32(arriving(i) - a) - h[static_cast<size_t>(i)] * b);
      out.x[i] = f32(factor * (training ? inner : arriving(i)));
    }
  }
  return out;
}

}  // namespace oracle::model
