// Element-wise arithmetic, selections, comparisons, conversions against the model library: every dtype and rounding.
#include <cstring>

#include "tests/graph/models/model_run.h"
#include "tests/ops/named_rows.h"
#include "tests/oracle/tensor_model_elementwise.h"

namespace softamp::test {
namespace {

using namespace oracle::model;

[[maybe_unused]] const ::testing::Environment* const kCoversElementwise = covers(
    elementwise_rows(),
    {"BiasAdd", "AddN", "Cast", "ZerosLike", "OnesLike", "Fill", "SelectV2", "LogicalAnd", "LogicalOr", "LogicalNot"});

const DType kAllFloats[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

std::vector<Tensor> pair_of(Tensor a, Tensor b) {
  std::vector<Tensor> v;
  v.push_back(std::move(a));
  v.push_back(std::move(b));
  return v;
}

/// x (and y) of each kind of data through an operation, every result held against the model.
void check(const ElementRow& row, DType t) {
  Real alpha = row.attributes.contains("alpha") ? rows_detail::number(row.attributes, "alpha") : 0;
  if (alpha != 0 && t == DType::kFloat64) alpha = std::get<double>(row.attributes.at("alpha"));
  for (const Mode& mode : kModes) {
    RoundedUp statistics;
    for (const Data data : {Data::kUnit, Data::kWide, Data::kAny}) {
      const Ints shape = {3, 700};
      std::vector<Tensor> in;
      in.push_back(random_tensor(t, shape, data, 1));
      if (row.operands() == 2) in.push_back(random_tensor(t, shape, data, 2));
      const std::vector<Tensor> out = run_operation(row.op, in, row.attributes, mode);
      const Array x = load(in[0], mode), y = row.operands() == 2 ? load(in[1], mode) : x;
      Array model(x.shape);
      for (int64_t i = 0; i < x.size(); ++i) model[i] = elementwise(row.op, x[i], y[i], alpha, t, mode);
      expect_admitted(out[0], model, mode, row.op, &statistics);
    }
    expect_probabilities(statistics, t, mode);
  }
}

/// The rows of one kind (kernel/elementwise.h).
std::vector<NamedRow<ElementRow>> rows_that(bool (*are)(kernel::Elementwise)) {
  return named(elementwise_rows(), [are](const ElementRow& row) { return row.is(are); });
}
class ModelArithmetic : public RowTest<ElementRow> {};
class ModelFp32Inside : public RowTest<ElementRow> {};
class ModelSelections : public RowTest<ElementRow> {};
class ModelComparisons : public RowTest<ElementRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, ModelArithmetic, ::testing::ValuesIn(rows_that(kernel::is_arithmetic)), kNameOfRow);
INSTANTIATE_TEST_SUITE_P(Rows, ModelFp32Inside, ::testing::ValuesIn(rows_that(kernel::is_fp32_inside)), kNameOfRow);
INSTANTIATE_TEST_SUITE_P(Rows, ModelSelections, ::testing::ValuesIn(rows_that(kernel::is_selection)), kNameOfRow);
INSTANTIATE_TEST_SUITE_P(Rows, ModelComparisons, ::testing::ValuesIn(rows_that(kernel::is_comparison)), kNameOfRow);

TEST_P(ModelArithmetic, Agrees) {
  for (const DType t : kAllFloats) check(row(), t);
}

TEST_P(ModelFp32Inside, Agrees) {
  for (const DType t : kAllFloats) check(row(), t);
}

/// Whether a float64 is subnormal.
bool subnormal64(const Tensor& t, int64_t i) {
  const Real x = t.dtype() == DType::kFloat64 ? decode(t.dtype(), t.code(i)) : 1;
  return x != 0 && std::fabs(x) < 0x1p-1022L;
}

/// float64 keeps its subnormals under every preset, as its arithmetic does: the IPU has no such format, and only fp32
/// and narrower wide formats are flushed.
// tests: N198
TEST(ModelElementwise, SubnormalFloat64Stay) {
  for (const Mode& mode : kModes)
    for (const std::string op : {"AddV2", "Maximum", "Minimum", "Relu", "Relu6", "Neg", "Abs", "Equal"}) {
      std::vector<Tensor> in;
      in.push_back(Tensor(DType::kFloat64, Shape{2}));
      set_code(in[0], 0, 1);
      set_code(in[0], 1, 0x0008000000000000u);
      if (op == "AddV2" || op.starts_with("M") || op == "Equal") in.push_back(Tensor(DType::kFloat64, Shape{2}));
      const Tensor out = std::move(run_operation(op, in, {}, mode)[0]);
      for (int64_t i = 0; i < 2; ++i) {
        const uint64_t x = in[0].code(i);
        const uint64_t expected = op == "Minimum" || op == "Equal" ? 0 : op == "Neg" ? x | uint64_t{1} << 63 : x;
        EXPECT_EQ(out.code(i), expected) << op << " (" << mode.name << ")";
      }
    }
}

/// What chooses among its operands gives one of them: nothing is rounded. Under `ipu` subnormals of fp32 are zeros, and
/// no fp16 result is infinite (N50); Neg, Abs and the gradient of relu copy.
// tests: N50, N190, N191, N192
TEST_P(ModelSelections, Agree) {
  for (const DType t : kAllFloats)
    for (const Mode& mode : kModes) {
      const std::string& op = row().op;
      const bool two = row().operands() == 2;
      std::vector<Tensor> in;
      in.push_back(random_tensor(t, {2000}, Data::kAny, 3));
      if (two) in.push_back(random_tensor(t, {2000}, Data::kAny, 4));
      for (Tensor& x : in)
        for (int64_t i = 0; i < 2000; ++i)
          if (subnormal64(x, i)) set_code(x, i, 0);  // see above
      if (op == "Relu6" && mode.ipu && narrow(t))    // min(max(Inf, 0), 6): 6, or the NaN that max gives
        for (int64_t i = 0; i < 2000; ++i)
          if (decode(t, in[0].code(i)) == kInfinity) set_code(in[0], i, 0);
      const std::vector<Tensor> out = run_operation(op, in, {}, mode);
      const bool copies = op == "Neg" || op == "Abs" || op == "ReluGrad";
      const Array x = copies ? as_it_stands(in[0]) : load(in[0], mode);
      const Array y = two ? load(in[1], mode) : x;
      std::vector<uint64_t> codes;
      for (int64_t i = 0; i < x.size(); ++i) {
        const Range r = elementwise(op, x[i], y[i], 0, t, mode);
        const bool nan = r.nan || (!copies && mode.ipu && narrow(t) && std::isinf(r.low));
        codes.push_back(code_of(t, nan ? std::numeric_limits<Real>::quiet_NaN() : r.low));
      }
      expect_codes(out[0], codes, op + " " + name_of(t) + " (" + mode.name + ")");
    }
}

// tests: N196
TEST_P(ModelComparisons, Agree) {
  for (const DType t : kAllFloats)
    for (const Mode& mode : kModes) {
      const std::string& op = row().op;
      std::vector<Tensor> in;
      in.push_back(random_tensor(t, {2000}, Data::kAny, 5));
      const bool two = row().operands() == 2;
      if (two) {
        in.push_back(random_tensor(t, {2000}, Data::kAny, 6));
        for (int64_t i = 0; i < 2000; i += 3) set_code(in[1], i, in[0].code(i));
      }
      const std::vector<Tensor> out = run_operation(op, in, {}, mode);
      const Array x = op.starts_with("Is") ? as_it_stands(in[0]) : load(in[0], mode);
      const Array y = two ? load(in[1], mode) : x;
      std::vector<uint64_t> codes;
      for (int64_t i = 0; i < x.size(); ++i)
        codes.push_back(comparison(op, x[i].nan ? NAN : x[i].low, y[i].nan ? NAN : y[i].low));
      expect_codes(out[0], codes, op + " " + name_of(t) + " (" + mode.name + ")");
    }
}

/// int32 wraps: the model counts modulo 2^32.
// tests: N198
TEST(ModelElementwise, Integers) {
  std::vector<Tensor> in =
      pair_of(random_tensor(DType::kInt32, {3000}, Data::kAny, 7), random_tensor(DType::kInt32, {3000}, Data::kAny, 8));
  for (int64_t i = 0; i < 3000; i += 5) set_code(in[1], i, in[0].code(i));
  for (int64_t i = 0; i < 3000; i += 7) set_code(in[0], i, 0x80000000u);
  for (int64_t i = 0; i < 3000; i += 11) set_code(in[0], i, static_cast<uint64_t>(i % 13));
  const auto int_of = [](const Tensor& t, int64_t i) { return static_cast<int64_t>(decode(DType::kInt32, t.code(i))); };
  struct Case {
    std::string op;
    int operands;
    int64_t (*f)(int64_t, int64_t);
  };
  const Case cases[] = {
      {"AddV2", 2, [](int64_t a, int64_t b) { return a + b; }},
      {"Sub", 2, [](int64_t a, int64_t b) { return a - b; }},
      {"Mul", 2, [](int64_t a, int64_t b) { return a * b; }},
      {"Maximum", 2, [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"Minimum", 2, [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"Square", 1, [](int64_t a, int64_t) { return a * a; }},
      {"Neg", 1, [](int64_t a, int64_t) { return -a; }},
      {"Abs", 1, [](int64_t a, int64_t) { return std::abs(a); }},
      {"Relu", 1, [](int64_t a, int64_t) { return std::max<int64_t>(a, 0); }},
      {"Relu6", 1, [](int64_t a, int64_t) { return std::min<int64_t>(std::max<int64_t>(a, 0), 6); }},
      {"ReluGrad", 2, [](int64_t a, int64_t b) { return b > 0 ? a : 0; }},
      {"Equal", 2, [](int64_t a, int64_t b) -> int64_t { return a == b; }},
      {"NotEqual", 2, [](int64_t a, int64_t b) -> int64_t { return a != b; }},
      {"Less", 2, [](int64_t a, int64_t b) -> int64_t { return a < b; }},
      {"LessEqual", 2, [](int64_t a, int64_t b) -> int64_t { return a <= b; }},
      {"Greater", 2, [](int64_t a, int64_t b) -> int64_t { return a > b; }},
      {"GreaterEqual", 2, [](int64_t a, int64_t b) -> int64_t { return a >= b; }},
      {"AddN", 2, [](int64_t a, int64_t b) { return a + b; }},
  };
  for (const Case& c : cases) {
    const std::vector<Tensor> out =
        run_operation(c.op, std::span(in).first(static_cast<size_t>(c.operands)), {}, kModes[1]);
    std::vector<uint64_t> codes;
    for (int64_t i = 0; i < 3000; ++i) codes.push_back(static_cast<uint32_t>(c.f(int_of(in[0], i), int_of(in[1], i))));
    expect_codes(out[0], codes, c.op + " int32");
  }
}

// tests: N190
TEST(ModelElementwise, Broadcasting) {
  const std::vector<std::pair<Ints, Ints>> shapes = {{{4, 1, 6}, {5, 1}},       {{}, {3, 4}},       {{7}, {2, 3, 7}},
                                                     {{2, 1, 3, 1}, {4, 1, 5}}, {{1}, {1, 1}},      {{0, 3}, {1, 3}},
                                                     {{33, 17}, {17}},          {{33, 17}, {33, 1}}};
  for (const auto& [a, b] : shapes)
    for (const DType t : kFloats)
      for (const Mode& mode : kModes)
        for (const std::string op : {"AddV2", "Sub", "RealDiv"}) {
          const std::vector<Tensor> in =
              pair_of(random_tensor(t, a, Data::kWide, 9), random_tensor(t, b, Data::kWide, 10));
          const Array model = broadcast_map(load(in[0], mode), load(in[1], mode), [&](const Range& x, const Range& y) {
            return elementwise(op, x, y, 0, t, mode);
          });
          expect_admitted(run_operation(op, in, {}, mode)[0], model, mode,
                          op + in[0].shape().text() + in[1].shape().text());
        }
}

// tests: N194, N195
TEST(ModelElementwise, BiasAddAndAddN) {
  for (const DType t : kAllFloats)
    for (const Mode& mode : kModes) {
      const std::vector<Tensor> in =
          pair_of(random_tensor(t, {5, 3, 37}, Data::kWide, 11), random_tensor(t, {37}, Data::kWide, 12));
      expect_admitted(
          run_operation("BiasAdd", in, {}, mode)[0],
          broadcast_map(load(in[0], mode), load(in[1], mode), [](const Range& x, const Range& y) { return x + y; }),
          mode, "BiasAdd");
      std::vector<Tensor> terms;
      for (uint64_t i = 0; i < 5; ++i) terms.push_back(random_tensor(t, {600}, Data::kMiddle, 13 + i));
      // Ascending from the first, in fp32; float64: in float64.
      Array sum = load(terms[0], mode);
      for (size_t k = 1; k < terms.size(); ++k) {
        const Array term = load(terms[k], mode);
        for (int64_t i = 0; i < sum.size(); ++i) {
          sum[i] = sum[i] + term[i];
          sum[i] = t == DType::kFloat64 ? Range(nearest(t, sum[i].low), nearest(t, sum[i].high)) : f32(sum[i]);
        }
      }
      expect_admitted(run_operation("AddN", terms, {}, mode)[0], sum, mode, "AddN");
    }
}

TEST(ModelElementwise, Casts) {
  std::vector<DType> all(std::begin(kAllFloats), std::end(kAllFloats));
  all.push_back(DType::kInt32);
  all.push_back(DType::kBool);
  for (const DType from : all)
    for (const DType to : all)
      for (const Mode& mode : kModes) {
        RoundedUp statistics;
        for (const Data data : {Data::kWide, Data::kUnit, Data::kAny}) {
          std::vector<Tensor> in;
          in.push_back(random_tensor(from, {4000}, data, 20));
          const std::string what = std::string("Cast from ") + name_of(from) + " to " + name_of(to);
          const std::vector<Tensor> out = run_operation("Cast", in, {{"DstT", to}}, mode);
          if (from == to) {
            EXPECT_TRUE(out[0].same_bits(in[0])) << what;
            continue;
          }
          const Array x = load(in[0], mode);
          if (is_floating(to)) {
            expect_admitted(out[0], x, mode, what, &statistics);
            continue;
          }
          std::vector<uint64_t> codes;
          for (int64_t i = 0; i < x.size(); ++i) {
            const Real v = x[i].nan ? NAN : x[i].low, whole = std::trunc(v);
            if (to == DType::kBool)
              codes.push_back(!(v == 0));
            else if (!(whole >= -2147483648.0L && whole <= 2147483647.0L))
              codes.push_back(0x80000000u);
            else
              codes.push_back(static_cast<uint32_t>(static_cast<int64_t>(whole)));
          }
          expect_codes(out[0], codes, what + " (" + mode.name + ")");
        }
        expect_probabilities(statistics, to, mode);
      }
}

TEST(ModelElementwise, ConstantsAndChoices) {
  const Mode& mode = kModes[2];
  for (const DType t :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool}) {
    std::vector<Tensor> one;
    one.push_back(random_tensor(t, {5, 7}, Data::kAny, 30));
    const std::vector<uint64_t> zeros(35, 0), ones(35, code_of(t, 1));
    expect_codes(run_operation("ZerosLike", one, {}, mode)[0], zeros, "ZerosLike");
    expect_codes(run_operation("OnesLike", one, {}, mode)[0], ones, "OnesLike");
    if (is_floating(t))  // a host constant: nearest even, whatever the mode
      for (const double value : {0.1, -1.0 / 3, 65519.0, 1e-7, 3.0}) {
        const Tensor filled =
            std::move(run_operation("Fill", {}, {{"dtype", t}, {"shape", Shape{2, 3}}, {"value", value}}, mode)[0]);
        for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(decode(t, filled.code(i)), nearest(t, value)) << value;
      }
    std::vector<Tensor> in;
    in.push_back(random_tensor(DType::kBool, {4, 1, 9}, Data::kAny, 31));
    in.push_back(random_tensor(t, {3, 9}, Data::kAny, 32));
    in.push_back(random_tensor(t, {4, 3, 1}, Data::kAny, 33));
    const Tensor chosen = std::move(run_operation("SelectV2", in, {}, mode)[0]);
    ASSERT_EQ(chosen.shape(), (Shape{4, 3, 9}));
    for (int64_t a = 0; a < 4; ++a)
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t c = 0; c < 9; ++c)
          EXPECT_EQ(chosen.code((a * 3 + b) * 9 + c),
                    in[0].code(a * 9 + c) ? in[1].code(b * 9 + c) : in[2].code(a * 3 + b));
  }
  const std::vector<Tensor> in =
      pair_of(random_tensor(DType::kBool, {64}, Data::kAny, 34), random_tensor(DType::kBool, {64}, Data::kAny, 35));
  std::vector<uint64_t> both, either, turned;
  for (int64_t i = 0; i < 64; ++i) {
    both.push_back(in[0].code(i) & in[1].code(i));
    either.push_back(in[0].code(i) | in[1].code(i));
    turned.push_back(in[0].code(i) ^ 1);
  }
  expect_codes(run_operation("LogicalAnd", in, {}, mode)[0], both, "LogicalAnd");
  expect_codes(run_operation("LogicalOr", in, {}, mode)[0], either, "LogicalOr");
  expect_codes(run_operation("LogicalNot", std::span(in).first(1), {}, mode)[0], turned, "LogicalNot");
}

/// Of 10^5 stochastic roundings of one number, the share that goes up is its probability, within five standard
/// deviations; and neighbouring numbers share no bits that would make them go together.
TEST(ModelElementwise, StochasticRoundingHasItsMean) {
  constexpr int64_t kCount = 100000;
  for (const DType t : {DType::kFloat16, DType::kBFloat16})
    for (const double value : {1.0002, 0.3333333432674408, 1e-6, -1234.56}) {
      std::vector<Tensor> in;
      in.push_back(Tensor::full(DType::kFloat32, Shape{kCount}, value));
      const std::vector<Tensor> out = run_operation("Cast", in, {{"DstT", t}}, kModes[2]);
      const Array x = load(in[0], kModes[2]);
      RoundedUp statistics;
      expect_admitted(out[0], x, kModes[2], "Cast", &statistics);
      EXPECT_EQ(statistics.inexact(), kCount);
      EXPECT_LT(statistics.deviations(), 5) << name_of(t) << " " << value;
      // Adjacent pairs that both go up: with probability p^2, so within five standard deviations of n p^2.
      const Real up = above(t, std::fabs(x[0].low));
      int64_t pairs = 0, ups = 0;
      for (int64_t i = 0; i + 1 < kCount; i += 2) {
        const bool a = std::fabs(decode(t, out[0].code(i))) == up, b = std::fabs(decode(t, out[0].code(i + 1))) == up;
        pairs += a && b;
        ups += a + b;
      }
      const Real d = (std::fabs(x[0].low) - below(t, std::fabs(x[0].low))) / unit(t, x[0].low);
      const Real p = std::floor(d * 0x1p13L) * 0x1p-13L, both = p * p, n = kCount / 2;
      EXPECT_LT(std::fabs(static_cast<Real>(pairs) - n * both), 5 * std::sqrt(n * both * (1 - both)) + 1)
          << name_of(t) << " " << value << " " << ups;
    }
}

}  // namespace
}  // namespace softamp::test
