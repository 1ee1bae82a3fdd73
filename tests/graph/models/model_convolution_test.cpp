// Convolutions and their gradients against the model library, and against N121 to N125, bit for bit.
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_products.h"
#include "tests/oracle/tensor_order.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversConvolution =
    covers({"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNative",
            "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"});

enum class Kind { kForward, kInputGradient, kFilterGradient };
constexpr Kind kKinds[] = {Kind::kForward, Kind::kInputGradient, Kind::kFilterGradient};

struct ConvolutionCase {
  Ints x, w, y;  ///< shapes of input, filter, output
  Window window;
  bool depthwise;
};

ConvolutionCase random_convolution(Mixer& mix, bool depthwise, int64_t most_channels) {
  ConvolutionCase c;
  c.depthwise = depthwise;
  const int64_t channels = mix.between(1, most_channels), kh = mix.between(1, 3), kw = mix.between(1, 4);
  c.window.same = mix() & 1;
  c.window.strides = {1, mix.between(1, 3), mix.between(1, 2), 1};
  c.window.dilations = {1, mix.between(1, 2), mix.between(1, 2), 1};
  if (mix() & 1) c.window.strides = c.window.dilations = {1, 1, 1, 1};
  const int64_t high = (kh - 1) * c.window.dilations[1] + 1, wide = (kw - 1) * c.window.dilations[2] + 1;
  c.x = {mix.between(1, 2), (c.window.same ? 1 : high) + mix.below(6), (c.window.same ? 1 : wide) + mix.below(7),
         channels};
  c.w = {kh, kw, channels, mix.between(1, depthwise ? 3 : 20)};
  c.y = {c.x[0], c.window.outputs(1, c.x[1], kh), c.window.outputs(2, c.x[2], kw),
         depthwise ? channels * c.w[3] : c.w[3]};
  return c;
}

std::string name_of_op(Kind kind, bool depthwise) {
  const std::string base = depthwise ? "DepthwiseConv2dNative" : "Conv2D";
  return base + (kind == Kind::kForward ? "" : kind == Kind::kInputGradient ? "BackpropInput" : "BackpropFilter");
}

Attributes attributes_of(const ConvolutionCase& c, Kind kind, const std::string& partials) {
  Attributes a{{"strides", c.window.strides},
               {"dilations", c.window.dilations},
               {"padding", std::string(c.window.same ? "SAME" : "VALID")},
               {"partialsType", partials}};
  if (kind == Kind::kInputGradient) a["input_sizes"] = c.x;
  if (kind == Kind::kFilterGradient) a["filter_sizes"] = c.w;
  return a;
}

std::vector<Tensor> operands(const ConvolutionCase& c, Kind kind, DType t, Data data, uint64_t seed) {
  std::vector<Tensor> in;
  in.push_back(random_tensor(t, kind == Kind::kInputGradient ? c.w : c.x, data, seed));
  in.push_back(random_tensor(t, kind == Kind::kForward ? c.w : c.y, data, seed + 1));
  return in;
}

Products products_of(const ConvolutionCase& c, Kind kind, const std::vector<Tensor>& in, const Mode& mode) {
  const Array a = load(in[0], mode), b = load(in[1], mode);
  if (kind == Kind::kForward) return convolution(a, b, c.window, c.depthwise);
  if (kind == Kind::kInputGradient) return convolution_input_gradient(c.x, a, b, c.window, c.depthwise);
  return convolution_filter_gradient(a, c.w, b, c.window, c.depthwise);
}

std::string text_of(const ConvolutionCase& c, Kind kind) {
  return name_of_op(kind, c.depthwise) + " " + Shape(c.x).text() + " * " + Shape(c.w).text() +
         (c.window.same ? " SAME" : " VALID") + " strides " + Shape(c.window.strides).text() + " dilations " +
         Shape(c.window.dilations).text();
}

TEST(ModelConvolution, FloatPartials) {
  Mixer mix(1);
  for (const DType t : kFloats)
    for (const Mode& mode : kModes)
      for (const bool depthwise : {false, true})
        for (const Kind kind : kKinds) {
          RoundedUp statistics;
          for (int i = 0; i < 4; ++i) {
            const ConvolutionCase c = random_convolution(mix, depthwise, depthwise ? 6 : 20);
            const std::vector<Tensor> in = operands(c, kind, t, i % 2 ? Data::kBroad : Data::kMiddle, mix());
            expect_admitted(run_operation(name_of_op(kind, depthwise), in, attributes_of(c, kind, ""), mode)[0],
                            products_of(c, kind, in, mode).sums({}, mode), mode, text_of(c, kind), &statistics);
          }
          expect_probabilities(statistics, t, mode);
        }
}

TEST(ModelConvolution, HalfPartials) {
  Mixer mix(2);
  for (const Mode& mode : kModes)
    for (const int block : {1, 4, 16, 0})
      for (const bool depthwise : {false, true})
        for (const Kind kind : kKinds) {
          const ConvolutionCase c = random_convolution(mix, depthwise, 20);
          const std::vector<Tensor> in = operands(c, kind, DType::kFloat16, Data::kUnit, mix());
          ExecutorOptions options = options_of(mode);
          options.amp_block = block;
          const Products products = products_of(c, kind, in, mode);
          // No more roundings than products, whatever the blocks.
          int64_t most = 1;
          for (const Factors& f : products.outputs) most = std::max(most, static_cast<int64_t>(f.a.size()));
          expect_admitted(
              run_operation(name_of_op(kind, depthwise), in, attributes_of(c, kind, "half"), options).outputs[0],
              products.sums({true, most, 0}, mode), mode, text_of(c, kind));
        }
}

// tests: N122, N124
TEST(ModelConvolution, IntegersAreExact) {
  Mixer mix(3);
  for (const DType t : kFloats)
    for (const bool depthwise : {false, true})
      for (const Kind kind : kKinds)
        for (const bool half : {false, true}) {
          const Mode& mode = kModes[2];
          // |sum| <= 8 channels * 12 taps * 16 = 1536 < 2048 forward and back; the filter's <= 2*42*16 = 1344. bf16
          // holds 256 only: there the sums are exact, the result is rounded once.
          ConvolutionCase c = random_convolution(mix, depthwise, 8);
          c.w[3] = std::min<int64_t>(c.w[3], 8);
          c.y[3] = depthwise ? c.w[2] * c.w[3] : c.w[3];
          const std::vector<Tensor> in = operands(c, kind, t, Data::kIntegers, mix());
          const Products products = products_of(c, kind, in, mode);
          Array model(products.shape);
          for (int64_t i = 0; i < model.size(); ++i) {
            const Factors& f = products.outputs[static_cast<size_t>(i)];
            for (size_t j = 0; j < f.a.size(); ++j) model[i] = model[i] + f.a[j] * f.b[j];
          }
          expect_admitted(
              run_operation(name_of_op(kind, depthwise), in, attributes_of(c, kind, half ? "half" : ""), mode)[0],
              model, mode, text_of(c, kind));
        }
}

/// Flags and their lowest index, with some of the largest halves and NaNs among the operands.
TEST(ModelConvolution, FlagsAndOffendingIndex) {
  Mixer mix(6);
  for (int round = 0; round < 12; ++round)
    for (const Mode& mode : {kModes[1], kModes[3]})
      for (const bool depthwise : {false, true})
        for (const Kind kind : kKinds) {
          const ConvolutionCase c = random_convolution(mix, depthwise, 9);
          std::vector<Tensor> in = operands(c, kind, DType::kFloat16, Data::kUnit, mix());
          for (int i = 0; i < 3; ++i) set_code(in[0], mix.below(in[0].elements()), 0x7BFF);
          if (round % 3 == 0) set_code(in[1], mix.below(in[1].elements()), 0x7E00);
          ExecutorOptions options = options_of(mode);
          options.status = true;
          const Outcome run = run_operation(name_of_op(kind, depthwise), in, attributes_of(c, kind, ""), options);
          expect_flags(run.status, products_of(c, kind, in, mode).sums({}, mode), mode, text_of(c, kind));
        }
}

/// One output of the forward convolution or of the input's gradient: N121. `channels` of the sum's axis; tap(kh,
/// kw, c) gives the factors of a product or says that it is skipped.
template <class Tap>
float in_order(order::Chain& chain, int64_t channels, int64_t taps_h, int64_t taps_w, int64_t block, const Tap& tap) {
  uint64_t p = 0;
  for (int64_t c0 = 0; c0 < channels; c0 += 16)
    for (int64_t kh = 0; kh < taps_h; ++kh)
      for (int64_t kw = 0; kw < taps_w; ++kw) {
        const int64_t end = std::min<int64_t>(c0 + 16, channels);
        int64_t in_block = 0;
        for (int64_t c = c0; c < end; ++c) {
          Real a = 0, b = 0;
          const bool there = tap(kh, kw, c, &a, &b);
          if (there) chain.step(a, b);
          ++in_block;
          if (in_block == block || c + 1 == end) {
            if (there) chain.end_block(p);
            ++p;
            in_block = 0;
          }
        }
      }
  return chain.value();
}

void check_order(const ConvolutionCase& c, Kind kind, DType t, const Mode& mode, int block, bool half, uint64_t seed) {
  const std::vector<Tensor> in = operands(c, kind, t, half ? Data::kUnit : Data::kBroad, seed);
  ExecutorOptions options = options_of(mode);
  options.amp_block = block;
  const std::string op = name_of_op(kind, c.depthwise);
  const Tensor got = std::move(run_operation(op, in, attributes_of(c, kind, half ? "half" : ""), options).outputs[0]);
  const Array a = load(in[0], mode), b = load(in[1], mode),
              out(kind == Kind::kForward         ? c.y
                  : kind == Kind::kInputGradient ? c.x
                                                 : c.w);
  const int64_t top = c.window.before(1, c.x[1], c.w[0]), left = c.window.before(2, c.x[2], c.w[1]);
  const int64_t sh = c.window.strides[1], sw = c.window.strides[2], dh = c.window.dilations[1];
  const int64_t dw = c.window.dilations[2], multiplier = c.w[3];
  std::vector<uint64_t> codes;
  for (int64_t o = 0; o < out.size(); ++o) {
    const Ints at = out.index(o);
    order::Chain chain(half, half && block == 1, mode, {options.seed, operation_id(2, 0)}, static_cast<uint64_t>(o));
    float value = 0;
    if (kind == Kind::kForward) {
      value = in_order(chain, c.depthwise ? 1 : c.w[2], c.w[0], c.w[1], block,
                       [&](int64_t kh, int64_t kw, int64_t k, Real* p, Real* q) {
                         const int64_t ih = at[1] * sh + kh * dh - top, iw = at[2] * sw + kw * dw - left;
                         if (ih < 0 || ih >= c.x[1] || iw < 0 || iw >= c.x[2]) return false;
                         const int64_t channel = c.depthwise ? at[3] / multiplier : k;
                         *p = a[a.place({at[0], ih, iw, channel})].low;
                         *q = b[b.place({kh, kw, channel, c.depthwise ? at[3] % multiplier : at[3]})].low;
                         return true;
                       });
    } else if (kind == Kind::kInputGradient) {
      value =
          in_order(chain, multiplier, c.w[0], c.w[1], block, [&](int64_t kh, int64_t kw, int64_t k, Real* p, Real* q) {
            const int64_t oh = at[1] + top - kh * dh, ow = at[2] + left - kw * dw;
            if (oh < 0 || oh % sh || oh / sh >= c.y[1] || ow < 0 || ow % sw || ow / sw >= c.y[2]) return false;
            *p = b[b.place({at[0], oh / sh, ow / sw, c.depthwise ? at[3] * multiplier + k : k})].low;
            *q = a[a.place({kh, kw, at[3], k})].low;
            return true;
          });
    } else {
      // A sum over the batch: places (n, oh, ow) in partials of 1024, blocks of `block` places, skipped ones counted.
      uint64_t place = 0;
      bool pending = false;
      const uint64_t length = block == 0 ? 1024 : static_cast<uint64_t>(block);
      const uint64_t all = static_cast<uint64_t>(c.y[0] * c.y[1] * c.y[2]);
      bool in_partial = false;
      for (int64_t n = 0; n < c.y[0]; ++n)
        for (int64_t oh = 0; oh < c.y[1]; ++oh)
          for (int64_t ow = 0; ow < c.y[2]; ++ow) {
            const int64_t ih = oh * sh + at[0] * dh - top, iw = ow * sw + at[1] * dw - left;
            if (ih >= 0 && ih < c.x[1] && iw >= 0 && iw < c.x[2]) {
              const int64_t channel = c.depthwise ? at[2] * multiplier + at[3] : at[3];
              chain.step(a[a.place({n, ih, iw, at[2]})].low, b[b.place({n, oh, ow, channel})].low);
              pending = in_partial = true;
            }
            const uint64_t block_number = place / length;
            ++place;
            if ((place % length == 0 || place % 1024 == 0 || place == all) && pending) {
              chain.end_block(block_number);
              pending = false;
            }
            if ((place % 1024 == 0 || place == all) && in_partial) {
              chain.close_partial();
              in_partial = false;
            }
          }
      value = chain.value();
    }
    codes.push_back(
        code_of(t, order::rounded(t, value, mode, {options.seed, operation_id(2, 1)}, static_cast<uint64_t>(o))));
  }
  expect_codes(got, codes,
               text_of(c, kind) + " " + name_of(t) + " (" + mode.name + "), block " + std::to_string(block) +
                   (half ? ", half" : ""));
}

TEST(ModelConvolution, OrderOfAccumulation) {
  Mixer mix(4);
  for (int round = 0; round < rounds(); ++round)
    for (const DType t : kFloats)
      for (const Mode& mode : kModes)
        for (const bool depthwise : {false, true})
          for (const Kind kind : kKinds) {
            check_order(random_convolution(mix, depthwise, 40), kind, t, mode, 16, false, mix());
            if (t != DType::kFloat16) continue;
            for (const int block : {1, 4, 16, 0})
              check_order(random_convolution(mix, depthwise, 40), kind, t, mode, block, true, mix());
          }
}

/// More than one partial of 1024 places, with places skipped at their ends.
TEST(ModelConvolution, OrderOfALongBatch) {
  Mixer mix(5);
  for (const DType t : kFloats)
    for (const bool depthwise : {false, true}) {
      ConvolutionCase c;
      c.depthwise = depthwise;
      c.x = {5, 24, 23, 3};
      c.w = {3, 3, 3, 2};
      c.y = {5, 24, 23, depthwise ? 6 : 2};
      check_order(c, Kind::kFilterGradient, t, kModes[1], 16, false, mix());
      if (t == DType::kFloat16)
        for (const int block : {4, 0}) check_order(c, Kind::kFilterGradient, t, kModes[2], block, true, mix());
    }
}

}  // namespace
}  // namespace softamp::test
