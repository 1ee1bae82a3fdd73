#include "tests/oracle/tensor_model_products.h"

#include <algorithm>
#include <functional>
#include <map>

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

Products contraction(const std::string& equation, const Array& x, const Array& y) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  const std::string terms[] = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1)};
  const std::string result = equation.substr(arrow + 2);
  const Array* const arrays[] = {&x, &y};
  std::map<char, int64_t> extents, at;
  std::string inner;
  for (int t : {0, 1})
    for (size_t axis = 0; axis < terms[t].size(); ++axis) {
      const char letter = terms[t][axis];
      const auto [extent, is_new] = extents.emplace(letter, arrays[t]->shape[axis]);
      if (!is_new && extent->second == 1) extent->second = arrays[t]->shape[axis];
      if (is_new && result.find(letter) == std::string::npos) inner += letter;
    }
  const auto shape_of = [&](const std::string& letters) {
    std::vector<int64_t> shape;
    for (const char c : letters) shape.push_back(extents[c]);
    return shape;
  };
  const auto element = [&](int t) -> const Range& {
    std::vector<int64_t> index;
    for (size_t axis = 0; axis < terms[t].size(); ++axis)
      index.push_back(arrays[t]->shape[axis] == 1 ? 0 : at[terms[t][axis]]);
    return (*arrays[t])[arrays[t]->place(index)];
  };
  const auto go_to = [&](const std::string& letters, const std::vector<int64_t>& index) {
    for (size_t i = 0; i < letters.size(); ++i) at[letters[i]] = index[i];
  };
  Products products(shape_of(result));
  const Array outputs(products.shape), sums(shape_of(inner));
  for (int64_t o = 0; o < outputs.size(); ++o)
    for (int64_t k = 0; k < sums.size(); ++k) {
      go_to(result, outputs.index(o));
      go_to(inner, sums.index(k));
      products.add(o, element(0), element(1));
    }
  return products;
}

Products matrix_product(const Array& x, const Array& y, bool transpose_x, bool transpose_y) {
  // Letters of the axes before the matrices, the last ones of the longer list.
  const auto batch = [](const Array& a, size_t rank) {
    std::string letters;
    for (size_t axis = a.shape.size(); axis > 2; --axis) letters += static_cast<char>('A' + rank - axis);
    return letters;
  };
  const size_t rank = std::max(x.shape.size(), y.shape.size());
  const std::string of_x = batch(x, rank), of_y = batch(y, rank);
  return contraction(of_x + (transpose_x ? "ki" : "ik") + "," + of_y + (transpose_y ? "jk" : "kj") + "->" +
                         std::max(of_x, of_y, [](const auto& a, const auto& b) { return a.size() < b.size(); }) + "ij",
                     x, y);
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
