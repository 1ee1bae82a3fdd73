// Models of products: matrix products, convolutions with their gradients. A product is a list of factors to an output;
// what sums them up, and how exactly, is the same for all.
#pragma once

#include <string>

#include "tests/oracle/tensor_model.h"

namespace oracle::model {

/// How partial sums are kept.
struct Partials {
  bool half = false;      ///< rounded to fp16 at the end of each block
  int64_t roundings = 0;  ///< at most, on the way of any product to the output
  int64_t additions = 0;  ///< fp32 additions of independent partials, at most
};

/// The factors of one output's products.
struct Factors {
  std::vector<Range> a, b;
};

/// The sum of products in fp32 and, where partials are halves, in fp16: before the last rounding.
Range sum_of_products(const Factors& f, const Partials& partials, const Mode& mode);

/// All outputs.
struct Products {
  std::vector<int64_t> shape;
  std::vector<Factors> outputs;

  explicit Products(std::vector<int64_t> s) : shape(std::move(s)), outputs(static_cast<size_t>(product_of(shape))) {}
  void add(int64_t output, const Range& a, const Range& b) {
    outputs[static_cast<size_t>(output)].a.push_back(a);
    outputs[static_cast<size_t>(output)].b.push_back(b);
  }
  Array sums(const Partials& partials, const Mode& mode) const;
};

/// The sum over the letters that the result of "abc,cd->abd" does not name, the first term's order outermost first. An
/// extent of 1 beside a greater one (or 0) is repeated.
Products contraction(const std::string& equation, const Array& x, const Array& y);

/// x[..., i, k] y[..., k, j], stored transposed where told, axes before the last two broadcast.
Products matrix_product(const Array& x, const Array& y, bool transpose_x, bool transpose_y);

/// A convolution's geometry, by TensorFlow's definition of padding.
struct Window {
  std::vector<int64_t> strides = {1, 1, 1, 1};  ///< NHWC
  std::vector<int64_t> dilations = {1, 1, 1, 1};
  bool same = true;

  int64_t outputs(int axis, int64_t input, int64_t taps) const;
  int64_t before(int axis, int64_t input, int64_t taps) const;
};

/// y[n,oh,ow,o] = sum x[n, oh s + kh d - p, ow s + kw d - p, c] w[kh,kw,c,o]. depthwise: w is [kh,kw,c,q], output c m +
/// q.
Products convolution(const Array& x, const Array& w, const Window& window, bool depthwise);
/// The adjoints of that sum: what each output's gradient adds to each input, to each filter element.
Products convolution_input_gradient(const std::vector<int64_t>& input, const Array& w, const Array& dy,
                                    const Window& window, bool depthwise);
Products convolution_filter_gradient(const Array& x, const std::vector<int64_t>& filter, const Array& dy,
                                     const Window& window, bool depthwise);

}  // namespace oracle::model
