// Convolutions and their gradients: the fast kernels equal the bodies of kernel/convolutions.h bit for bit, and those
// equal sums written here from the definition.
#include <cmath>

#include "tests/emu/convolution_check.h"
#include "tests/refusal.h"
#include "tests/slice.h"

namespace softamp::test {
namespace {

using Ints = std::vector<int64_t>;

/// A convolution, forward or one of its gradients.
struct ConvolutionCase {
  int kind = 0;  ///< 0 forward, 1 input gradient, 2 filter gradient
  bool depthwise = false;
  DType type = DType::kFloat16;
  int64_t batch = 1, height = 4, width = 4, in = 1, out = 1, kh = 3, kw = 3, sh = 1, sw = 1, dh = 1, dw = 1;
  bool same = true;
  std::string partials;

  std::string op() const {
    static const char* const kOfKind[2][3] = {
        {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
        {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"}};
    return kOfKind[depthwise][kind];
  }
  static int64_t extent(bool same, int64_t in, int64_t k, int64_t s) {
    return same ? (in + s - 1) / s : in < k ? 0 : (in - k) / s + 1;
  }
  int64_t oh() const { return extent(same, height, (kh - 1) * dh + 1, sh); }
  int64_t ow() const { return extent(same, width, (kw - 1) * dw + 1, sw); }
  int64_t out_channels() const { return depthwise ? in * out : out; }
  Shape input() const { return {batch, height, width, in}; }
  Shape filter() const { return {kh, kw, in, out}; }
  Shape output() const { return {batch, oh(), ow(), out_channels()}; }

  std::vector<Codes> operands() const {
    const Shape shapes[3][2] = {{input(), filter()}, {filter(), output()}, {input(), output()}};
    return {Codes({type, shapes[kind][0]}), Codes({type, shapes[kind][1]})};
  }
  Node node(const std::vector<Codes>& operands) const {
    Attributes a{{"strides", Ints{1, sh, sw, 1}},
                 {"dilations", Ints{1, dh, dw, 1}},
                 {"padding", std::string(same ? "SAME" : "VALID")},
                 {"partialsType", partials}};
    const auto list = [](const Shape& s) { return Ints(s.begin(), s.end()); };
    if (kind == 1) a["input_sizes"] = list(input());
    if (kind == 2) a["filter_sizes"] = list(filter());
    return make_node(op(), operands, a);
  }
  std::string text() const {
    const auto s = [](int64_t x) { return std::to_string(x); };
    return op() + " " + name_of(type) + " " + input().text() + " " + filter().text() + " strides " + s(sh) + "," +
           s(sw) + " dilations " + s(dh) + "," + s(dw) + (same ? " SAME" : " VALID") + " partials " + partials;
  }
};

OpResult run_convolution(const Node& node, const std::vector<Codes>& operands, const emu::EngineSettings& settings,
                         bool with_status = true) {
  return run_node(node, operands, settings, factory(emu::convolution_kernels(), node.op), with_status);
}

ConvolutionCase random_convolution(Mixer& mix, bool large) {
  ConvolutionCase c;
  c.kind = static_cast<int>(mix() % 3);
  c.depthwise = mix() % 4 == 0;
  const DType types[] = {DType::kFloat16, DType::kFloat16, DType::kFloat16, DType::kBFloat16, DType::kFloat32};
  c.type = types[mix() % 5];
  const int64_t kernels[] = {1, 2, 3, 3, 5, 7};
  c.kh = kernels[mix() % 6];
  c.kw = mix() % 3 ? c.kh : kernels[mix() % 6];
  c.sh = 1 + static_cast<int64_t>(mix() % 3);
  c.sw = mix() % 3 ? c.sh : 1 + static_cast<int64_t>(mix() % 4);
  if (mix() % 4 == 0) c.dh = 1 + static_cast<int64_t>(mix() % 3), c.dw = 1 + static_cast<int64_t>(mix() % 3);
  const auto pick = [&](uint64_t most) { return 1 + static_cast<int64_t>(mix() % most); };
  c.batch = pick(3);
  c.height = pick(9), c.width = pick(9);
  c.in = mix() % 3 ? pick(6) : pick(36);
  c.out = c.depthwise ? pick(3) : mix() % 3 ? pick(6) : pick(36);
  if (large) {
    c.kh = c.kw = 3, c.sh = c.sw = pick(2), c.dh = c.dw = 1;
    c.batch = 3, c.height = c.width = 10 + pick(3);
    c.in = 16 + pick(8), c.out = c.depthwise ? 4 : 16 + pick(8);
    if (c.depthwise) c.height = c.width = 40;
  }
  c.same = mix() % 3 != 0;
  if (c.oh() == 0 || c.ow() == 0) c.same = true;
  const char* const partials[] = {"", "half", "half", "float"};
  c.partials = partials[mix() % 4];
  return c;
}

/// Random problems; every instruction set; threads 1, 2, 3, 8 by turns (only the large ones are cut for threads).
TEST(Convolution, RandomShapes) {
  Mixer mix(45);
  Slice slice(4);
  const int blocks[] = {1, 4, 16, 0};
  constexpr int kCases = 480, kEvery = 16;
  for (int number = 0; number < kCases && !HasFailure(); ++number) {
    const ConvolutionCase c = random_convolution(mix, number % kEvery == 0);
    std::vector<Codes> operands = c.operands();
    const auto data = static_cast<TensorData>(mix() % 4);
    emu::EngineSettings settings = random_trial(operands, mix, data);
    settings.convolutions.half_partials = mix() & 1;
    settings.convolutions.half_between_blocks = settings.convolutions.half_partials || mix() % 2;
    settings.convolutions.block = blocks[mix() % 4];
    settings.convolutions.inner = mix() % 6 ? AmpInner::kFmaChain : static_cast<AmpInner>(1 + mix() % 2);
    settings.convolutions.stochastic_off = mix() % 6 == 0;
    settings.convolutions.flush_inner = mix() % 16 == 0;
    const Node node = c.node(operands);
    const std::string what = c.text() + " block " + std::to_string(settings.convolutions.block) + " inner " +
                             name_of(settings.convolutions.inner) + " data " + std::to_string(static_cast<int>(data)) +
                             " case " + std::to_string(number);
    if (slice.takes()) expect_reference(run_convolution, node, operands, settings, number, what);
  }
}

/// Gradients of filters with few input channels, over more places than a partial has: all taps at once.
// tests: N105, N123
TEST(Convolution, FilterGradientsOfFewChannels) {
  Mixer mix(52);
  const auto pick = [&](uint64_t least, uint64_t most) {
    return static_cast<int64_t>(least + mix() % (most - least + 1));
  };
  for (int number = 0; number < 60 && !HasFailure(); ++number) {
    ConvolutionCase c;
    const DType types[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    c.kind = 2, c.type = types[mix() % 4], c.partials = "float";
    const int64_t kernels[] = {1, 2, 3, 3, 5, 7};
    c.kh = kernels[mix() % 6], c.kw = kernels[mix() % 6];
    c.sh = pick(1, 2), c.sw = pick(1, 2);
    if (mix() % 4 == 0) c.dh = pick(1, 3), c.dw = pick(1, 3);
    c.batch = pick(1, 4), c.height = pick(7, 24), c.width = pick(7, 24);
    if (number % 10 == 0) c.height = 3, c.width = 700;  // partials in which some taps have no place
    c.in = pick(1, 4), c.out = pick(1, number % 2 ? 12 : 40);
    c.same = mix() % 3 != 0;
    if (c.oh() == 0 || c.ow() == 0) c.same = true;
    std::vector<Codes> operands = c.operands();
    const emu::EngineSettings settings = random_trial(operands, mix, static_cast<TensorData>(number % 4));
    if (number % 3 == 0 &&
        c.type ==
            DType::kFloat32)  // products that underflow: chains that become -0, which a skipped place must not make +0
      for (size_t o = 0; o < 2; ++o)
        for (size_t i = 0; i < operands[o].size(); ++i)
          operands[o].set_value(i, operands[o].value(i) * (mix() % 2 ? 0x1p-76 : 0x1p-80));
    expect_reference(run_convolution, c.node(operands), operands, settings, number,
                     c.text() + " case " + std::to_string(number));
  }
}

/// Half partials rounded stochastically, of sizes for tiles that read in place: results that are normal, subnormal and
/// zero, alone and beside each other; overflows; words from a table.
TEST(Convolution, StochasticHalfPartials) {
  Mixer mix(61);
  Slice slice(4);
  const auto pick = [&](std::initializer_list<int64_t> of) { return of.begin()[mix() % of.size()]; };
  for (int number = 0; number < 90 && !HasFailure(); ++number) {
    ConvolutionCase c;
    c.kind = number % 3, c.partials = "half";
    c.kh = pick({1, 3, 3, 5}), c.kw = pick({1, 3, 3, 5});
    const bool from_table = number % 8 == 7;
    if (from_table) c.kh = c.kw = 3;
    c.sh = c.sw = pick({1, 1, 1, 2});
    c.batch = pick({1, 2, 3}), c.height = pick({3, 6, 9}), c.width = pick({4, 8, 10, 16, 17, 34});
    c.in = pick({3, 4, 8, 16, 16, 20, 32}), c.out = pick({3, 4, 8, 16, 16, 24, 32, 40});
    std::vector<Codes> operands = c.operands();
    for (Codes& o : operands) fill(o, mix, number % 10 == 9 ? TensorData::kLarge : TensorData::kOrdinary);
    // Sums about 2^-20, 2^-16, 2^-14, or of any of these; some channels or rows of zeros.
    const int small = number % 5;
    for (size_t i = 0; i < operands[0].size(); ++i) {
      const double scale[] = {1, 0x1p-10, 0x1p-7, 0x1p-6, std::ldexp(1.0, -static_cast<int>(mix() % 12))};
      operands[0].set_value(i, i / 64 % 7 == 3 ? 0.0 : operands[0].value(i) * scale[small]);
    }
    for (size_t i = 0; small && i < operands[1].size(); ++i) operands[1].set_value(i, operands[1].value(i) * 0x1p-10);
    emu::EngineSettings settings;
    FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
    b.esr = true, b.nanoo = mix() % 2;
    IpuSwitches w;
    w.sr_bits = static_cast<int>(pick({13, 13, 16, 14, 8, 1}));
    settings.environment.semantics = Semantics::ipu(b, w);
    settings.environment.random.seed = mix();
    settings.convolutions.half_partials = settings.convolutions.half_between_blocks = true;
    settings.convolutions.block = static_cast<int>(pick({16, 16, 4, 0}));
    const Node node = c.node(operands);
    std::vector<uint32_t> words;
    if (from_table) {
      const auto outputs = static_cast<uint64_t>(node.outputs[0].shape.elements());
      words.resize((c.kind == 2 ? 1 << 11 : 1 << 8) * outputs);
      for (uint32_t& word : words) word = static_cast<uint32_t>(mix());
      for (auto& table : settings.environment.table) table = {words.data(), outputs};
    }
    if (!slice.takes()) continue;
    expect_reference(run_convolution, node, operands, settings, number,
                     c.text() + " block " + std::to_string(settings.convolutions.block) + " bits " +
                         std::to_string(w.sr_bits) + " case " + std::to_string(number));
  }
}

/// Padding before an axis, from the formula of TUTORIAL G20.
int64_t pad_of(bool same, int64_t in, int64_t out, int64_t k, int64_t s) {
  return same ? std::max<int64_t>((out - 1) * s + k - in, 0) / 2 : 0;
}

/// Calls f(n, oh, ow, kh, kw, ih, iw) for every tap that reads the input.
template <class F>
void for_taps(const ConvolutionCase& c, const F& f) {
  const int64_t ph = pad_of(c.same, c.height, c.oh(), (c.kh - 1) * c.dh + 1, c.sh);
  const int64_t pw = pad_of(c.same, c.width, c.ow(), (c.kw - 1) * c.dw + 1, c.sw);
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t oh = 0; oh < c.oh(); ++oh)
      for (int64_t ow = 0; ow < c.ow(); ++ow)
        for (int64_t kh = 0; kh < c.kh; ++kh)
          for (int64_t kw = 0; kw < c.kw; ++kw) {
            const int64_t ih = oh * c.sh + kh * c.dh - ph, iw = ow * c.sw + kw * c.dw - pw;
            if (ih >= 0 && ih < c.height && iw >= 0 && iw < c.width) f(n, oh, ow, kh, kw, ih, iw);
          }
}

/// The direct sums of a case in binary64, by scattering every product to where it belongs.
std::vector<double> direct_sums(const ConvolutionCase& c, const std::vector<Codes>& x) {
  std::vector<double> sums(static_cast<size_t>((c.kind == 0   ? c.output()
                                                : c.kind == 1 ? c.input()
                                                              : c.filter())
                                                   .elements()));
  const auto v = [&](int operand, int64_t i) { return x[static_cast<size_t>(operand)].value(static_cast<size_t>(i)); };
  for_taps(c, [&](int64_t n, int64_t oh, int64_t ow, int64_t kh, int64_t kw, int64_t ih, int64_t iw) {
    for (int64_t i = 0; i < c.in; ++i)
      for (int64_t q = 0; q < c.out; ++q) {
        const int64_t input = ((n * c.height + ih) * c.width + iw) * c.in + i;
        const int64_t filter = ((kh * c.kw + kw) * c.in + i) * c.out + q;
        const int64_t output = ((n * c.oh() + oh) * c.ow() + ow) * c.out_channels() + (c.depthwise ? i * c.out + q : q);
        if (c.kind == 0) sums[static_cast<size_t>(output)] += v(0, input) * v(1, filter);
        if (c.kind == 1) sums[static_cast<size_t>(input)] += v(0, filter) * v(1, output);
        if (c.kind == 2) sums[static_cast<size_t>(filter)] += v(0, input) * v(1, output);
      }
  });
  return sums;
}

/// Small integers: every partial sum is an integer below 2048, exact in fp16 (below 256 in bf16), so that order and
/// roundings do not matter and the result must be the direct sum. TUTORIAL G20.
// tests: G20
TEST(Convolution, IntegersExact) {
  Mixer mix(46);
  for (int number = 0; number < 150 && !HasFailure(); ++number) {
    ConvolutionCase c = random_convolution(mix, false);
    c.batch = 2;
    std::vector<Codes> operands = c.operands();
    // At most 256 (bf16) or 2048 terms of magnitude 1, if many are zero: bounded below by counting.
    for (Codes& o : operands)
      for (size_t i = 0; i < o.size(); ++i) o.set_value(i, static_cast<double>(mix() % 3) - 1);
    std::vector<double> magnitudes;
    {
      std::vector<Codes> absolute = c.operands();
      for (size_t o = 0; o < 2; ++o)
        for (size_t i = 0; i < absolute[o].size(); ++i) absolute[o].set_value(i, std::fabs(operands[o].value(i)));
      magnitudes = direct_sums(c, absolute);
    }
    const double most = *std::max_element(magnitudes.begin(), magnitudes.end());
    ASSERT_LE(most, 2048);
    if (c.type == DType::kBFloat16 && most > 256) continue;
    const std::vector<double> sums = direct_sums(c, operands);
    for (const bool reference : {true, false}) {
      emu::EngineSettings settings;
      settings.environment.semantics = semantics_of(number % kSemantics);
      settings.convolutions.block = number % 3 == 0 ? 1 : 16;
      settings.reference = reference;
      const OpResult r = run_convolution(c.node(operands), operands, settings);
      for (size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(r.out.value(i), sums[i]) << c.text() << " output " << i << " reference " << reference;
      EXPECT_EQ(r.status.flags, 0);
    }
  }
}

/// The chain of one output, written from the rules (N105, N121) with the host's fmaf: products arrive with the number
/// of their run (where half partials round) or of their independent partial.
class HostChain {
 public:
  HostChain(bool half, bool independent) : half_(half), independent_(independent) {}
  void product(double a, double b, int64_t run, int64_t partial) {
    if (any_ && (run != run_ || partial != partial_)) end_run();
    if (any_ && partial != partial_) end_partial();
    any_ = true, run_ = run, partial_ = partial;
    acc_ = std::fmaf(static_cast<float>(a), static_cast<float>(b), acc_);
  }
  uint32_t finish() {
    if (any_) end_run();
    if (independent_ && any_) end_partial();
    return static_cast<uint32_t>(fp::from_float(kFp16, independent_ ? total_ : acc_));
  }

 private:
  void end_run() {
    if (half_) acc_ = fp::to_float(kFp16, fp::from_float(kFp16, acc_));
  }
  void end_partial() {
    if (!independent_) return;
    total_ = any_partial_ ? total_ + acc_ : acc_;
    any_partial_ = true;
    acc_ = 0;
  }
  bool half_, independent_, any_ = false, any_partial_ = false;
  int64_t run_ = 0, partial_ = 0;
  float acc_ = 0, total_ = 0;
};

/// Real data, fp16, nearest: every output's chain by definition, gathered from the direct sum's products and sorted
/// into the rule's order. TUTORIAL G42: convolutions with half and with float partials.
// tests: G42, N121, N122, N125
TEST(Convolution, ChainsByDefinition) {
  struct Product {
    int64_t order[4];  ///< channel block, kh, kw, channel; or place
    double a, b;
  };
  Mixer mix(47);
  for (int number = 0; number < 90 && !HasFailure(); ++number) {
    ConvolutionCase c = random_convolution(mix, false);
    c.type = DType::kFloat16;
    c.partials = number & 1 ? "half" : "float";
    if (number % 9 == 2) {  // long enough for two partials and a channel block that is cut
      c.kind = 2, c.batch = 6, c.height = 15, c.width = 16, c.in = 3, c.out = 2, c.sh = c.sw = c.dh = c.dw = 1;
      c.kh = c.kw = 3, c.same = true;
    }
    std::vector<Codes> operands = c.operands();
    for (Codes& o : operands) fill(o, mix, TensorData::kOrdinary);
    std::vector<std::vector<Product>> chains(direct_sums(c, operands).size());
    const auto v = [&](int operand, int64_t i) {
      return operands[static_cast<size_t>(operand)].value(static_cast<size_t>(i));
    };
    for_taps(c, [&](int64_t n, int64_t oh, int64_t ow, int64_t kh, int64_t kw, int64_t ih, int64_t iw) {
      for (int64_t i = 0; i < c.in; ++i)
        for (int64_t q = 0; q < c.out; ++q) {
          const int64_t input = ((n * c.height + ih) * c.width + iw) * c.in + i;
          const int64_t filter = ((kh * c.kw + kw) * c.in + i) * c.out + q;
          const int64_t output =
              ((n * c.oh() + oh) * c.ow() + ow) * c.out_channels() + (c.depthwise ? i * c.out + q : q);
          const int64_t within = c.depthwise ? 0 : i;  // channel within the sum's group
          if (c.kind == 0)
            chains[static_cast<size_t>(output)].push_back(
                {{within / 16, kh, kw, within % 16}, v(0, input), v(1, filter)});
          if (c.kind == 1)
            chains[static_cast<size_t>(input)].push_back({{q / 16, kh, kw, q % 16}, v(1, output), v(0, filter)});
          if (c.kind == 2)
            chains[static_cast<size_t>(filter)].push_back(
                {{(n * c.oh() + oh) * c.ow() + ow, 0, 0, 0}, v(0, input), v(1, output)});
        }
    });
    emu::EngineSettings settings;
    settings.environment.semantics = Semantics::ipu();
    for (const bool reference : {true, false}) {
      settings.reference = reference;
      const OpResult r = run_convolution(c.node(operands), operands, settings);
      for (size_t i = 0; i < chains.size(); ++i) {
        std::vector<Product>& chain = chains[i];
        std::stable_sort(chain.begin(), chain.end(), [](const Product& x, const Product& y) {
          return std::lexicographical_compare(x.order, x.order + 4, y.order, y.order + 4);
        });
        HostChain host(c.partials == "half", c.kind == 2);
        for (const Product& p : chain) {
          const int64_t run_number =
              c.kind == 2 ? p.order[0] / 16 : (p.order[0] * c.kh + p.order[1]) * c.kw + p.order[2];
          host.product(p.a, p.b, run_number, c.kind == 2 ? p.order[0] / 1024 : 0);
        }
        ASSERT_EQ(r.out.at(i), host.finish()) << c.text() << " output " << i << " reference " << reference;
      }
    }
  }
}

Shape shape_of(const ConvolutionCase& c) {
  const std::vector<Codes> operands = c.operands();
  return c.node(operands).outputs[0].shape;
}

// tests: N120
TEST(Convolution, Shapes) {
  ConvolutionCase c;
  c.height = 4, c.width = 5, c.sh = c.sw = 2, c.out = 7;
  EXPECT_EQ(shape_of(c), (Shape{1, 2, 3, 7}));
  // Height: (2-1) 2 + 3 - 4 = 1 place of padding, all of it behind; a filter of ones counts what windows see.
  std::vector<Codes> operands = c.operands();
  for (Codes& o : operands)
    for (size_t i = 0; i < o.size(); ++i) o.set_value(i, 1);
  const OpResult r = run_convolution(c.node(operands), operands, {});
  const double seen[] = {6, 9, 6, 4, 6, 4};  // rows 3, 2 by columns 2, 3, 2
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(r.out.value(i * 7), seen[i]);
  c.same = false;
  EXPECT_EQ(shape_of(c), (Shape{1, 1, 2, 7}));
  c.kind = 1;
  EXPECT_EQ(shape_of(c), c.input());
  c.kind = 2;
  EXPECT_EQ(shape_of(c), c.filter());
}

TEST(Convolution, Errors) {
  const auto conv = [](Shape input, Shape filter, Attributes a) {
    return refusal<GraphError>([&] {
      make_node("Conv2D", {Codes({DType::kFloat16, input}), Codes({DType::kFloat16, filter})}, std::move(a));
    });
  };
  const Attributes valid{{"strides", Ints{1, 1, 1, 1}}, {"padding", std::string("VALID")}};
  EXPECT_EQ(conv({1, 4, 4, 2}, {3, 3, 2, 1}, valid), "");
  EXPECT_NE(conv({1, 4, 4, 2}, {3, 3, 3, 1}, valid).find("Conv2D 'node': input [1,4,4,2] has 2 channels"),
            std::string::npos);
  EXPECT_NE(conv({1, 4, 4, 2}, {5, 3, 2, 1}, valid).find("height 5 (dilated) exceeds the input's 4"),
            std::string::npos);
  EXPECT_NE(conv({4, 4, 2}, {3, 3, 2, 1}, valid).find("four dimensions"), std::string::npos);
  EXPECT_NE(conv({1, 4, 4, 2}, {0, 3, 2, 1}, valid).find("height is 0"), std::string::npos);
  EXPECT_NE(conv({1, 4, 4, 2}, {3, 3, 2, 1}, {{"strides", Ints{1, 0, 1, 1}}, {"padding", std::string("SAME")}})
                .find("[1,0,1,1]; expected [1,h,w,1]"),
            std::string::npos);
  Attributes far = valid;
  far["dilations"] = Ints{1, int64_t{1} << 25, 1, 1};
  EXPECT_NE(conv({1, 4, 4, 2}, {3, 3, 2, 1}, far).find("dilations"), std::string::npos);
  EXPECT_NE(conv({int64_t{1} << 36, 4, 4, 0}, {3, 3, 0, 1}, valid).find("2^35"), std::string::npos);
  Attributes sizes = valid;
  sizes["input_sizes"] = Ints{1, -4, 4, 2};
  EXPECT_NE(refusal<GraphError>([&] {
              make_node("Conv2DBackpropInput",
                        {Codes({DType::kFloat16, Shape{3, 3, 2, 1}}), Codes({DType::kFloat16, Shape{1, 2, 2, 1}})},
                        sizes);
            }).find("input_sizes"),
            std::string::npos);
  sizes["input_sizes"] = Ints{1, 5, 4, 2};
  EXPECT_NE(refusal<GraphError>([&] {
              make_node("Conv2DBackpropInput",
                        {Codes({DType::kFloat16, Shape{3, 3, 2, 1}}), Codes({DType::kFloat16, Shape{1, 2, 2, 1}})},
                        sizes);
            }).find("expected [1,3,2,1]"),
            std::string::npos);
}

/// A half partials option under a float32 output is ignored, with a warning.
TEST(Convolution, PartialsWarning) {
  ConvolutionCase c;
  c.type = DType::kFloat32;
  c.partials = "half";
  std::vector<Codes> operands = c.operands();
  Mixer mix(3);
  for (Codes& o : operands) fill(o, mix, TensorData::kOrdinary);
  std::vector<std::string> warnings;
  const Node node = c.node(operands);
  const OpResult half = run_node(node, operands, {}, factory(emu::convolution_kernels(), node.op), true, &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("Conv2D 'node'"), std::string::npos);
  c.partials = "float";
  expect_same(half, run_convolution(c.node(operands), operands, {}), "float partials");
}

/// No tap at all, no channel, no batch.
// tests: N125
TEST(Convolution, EmptySums) {
  ConvolutionCase c;
  c.kind = 1, c.height = c.width = 5, c.kh = c.kw = 1, c.sh = c.sw = 2, c.in = 2, c.out = 3;  // places between strides
  std::vector<Codes> operands = c.operands();
  for (Codes& o : operands)
    for (size_t i = 0; i < o.size(); ++i) o.set_value(i, 1);
  const OpResult r = run_convolution(c.node(operands), operands, {});
  for (size_t i = 0; i < r.out.size(); ++i) {
    const size_t y = i / 10, x = i / 2 % 5;
    EXPECT_EQ(r.out.at(i), y % 2 || x % 2 ? 0u : 0x4200u) << i;
  }
  c.out = 0;
  operands = c.operands();
  const OpResult none = run_convolution(c.node(operands), operands, {});
  for (size_t i = 0; i < none.out.size(); ++i) EXPECT_EQ(none.out.at(i), 0u);
  c.kind = 2, c.out = 3, c.batch = 0;
  operands = c.operands();
  const OpResult gradient = run_convolution(c.node(operands), operands, {});
  ASSERT_EQ(gradient.out.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(gradient.out.at(i), 0u);
}

}  // namespace
}  // namespace softamp::test
