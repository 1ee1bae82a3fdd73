// Pooling and its gradients: the fast kernels equal the bodies of kernel/pooling.h bit for bit, and those equal direct
// sums and maxima written here.
#include <cmath>

#include "tests/emu/convolution_check.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using Ints = std::vector<int64_t>;

struct PoolingCase {
  std::string op = "MaxPool";
  DType type = DType::kFloat16;
  int64_t batch = 1, height = 4, width = 4, channels = 1, kh = 2, kw = 2, sh = 2, sw = 2;
  bool same = false;

  static int64_t extent(bool same, int64_t in, int64_t k, int64_t s) {
    return same ? (in + s - 1) / s : in < k ? 0 : (in - k) / s + 1;
  }
  int64_t oh() const { return extent(same, height, kh, sh); }
  int64_t ow() const { return extent(same, width, kw, sw); }
  Shape input() const { return {batch, height, width, channels}; }
  Shape output() const { return {batch, oh(), ow(), channels}; }
  std::vector<Codes> operands() const {
    if (op == "MaxPool" || op == "AvgPool") return {Codes({type, input()})};
    if (op == "AvgPoolGrad") return {Codes({type, output()})};
    return {Codes({type, input()}), Codes({type, output()}), Codes({type, output()})};
  }
  Node node(const std::vector<Codes>& operands) const {
    Attributes a{{"ksize", Ints{1, kh, kw, 1}},
                 {"strides", Ints{1, sh, sw, 1}},
                 {"padding", std::string(same ? "SAME" : "VALID")}};
    const Shape in = input();
    if (op == "AvgPoolGrad") a["orig_input_shape"] = Ints(in.begin(), in.end());
    return make_node(op, operands, a);
  }
  std::string text() const {
    return op + " " + name_of(type) + " " + input().text() + " window " + std::to_string(kh) + "x" +
           std::to_string(kw) + " strides " + std::to_string(sh) + "," + std::to_string(sw) +
           (same ? " SAME" : " VALID");
  }
};

OpResult run_pooling(const Node& node, const std::vector<Codes>& operands, const emu::EngineSettings& settings,
                     bool with_status = true) {
  return run_node(node, operands, settings, factory(emu::pooling_kernels(), node.op), with_status);
}

PoolingCase random_pooling(Mixer& mix, bool large) {
  static const char* const kOps[] = {"MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"};
  PoolingCase c;
  c.op = kOps[mix() % 4];
  const DType types[] = {DType::kFloat16, DType::kFloat16, DType::kBFloat16, DType::kFloat32};
  c.type = types[mix() % 4];
  const auto pick = [&](uint64_t most) { return 1 + static_cast<int64_t>(mix() % most); };
  c.batch = pick(3), c.height = pick(9), c.width = pick(9), c.channels = mix() % 2 ? pick(8) : pick(70);
  c.kh = pick(4), c.kw = mix() % 3 ? c.kh : pick(4), c.sh = pick(3), c.sw = mix() % 3 ? c.sh : pick(3);
  if (large) c.batch = 3, c.height = c.width = 24, c.channels = 24, c.kh = c.kw = 3, c.sh = c.sw = pick(2);
  c.same = mix() % 2;
  if (c.oh() == 0 || c.ow() == 0) c.same = true;
  return c;
}

// tests: N128
TEST(Pooling, RandomShapes) {
  Mixer mix(50);
  for (int number = 0; number < 600 && !HasFailure(); ++number) {
    const PoolingCase c = random_pooling(mix, number % 20 == 0);
    std::vector<Codes> operands = c.operands();
    const auto data = static_cast<TensorData>(mix() % 4);
    emu::EngineSettings settings = random_trial(operands, mix, data);
    settings.environment.random.replica = mix() % 4 == 0 ? 3 : 0;
    settings.environment.random.rounds = mix() % 4 == 0 ? 7 : 10;
    const Node node = c.node(operands);
    expect_reference(run_pooling, node, operands, settings, number,
                     c.text() + " data " + std::to_string(static_cast<int>(data)) + " case " + std::to_string(number));
  }
}

/// Ordinary fp16 data with ties, by the definition, with the host's floats: order and formulas as kernel/pooling.h has
/// them.
TEST(Pooling, Definition) {
  Mixer mix(51);
  for (int number = 0; number < 200 && !HasFailure(); ++number) {
    PoolingCase c = random_pooling(mix, false);
    c.type = DType::kFloat16;
    std::vector<Codes> operands = c.operands();
    for (Codes& o : operands)
      for (size_t i = 0; i < o.size(); ++i) {
        o.set_value(i, (static_cast<double>(mix() % 9) - 4) / 4);
        if (number % 2) o.set_value(i, (static_cast<double>(mix() % 60000) - 30000) / 7919);
      }
    const bool gradient = c.op.size() > 7, maximum = c.op[0] == 'M';
    const Codes& grad = operands.back();
    std::vector<float> sums(static_cast<size_t>((gradient ? c.input() : c.output()).elements()));
    const auto pad = [&](int64_t in, int64_t out, int64_t k, int64_t s) {
      return c.same ? std::max<int64_t>((out - 1) * s + k - in, 0) / 2 : 0;
    };
    const int64_t ph = pad(c.height, c.oh(), c.kh, c.sh), pw = pad(c.width, c.ow(), c.kw, c.sw);
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t oh = 0; oh < c.oh(); ++oh)
        for (int64_t ow = 0; ow < c.ow(); ++ow)
          for (int64_t ch = 0; ch < c.channels; ++ch) {
            std::vector<size_t> taps;
            for (int64_t kh = 0; kh < c.kh; ++kh)
              for (int64_t kw = 0; kw < c.kw; ++kw) {
                const int64_t y = oh * c.sh + kh - ph, x = ow * c.sw + kw - pw;
                if (y >= 0 && y < c.height && x >= 0 && x < c.width)
                  taps.push_back(static_cast<size_t>(((n * c.height + y) * c.width + x) * c.channels + ch));
              }
            const auto out = static_cast<size_t>(((n * c.oh() + oh) * c.ow() + ow) * c.channels + ch);
            const auto count = static_cast<float>(taps.size());
            if (maximum) {
              size_t best = taps[0];
              for (const size_t t : taps)
                if (operands[0].value(t) > operands[0].value(best)) best = t;
              if (gradient)
                sums[best] += static_cast<float>(grad.value(out));
              else
                sums[out] = static_cast<float>(operands[0].value(best));
            } else if (gradient) {
              for (const size_t t : taps) sums[t] += static_cast<float>(grad.value(out)) / count;
            } else {
              for (const size_t t : taps) sums[out] += static_cast<float>(operands[0].value(t));
              sums[out] /= count;
            }
          }
    for (const bool reference : {true, false}) {
      emu::EngineSettings settings;
      settings.environment.semantics = Semantics::ipu();
      settings.reference = reference;
      const OpResult r = run_pooling(c.node(operands), operands, settings);
      for (size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(r.out.value(i), fp::to_double(kFp16, fp::from_float(kFp16, sums[i])))
            << c.text() << " output " << i << " reference " << reference;
      EXPECT_EQ(r.status.flags, 0);
    }
  }
}

/// One window of four: what wins.
uint32_t maximum_of(std::initializer_list<uint32_t> codes, FpStatus& status, const Semantics& s,
                    uint32_t* winner = nullptr) {
  PoolingCase c;
  c.height = c.width = 2;
  std::vector<Codes> operands = c.operands();
  size_t i = 0;
  for (const uint32_t code : codes) operands[0].set(i++, code);
  emu::EngineSettings settings;
  settings.environment.semantics = s;
  const OpResult r = run_pooling(c.node(operands), operands, settings);
  status = r.status;
  c.op = "MaxPoolGrad";
  std::vector<Codes> more = c.operands();
  more[0] = operands[0];
  more[1] = r.out;
  more[2].set(0, 0x3C00);
  const OpResult g = run_pooling(c.node(more), more, settings);
  if (winner)
    for (uint32_t t = 0; t < 4; ++t)
      if (g.out.at(t) == 0x3C00) *winner = t;
  return r.out.at(0);
}

// tests: N126
TEST(Pooling, WhoWins) {
  FpStatus status;
  uint32_t winner = 9;
  const Semantics ipu = Semantics::ipu(), ieee = Semantics::ieee();
  EXPECT_EQ(maximum_of({0x3C00, 0x4000, 0x4000, 0xC000}, status, ipu, &winner), 0x4000u);
  EXPECT_EQ(winner, 1u);  // the first of equals
  EXPECT_EQ(maximum_of({0x8000, 0x0000, 0x0000, 0x8000}, status, ipu, &winner), 0u);
  EXPECT_EQ(winner, 1u);  // +0 above -0
  EXPECT_EQ(maximum_of({0x8000, 0x8000, 0x8001, 0x8000}, status, ipu, &winner), 0x8000u);
  EXPECT_EQ(winner, 0u);
  EXPECT_EQ(status.flags, 0);
  EXPECT_EQ(maximum_of({0x4000, 0x7E01, 0xFE00, 0x4400}, status, ipu, &winner), 0x7E00u);
  EXPECT_EQ(winner, 1u);  // the first NaN
  EXPECT_EQ(status.flags, kInvalid);
  EXPECT_EQ(maximum_of({0x4000, 0x7E01, 0xFE00, 0x4400}, status, ieee), 0x7E00u);
  EXPECT_EQ(status.flags, 0);
  EXPECT_EQ(maximum_of({0x4000, 0x7E01, 0x7D00, 0x4400}, status, ieee), 0x7E00u);
  EXPECT_EQ(status.flags, kInvalid);  // a signalling NaN behind the one that wins
  EXPECT_EQ(maximum_of({0x4000, 0x7C00, 0xFC00, 0x4400}, status, ieee, &winner), 0x7C00u);
  EXPECT_EQ(winner, 1u);
  EXPECT_EQ(maximum_of({0x4000, 0x7C00, 0xFC00, 0x4400}, status, ipu), 0x7E00u);  // no result is infinite there
}

TEST(Pooling, ShapesAndErrors) {
  PoolingCase c;
  c.height = 5, c.width = 4, c.kh = c.kw = 3, c.same = true;
  EXPECT_EQ(c.node(c.operands()).outputs[0].shape, (Shape{1, 3, 2, 1}));
  c.same = false;
  EXPECT_EQ(c.node(c.operands()).outputs[0].shape, (Shape{1, 2, 1, 1}));
  PoolingCase wide = c;
  wide.kw = 5;
  const auto node_of = [](const PoolingCase& broken, const std::vector<Codes>& operands) {
    return refusal<GraphError>([&] { broken.node(operands); });
  };
  EXPECT_NE(node_of(wide, {Codes({DType::kFloat16, wide.input()})}).find("width 5 exceeds the input's 4"),
            std::string::npos);
  PoolingCase zero = c;
  zero.sh = 0;
  EXPECT_NE(node_of(zero, {Codes({DType::kFloat16, zero.input()})}).find("strides is [1,0,2,1]"), std::string::npos);
  c.op = "AvgPoolGrad";
  EXPECT_NE(node_of(c, {Codes({DType::kFloat16, Shape{1, 3, 1, 1}})}).find("expected [1,2,1,1]"), std::string::npos);
}

}  // namespace
}  // namespace softamp::test
