// Pooling and its gradients: windows that overlap, leave gaps, hang over the edge; ties, NaN, infinities.
#include <cstring>

#include "parity.h"
#include "softamp/graph/operation.h"
#include "softamp/numerics/convert.h"

namespace softamp::parity {
namespace {

using Ints = std::vector<int64_t>;

/// Few values, so that maxima tie: small integers, zeros of both signs; now and then a special one.
Tensor ties(DType type, const Shape& shape, uint64_t seed) {
  Tensor t = floats(type, shape, seed);
  const Tensor choice = integers(shape, seed + 1, 0, 99);
  const FloatFormat f = format_of(type);
  const double values[] = {-1, -0.0, 0, 1, 2};
  const auto* const picked = static_cast<const int32_t*>(choice.data());
  for (int64_t i = 0; i < shape.elements(); ++i) {
    if (picked[i] == 99) continue;
    const uint64_t code = fp::from_double(f, values[picked[i] % 5]);
    std::memcpy(static_cast<char*>(t.data()) + static_cast<size_t>(i) * size_of(type), &code, size_of(type));
  }
  return t;
}

struct Windows {
  Shape input;
  int64_t kernel[2], stride[2];
  const char* padding;
};

void run(Suite& suite, const std::string& name, const Windows& w, DType type, int data, const Setting& setting) {
  const auto values = [&](const Shape& shape, uint64_t seed) {
    return data == 2 ? ties(type, shape, seed) : floats(type, shape, seed, data == 1);
  };
  Case c;
  c.name = name;
  GraphBuilder b;
  const Attributes attributes{{"ksize", Ints{1, w.kernel[0], w.kernel[1], 1}},
                              {"strides", Ints{1, w.stride[0], w.stride[1], 1}},
                              {"padding", std::string(w.padding)}};
  const Port x = b.placeholder("x", type, w.input);
  const Port largest = b.add("MaxPool", {x}, attributes);
  const Shape output = b.type(largest).shape;
  b.add("AvgPool", {x}, attributes);
  const Port arriving = b.placeholder("g", type, output);
  b.add("MaxPoolGrad", {x, largest, arriving}, attributes);
  Attributes shaped = attributes;
  shaped.emplace("orig_input_shape", Ints{w.input[0], w.input[1], w.input[2], w.input[3]});
  b.add("AvgPoolGrad", {arriving}, shaped);
  c.graph = b.build();
  c.feeds.emplace("x", values(w.input, 1));
  c.feeds.emplace("g", values(output, 5));
  c.options = setting.options;
  suite.run(c);
}

}  // namespace

void pooling(Suite& suite) {
  const int64_t large = suite.elements() / 64;
  const Windows all[] = {
      {{large / 16, 8, 8, 16}, {2, 2}, {2, 2}, "VALID"},
      {{1, large / 3, 7, 9}, {3, 3}, {2, 2}, "SAME"},
      {{2, 6, 5, 3}, {3, 2}, {1, 1}, "SAME"},
      {{2, 7, 7, 5}, {2, 2}, {3, 3}, "VALID"},
      {{1, 9, 4, 33}, {4, 4}, {1, 2}, "VALID"},
      {{3, 5, 5, 1}, {7, 7}, {2, 3}, "SAME"},
      {{1, 1, 1, 70}, {1, 1}, {1, 1}, "VALID"},
      {{2, 4, 6, 7}, {4, 6}, {1, 1}, "VALID"},
      {{0, 4, 4, 2}, {2, 2}, {2, 2}, "VALID"},
      {{2, 4, 4, 0}, {2, 2}, {2, 2}, "SAME"},
  };
  for (const Setting& setting : settings())
    for (const DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32})
      for (const Windows& w : all)
        for (int data = 0; data < 3; ++data) {
          static const char* const kData[] = {"any", "plain", "ties"};
          const std::string name = std::string("pooling ") + name_of(type) + " " + setting.name + " of " +
                                   w.input.text() + " by " + std::to_string(w.kernel[0]) + "x" +
                                   std::to_string(w.kernel[1]) + " " + w.padding + " " + kData[data];
          if (suite.wants(name)) run(suite, name, w, type, data, setting);
        }
}

}  // namespace softamp::parity
