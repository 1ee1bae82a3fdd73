#include "tests/oracle/tensor_model_products.h"

#include <algorithm>
#include <functional>

namespace oracle::model {

Range sum_of_products(const Factors& f, const Partials& partials, const Mode& mode) {
  if (f.a.empty()) return Real{0};
  Range total = Real{0};
  Real magnitude = 0;
  for (size_t i = 0; i < f.a.size(); ++i) {
    const Range p = f.a[i] * f.b[i];
    total = total + p;
    magnitude += p.magnitude();
  }
  if (total.nan) return total;
  // A product goes through at most n fused steps (its own, and one for each after it) and the additions of partials,
  // each with a relative error of u = 2^-24, or 2^-150 absolutely where it underflows.
  const Real n = static_cast<Real>(f.a.size()), steps = n + static_cast<Real>(partials.additions);
  const Real g = steps * 0x1p-24L / (1 - steps * 0x1p-24L);
  Real distance = g * magnitude + n * 0x1p-150L;
  if (partials.half) {
    // And through at most r roundings to fp16, each within v = 2^-11 relative (2^-10 stochastically), or half a
    // subnormal unit, 2^-25 (2^-24). Together |error| <= ((1 + g)(1 + v)^r - 1) sum |a b| + r 2^-25 (1 + v)^r.
    const Real v = mode.stochastic ? 0x1p-10L : 0x1p-11L, least = mode.stochastic ? 0x1p-24L : 0x1p-25L;
    const Real r = static_cast<Real>(partials.roundings), grown = std::pow(1 + v, r);
    distance = ((1 + g) * grown - 1) * magnitude + r * least * grown + n * 0x1p-150L;
  }
  return within(total, distance);
}

Array Products::sums(const Partials& partials, const Mode& mode) const {
  Array out(shape);
  for (int64_t i = 0; i < out.size(); ++i) out[i] = sum_of_products(outputs[static_cast<size_t>(i)], partials, mode);
  return out;
}

Products matrix_product(const Array& x, const Array& y, bool transpose_x, bool transpose_y) {
  const auto batch = [](const Array& a) { return std::vector<int64_t>(a.shape.begin(), a.shape.end() - 2); };
  const int64_t rows = x.extent(transpose_x ? -1 : -2), inner = x.extent(transpose_x ? -2 : -1);
  const int64_t columns = y.extent(transpose_y ? -2 : -1);
  const std::vector<int64_t> bx = batch(x), by = batch(y);
  const size_t rank = std::max(bx.size(), by.size());
  std::vector<int64_t> shape(rank, 1);
  for (size_t a = 0; a < rank; ++a)
    for (const auto* b : {&bx, &by})
      if (a + b->size() >= rank) shape[a] = std::max(shape[a], (*b)[a + b->size() - rank]);
  for (const auto* b : {&bx, &by})  // an extent of 0 is broadcast, too
    for (size_t a = 0; a < b->size(); ++a)
      if ((*b)[a] == 0) shape[a + rank - b->size()] = 0;
  shape.push_back(rows);
  shape.push_back(columns);
  Products products(shape);
  const Array places(shape);
  for (int64_t o = 0; o < product_of(shape); ++o) {
    const std::vector<int64_t> index = places.index(o);
    const auto element = [&](const Array& a, int64_t row, int64_t column) {
      const size_t own = a.shape.size() - 2;
      std::vector<int64_t> at;
      for (size_t axis = 0; axis < own; ++axis) at.push_back(a.shape[axis] == 1 ? 0 : index[axis + rank - own]);
      at.push_back(row);
      at.push_back(column);
      return a[a.place(at)];
    };
    const int64_t i = index[rank], j = index[rank + 1];
    for (int64_t k = 0; k < inner; ++k)
      products.add(o, transpose_x ? element(x, k, i) : element(x, i, k),
                   transpose_y ? element(y, j, k) : element(y, k, j));
  }
  return products;
}

int64_t Window::outputs(int axis, int64_t input, int64_t taps) const {
  const int64_t s = strides[static_cast<size_t>(axis)], d = dilations[static_cast<size_t>(axis)];
  const int64_t extent = (taps - 1) * d + 1;
  return same ? (input + s - 1) / s : (input - extent + s) / s;
}
int64_t Window::before(int axis, int64_t input, int64_t taps) const {
  if (!same) return 0;
  const int64_t s = strides[static_cast<size_t>(axis)], d = dilations[static_cast<size_t>(axis)];
  const int64_t total = (outputs(axis, input, taps) - 1) * s + (taps - 1) * d + 1 - input;
  return std::max<int64_t>(total, 0) / 2;
}

namespace {

/// Calls f(input place, filter place, output place) for every product of a convolution: arrays for their shapes only.
void each_product(const Array& x, const Array& w, const Array& y, const Window& window, bool depthwise,
                  const std::function<void(int64_t, int64_t, int64_t)>& f) {
  const int64_t taps_h = w.shape[0], taps_w = w.shape[1], channels = w.shape[2], last = w.shape[3];
  const int64_t top = window.before(1, x.shape[1], taps_h), left = window.before(2, x.shape[2], taps_w);
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t oh = 0; oh < y.shape[1]; ++oh)
      for (int64_t ow = 0; ow < y.shape[2]; ++ow)
        for (int64_t kh = 0; kh < taps_h; ++kh)
          for (int64_t kw = 0; kw < taps_w; ++kw) {
            const int64_t ih = oh * window.strides[1] + kh * window.dilations[1] - top;
            const int64_t iw = ow * window.strides[2] + kw * window.dilations[2] - left;
            if (ih < 0 || ih >= x.shape[1] || iw < 0 || iw >= x.shape[2]) continue;
            for (int64_t c = 0; c < channels; ++c)
              for (int64_t o = 0; o < last; ++o)
                f(x.place({n, ih, iw, c}), w.place({kh, kw, c, o}), y.place({n, oh, ow, depthwise ? c * last + o : o}));
          }
}

std::vector<int64_t> output_shape(const std::vector<int64_t>& x, const std::vector<int64_t>& w, const Window& window,
                                  bool depthwise) {
  return {x[0], window.outputs(1, x[1], w[0]), window.outputs(2, x[2], w[1]), depthwise ? w[2] * w[3] : w[3]};
}

}  // namespace

Products convolution(const Array& x, const Array& w, const Window& window, bool depthwise) {
  Products products(output_shape(x.shape, w.shape, window, depthwise));
  each_product(x, w, Array(products.shape), window, depthwise,
               [&](int64_t i, int64_t k, int64_t o) { products.add(o, x[i], w[k]); });
  return products;
}

Products convolution_input_gradient(const std::vector<int64_t>& input, const Array& w, const Array& dy,
                                    const Window& window, bool depthwise) {
  Products products(input);
  each_product(Array(input), w, dy, window, depthwise,
               [&](int64_t i, int64_t k, int64_t o) { products.add(i, dy[o], w[k]); });
  return products;
}

Products convolution_filter_gradient(const Array& x, const std::vector<int64_t>& filter, const Array& dy,
                                     const Window& window, bool depthwise) {
  Products products(filter);
  each_product(x, Array(filter), dy, window, depthwise,
               [&](int64_t i, int64_t k, int64_t o) { products.add(k, x[i], dy[o]); });
  return products;
}

}  // namespace oracle::model
