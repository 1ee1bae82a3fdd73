// FakeQuantize, HadamardTransform and Fp8ScaleUpdate against models in long double: elements from a table of all their
// values, the nearest one, ties to the even code; scales by the formulas of their rules, each step one rounding to
// fp32.
#include <cmath>

#include "tests/graph/models/model_run.h"
#include "tests/ops/quantization_rows.h"

namespace softamp::test {
namespace {

[[maybe_unused]] const ::testing::Environment* const kCoversQuantization = covers(quantization_rows());

constexpr Mode kPlainMode = {"ieee", false, false, false};

/// Magnitudes of a small format without the codes above `most`, by the definition of its fields.
struct ElementTable {
  std::vector<long double> values;
  ElementTable(int exponent_bits, int mantissa_bits, int bias, size_t most) {
    for (size_t c = 0; c <= most; ++c) {
      const auto field = static_cast<int>(c >> mantissa_bits);
      const auto fraction = static_cast<long double>(c & ((size_t{1} << mantissa_bits) - 1));
      const long double unit = std::ldexp(1.0L, (field ? field : 1) - bias - mantissa_bits);
      values.push_back((fraction + (field ? std::ldexp(1.0L, mantissa_bits) : 0)) * unit);
    }
    (void)exponent_bits;
  }
  long double nearest(long double x) const {
    const long double m = std::fabs(x);
    size_t best = 0;
    for (size_t c = 1; c < values.size(); ++c) {
      const long double d = std::fabs(values[c] - m), to_best = std::fabs(values[best] - m);
      if (d < to_best || (d == to_best && c % 2 == 0)) best = c;
    }
    return std::copysign(values[best], x);
  }
  long double most() const { return values.back(); }
};
const ElementTable kE4m3Table(4, 3, 7, 0x7E), kE5m2Table(5, 2, 15, 0x7B), kE2m1Table(2, 1, 1, 7),
    kE2m3Table(2, 3, 1, 31);

/// One rounding to fp32: of long doubles whose 64 bits hold the exact result or one that rounds alike.
long double f32(long double x) { return static_cast<float>(x); }
int exponent_of(long double x) { return std::ilogb(x); }

using Block = std::vector<long double>;
long double greatest(const Block& block) {
  long double m = 0;
  for (const long double x : block) m = std::fmax(m, std::fabs(x));
  return m;
}

struct Quantized {
  std::string format;
  Ints shape;
  int64_t axis;
  int64_t rows, size;  ///< of a block; 0: all
  std::function<void(Block& block, long double of_tensor)> model;
};

void by_power(Block& block, const ElementTable& e, int exponent) {
  for (long double& x : block) x = std::ldexp(e.nearest(std::ldexp(x, -exponent)), exponent);
}

const std::vector<Quantized>& quantized() {
  static const std::vector<Quantized> kQuantized = {
      {"mxfp8_e4m3",
       {3, 40},
       -1,
       1,
       32,
       [](Block& b, long double) {
         if (greatest(b) > 0) by_power(b, kE4m3Table, exponent_of(greatest(b)) - 8);
       }},
      {"mxfp8_e5m2",
       {40, 3},
       0,
       1,
       32,
       [](Block& b, long double) {
         if (greatest(b) > 0) by_power(b, kE5m2Table, exponent_of(greatest(b)) - 15);
       }},
      {"mxfp6_e2m3:scale_rule=ceil",
       {2, 33, 5},
       1,
       1,
       32,
       [](Block& b, long double) {
         const long double m = greatest(b);
         if (m > 0) by_power(b, kE2m3Table, exponent_of(m) + (std::ldexp(1.0L, exponent_of(m)) != m) - 2);
       }},
      {"mxfp4:scale_rule=rceil",
       {5, 64},
       -1,
       1,
       32,
       [](Block& b, long double) {
         const long double d = f32(greatest(b) * f32(1 / 6.0L));
         if (d > 0) by_power(b, kE2m1Table, exponent_of(d) + (std::ldexp(1.0L, exponent_of(d)) != d));
       }},
      {"nvfp4",
       {3, 40},
       -1,
       1,
       16,
       [](Block& b, long double of_tensor) {
         const long double s = f32(2688 / of_tensor);
         const long double scale = kE4m3Table.nearest(std::fmin(f32(greatest(b) * f32(s * f32(1 / 6.0L))), 448));
         const long double factor = f32(1 / f32(scale * f32(1 / s)));
         const long double back = f32(f32(scale * of_tensor) * f32(1 / 2688.0L));
         for (long double& x : b) x = f32(kE2m1Table.nearest(f32(x * factor)) * back);
       }},
      {"nvfp4:4over6=mae",
       {3, 43},
       -1,
       1,
       16,
       [](Block& b, long double of_tensor) {
         const long double s = f32(1536 / of_tensor), base = f32(f32(greatest(b) / 6) * s);
         Block best;
         long double least = INFINITY;
         for (const long double expand : {1.0L, 1.5L}) {
           const long double scale = kE4m3Table.nearest(std::fmin(f32(base * expand), 448));
           const long double factor = f32(1 / f32(scale * f32(1 / s)));
           const long double back = f32(f32(scale * of_tensor) * f32(1 / 1536.0L));
           Block made;
           long double error = 0;
           for (const long double x : b) {
             const long double q = kE2m1Table.nearest(f32(x * factor));
             const long double y = f32(f32(f32(q * scale) * of_tensor) / 1536);
             error = f32(error + std::fabs(f32(y - x)));
             made.push_back(f32(q * back));
           }
           if (error < least) least = error, best = made;
         }
         b = best;
       }},
      {"e4m3_tensor",
       {9, 31},
       -1,
       0,
       0,
       [](Block& b, long double of_tensor) {
         const long double factor = f32(448 / of_tensor), back = f32(1 / factor);
         for (long double& x : b) x = f32(kE4m3Table.nearest(f32(x * factor)) * back);
       }},
      {"e5m2_1x128:scale_rule=deepseek",
       {130, 3},
       0,
       1,
       128,
       [](Block& b, long double) {
         const long double s = f32(std::fmax(greatest(b), f32(1e-4L)) / 57344);
         for (long double& x : b) x = f32(kE5m2Table.nearest(f32(x / s)) * s);
       }},
      {"e2m1",
       {7, 13},
       -1,
       0,
       0,
       [](Block& b, long double) {
         for (long double& x : b) x = kE2m1Table.nearest(x);
       }},
  };
  return kQuantized;
}

TEST(ModelQuantization, FakeQuantize) {
  for (const Quantized& q : quantized()) {
    const Tensor x = random_tensor(DType::kFloat32, q.shape, Data::kMiddle, 11);
    std::vector<Tensor> inputs = list(x.clone());
    const Tensor y = std::move(
        run_once("FakeQuantize", inputs, {{"format", q.format}, {"axis", q.axis}}, options_of(kPlainMode)).outputs[0]);
    note_run("FakeQuantize");
    const std::vector<double> in = x.values(), out = y.values();
    const auto rank = static_cast<int64_t>(q.shape.size());
    const int64_t axis = q.axis < 0 ? q.axis + rank : q.axis;
    int64_t inner = 1, length = q.shape[static_cast<size_t>(axis)];
    for (int64_t a = axis + 1; a < rank; ++a) inner *= q.shape[static_cast<size_t>(a)];
    long double of_tensor = 0;
    for (const double v : in) of_tensor = std::fmax(of_tensor, std::fabs(static_cast<long double>(v)));
    std::map<int64_t, std::vector<size_t>> blocks;
    for (size_t i = 0; i < in.size(); ++i) {
      const auto n = static_cast<int64_t>(i);
      const int64_t at = n / inner % length, line = n / inner / length * inner + n % inner;
      blocks[q.size == 0 ? 0 : line * 1000 + at / q.size].push_back(i);
    }
    for (const auto& [number, members] : blocks) {
      Block block;
      for (const size_t i : members) block.push_back(in[i]);
      q.model(block, of_tensor);
      for (size_t k = 0; k < members.size(); ++k)
        EXPECT_EQ(static_cast<double>(block[k]), out[members[k]])
            << q.format << ", element " << members[k] << " of value " << in[members[k]];
    }
  }
}

// tests: N496
TEST(ModelQuantization, FakeQuantizeByAFactor) {
  const Tensor x = random_tensor(DType::kFloat32, {9, 31}, Data::kMiddle, 5);
  for (const float factor : {1.0F, 3.0F, 0.0123F}) {
    std::vector<Tensor> inputs = list(x.clone(), Tensor::full(DType::kFloat32, {}, factor));
    const std::vector<double> out =
        run_once("FakeQuantize", inputs, {{"format", std::string("e4m3")}}, options_of(kPlainMode)).outputs[0].values();
    for (size_t i = 0; i < out.size(); ++i) {
      const long double y =
          kE4m3Table.nearest(f32(x.value(static_cast<int64_t>(i)) * static_cast<long double>(factor)));
      EXPECT_EQ(out[i], static_cast<double>(f32(y * f32(1 / static_cast<long double>(factor))))) << i;
    }
  }
}

/// Both neighbours come up about as often as the distances say; nothing else does.
TEST(ModelQuantization, StochasticRoundingGivesNeighboursInProportion) {
  const std::vector<double> values(4096, 2.3);  // of e2m1: between 2 and 3
  std::vector<Tensor> inputs = list(Tensor::from_values(DType::kFloat32, {4096}, values));
  const std::vector<double> out =
      run_once("FakeQuantize", inputs, {{"format", std::string("e2m1:rounding=stochastic")}}, options_of(kPlainMode))
          .outputs[0]
          .values();
  int up = 0;
  for (const double y : out) {
    EXPECT_TRUE(y == 2 || y == 3) << y;
    up += y == 3;
  }
  // Binomial with p = 0.3: five deviations, so that chance fails one seed in 1.7 million.
  EXPECT_NEAR(up, 0.3 * 4096, 5 * std::sqrt(4096 * 0.3 * 0.7));
}

// tests: N497
TEST(ModelQuantization, HadamardTransform) {
  for (const auto& [size, signs] : {std::pair<int64_t, uint64_t>{16, 0xD7E8}, {8, 0}, {2, 1}, {32, 0x12345678}}) {
    const Tensor x = random_tensor(DType::kFloat32, {3, 70}, Data::kMiddle, 3);
    std::vector<Tensor> inputs = list(x.clone());
    const std::vector<double> out =
        run_once("HadamardTransform", inputs, {{"size", size}, {"signs", static_cast<int64_t>(signs)}},
                 options_of(kPlainMode))
            .outputs[0]
            .values();
    note_run("HadamardTransform");
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t k = 0; k < 70; ++k) {
        const int64_t tile = k / size * size, at = row * 70 + k;
        if (tile + size > 70) {
          EXPECT_EQ(out[static_cast<size_t>(at)], x.value(at));
          continue;
        }
        long double sum = 0;
        for (int64_t i = 0; i < size; ++i) {
          int ones = 0;
          for (int64_t both = i & (k - tile); both; both /= 2) ones += static_cast<int>(both % 2);
          const bool minus = (ones % 2 != 0) != ((signs >> i % 64 & 1) != 0);
          sum += (minus ? -1 : 1) * static_cast<long double>(x.value(row * 70 + tile + i));
        }
        const long double exact = sum / std::sqrt(static_cast<long double>(size));
        // Binary64 holds these sums exactly (24 bits over 16 exponents); an irrational factor costs half a unit of it.
        EXPECT_EQ(out[static_cast<size_t>(at)], static_cast<double>(static_cast<float>(exact))) << size << ", " << at;
      }
  }
}

/// TransformerEngine makes this of 1 2 -3 4 .5 -6 7 8 -.25 10 11 -12 13 14 .125 16 with its signs, as bfloat16.
// tests: N497
TEST(ModelQuantization, HadamardTransformOfTransformerEngine) {
  const std::vector<double> x = {1, 2, -3, 4, .5, -6, 7, 8, -.25, 10, 11, -12, 13, 14, .125, 16};
  const std::vector<uint64_t> expected = {0xC172, 0xBF8C, 0x4178, 0xC128, 0xC052, 0x40D7, 0xC076, 0x4162,
                                          0x410E, 0xBF94, 0x3E90, 0x40C9, 0x40B1, 0xC08F, 0xBFF4, 0xC13E};
  GraphBuilder b;
  const Port t =
      b.add("HadamardTransform", {b.placeholder("x", DType::kFloat32, Shape{16})}, {{"signs", int64_t{0xD7E8}}});
  b.add("Cast", {t}, {{"DstT", DType::kBFloat16}}, "y");
  const Tensor in = Tensor::from_values(DType::kFloat32, {16}, x);
  const std::vector<Feed> feeds = {{"x", &in}};
  const std::vector<std::string> fetches = {"y"};
  const RunResult r = make_executor(b.build(), options_of(kPlainMode))->run(feeds, fetches);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(r.values[0].code(i), expected[static_cast<size_t>(i)]) << i;
}

/// The history and the scale after each of these greatest magnitudes.
struct Updates {
  Attributes attributes;
  int64_t length;
  std::vector<double> amaxes;
  std::vector<uint64_t> scales;
};

// tests: N498, N500
TEST(ModelQuantization, Fp8ScaleUpdate) {
  const auto with = [](const char* format, int64_t margin, bool zero_keeps, const char* algo) {
    return Attributes{{"format", std::string(format)},
                      {"margin", margin},
                      {"zero_keeps_history", zero_keeps},
                      {"amax_compute_algo", std::string(algo)}};
  };
  const double inf = INFINITY, nan = NAN, tiny = (448.0 / 3.4028234663852886e38) / 2;
  const std::vector<Updates> all = {
      // TransformerEngine: a history of three; then an amax of 0, by the fused kernel and by the other path; then 4.
      {with("e4m3", 0, true, "max"),
       3,
       {2, 8, 1, .5, .25, 0, 4},
       {0x43600000, 0x42600000, 0x42600000, 0x42600000, 0x43E00000, 0x43E00000, 0x42E00000}},
      {with("e4m3", 0, false, "max"),
       3,
       {2, 8, 1, .5, .25, 0},
       {0x43600000, 0x42600000, 0x42600000, 0x42600000, 0x43E00000, 0x44600000}},
      // Its test of recipes with a margin of 2: constant tensors of step + .25, .5, .75.
      {with("e4m3", 2, true, "max"), 1024, {.25, 1.25, 2.25, 3.25}, {0x43E00000, 0x42B33333, 0x42471C72, 0x4209D89E}},
      {with("e4m3", 2, true, "max"), 1024, {.5, 1.5}, {0x43600000, 0x42955555}},
      {with("e5m2", 2, true, "max"), 1024, {.75, 1.75, 2.75, 3.75}, {0x46955555, 0x46000000, 0x45A2E8BA, 0x456EEEEF}},
      // Its numeric scenarios: nothing to divide by keeps the scale, 1 here; too small an amax gives FLT_MAX.
      {with("e4m3", 0, true, "max"), 4, {0}, {0x3F800000}},
      {with("e4m3", 0, true, "max"), 4, {inf}, {0x3F800000}},
      {with("e4m3", 0, true, "max"), 4, {nan}, {0x3F800000}},
      {with("e4m3", 0, true, "max"), 4, {tiny}, {0x7F7FFFFF}},
      // The newest alone.
      {with("e4m3", 0, true, "most_recent"), 3, {2, 8, 1}, {0x43600000, 0x42600000, 0x43E00000}},
      // An infinity freezes the scale until it has left the window.
      {with("e4m3", 0, true, "max"),
       2,
       {2, inf, 1, .5, .25},
       {0x43600000, 0x43600000, 0x43600000, 0x43E00000, 0x44600000}},
  };
  for (const Updates& u : all) {
    Tensor history = Tensor::full(DType::kFloat32, {u.length}, 0), scale = Tensor::full(DType::kFloat32, {}, 1);
    std::vector<double> window(static_cast<size_t>(u.length));
    for (size_t i = 0; i < u.amaxes.size(); ++i) {
      std::vector<Tensor> inputs = list(history.clone(), scale.clone());
      inputs.push_back(Tensor::full(DType::kFloat32, {}, u.amaxes[i]));
      Outcome out = run_once("Fp8ScaleUpdate", inputs, u.attributes, options_of(kPlainMode));
      note_run("Fp8ScaleUpdate");
      history = std::move(out.outputs[0]);
      scale = std::move(out.outputs[1]);
      EXPECT_EQ(scale.code(0), u.scales[i])
          << "margin " << std::get<int64_t>(u.attributes.at("margin")) << ", step " << i;
      if (u.amaxes[i] != 0 || !std::get<bool>(u.attributes.at("zero_keeps_history"))) {
        window.insert(window.begin(), static_cast<float>(u.amaxes[i]));
        window.pop_back();
      }
      for (size_t k = 0; k < window.size(); ++k) {
        const double found = history.value(static_cast<int64_t>(k));
        EXPECT_TRUE(found == window[k] || (found != found && window[k] != window[k])) << i << ", " << k;
      }
    }
  }
}

}  // namespace
}  // namespace softamp::test
