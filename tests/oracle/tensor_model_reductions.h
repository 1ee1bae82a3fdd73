// Models of reductions, pooling, softmax and cross-entropies, and normalisation.
#pragma once

#include <functional>

#include "tests/oracle/tensor_model_products.h"

namespace oracle::model {

/// The elements that make each output: those that agree with it in all axes but the reduced ones, in row-major order.
struct Groups {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> places;
};
/// axes: none means all.
Groups reduce_groups(const std::vector<int64_t>& shape, std::vector<int64_t> axes, bool keep_dims);
Array reduce(const Array& x, const Groups& groups, const std::function<Range(const std::vector<Range>&)>& f);
std::vector<Range> elements_of(const Array& x, const std::vector<int64_t>& places);

/// n as fp32 arithmetic takes it.
Range count_of(size_t n);
/// The sum by additions that round to halves, each on the way of an element at most `depth` times.
Range half_sum(const std::vector<Range>& terms, int64_t depth, const Mode& mode);
/// Lowest place of the greatest (least) element, or of the first NaN.
int64_t place_of_extremum(const std::vector<Range>& x, bool least);

// Pooling; `window` with dilations of 1, `ksize` NHWC.
Array max_pool(const Array& x, const std::vector<int64_t>& ksize, const Window& window);
/// Each window's gradient to its first maximum; sums of fp32 numbers in any order.
Array max_pool_gradient(const Array& x, const Array& dy, const std::vector<int64_t>& ksize, const Window& window);
Array average_pool(const Array& x, const std::vector<int64_t>& ksize, const Window& window);
Array average_pool_gradient(const std::vector<int64_t>& input, const Array& dy, const std::vector<int64_t>& ksize,
                            const Window& window);

// Along the last axis; fp32 inside, each step rounded.
Array softmax(const Array& x);
Array log_softmax(const Array& x);
Array softmax_gradient(const Array& y, const Array& dy);
Array log_softmax_gradient(const Array& y, const Array& dy);
struct CrossEntropy {
  Array loss, backprop;
};
CrossEntropy cross_entropy(const Array& features, const Array& labels);

/// Which elements share their statistics.
enum class Norm { kBatch, kLayer, kGroup };
struct NormGroups {
  std::vector<int64_t> statistics_shape;
  std::vector<std::vector<int64_t>> places;  ///< of each group
  std::vector<int64_t> group;                ///< of each element
  std::vector<int64_t> parameter;            ///< of each element: place in gamma
};
NormGroups batch_groups(const std::vector<int64_t>& shape);
NormGroups layer_groups(const std::vector<int64_t>& shape, int64_t axis);
NormGroups channel_groups(const std::vector<int64_t>& shape, int64_t groups);

struct Normalised {
  Array y, mean, variance;
};
/// (x - mean) / sqrt(variance + epsilon) gamma + beta; epsilon as fp32. stable: squares of x - mean are averaged, else
/// the mean's square is subtracted from the mean of squares.
Normalised normalise(const Array& x, const Array& gamma, const Array& beta, const NormGroups& groups, Real epsilon,
                     bool stable);
/// The same with statistics that are given.
Array normalise_by(const Array& x, const Array& gamma, const Array& beta, const Array& mean, const Array& variance,
                   const NormGroups& groups, Real epsilon);
struct NormGradients {
  Array x, gamma, beta;
};
/// The derivatives of sum(y dy). training: mean and variance depend on x, as in the formula
/// dx = i (g - mean(g) - h mean(g h)), g = dy gamma, h the normalised x; else dx = i g.
/// batch: gamma is one number to a group, and stands before the bracket: dx = gamma i (dy - mean(dy) - h mean(dy h)).
NormGradients norm_gradients(const Array& dy, const Array& x, const Array& gamma, const Array& mean,
                             const Array& variance, const NormGroups& groups, Real epsilon, bool training, bool batch);

}  // namespace oracle::model
