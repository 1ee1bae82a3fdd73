// Element-wise kernels: all formulations against the bodies, the bodies against scalar operations and the answers
// of N46 to N57 and N353.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "softamp/kernel/elementwise.h"
#include "tests/emu/element_check.h"
#include "tests/ops/element_rows.h"
#include "tests/ops/named_rows.h"
#include "tests/slice.h"

namespace softamp {
namespace {

using namespace softamp::test;

const std::vector<DType> kUpTo32 = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
const std::vector<DType> kNumbers = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                                     DType::kInt32};

void sweep(const ElementRow& row, const std::vector<Named>& policies, std::initializer_list<int64_t> sizes,
           std::initializer_list<Field> fields) {
  static Slice slice(4);
  for (const DType t : row.types())
    for (const int64_t n : sizes)
      for (const Field field : fields) {
        if (!slice.takes()) continue;
        const Tensor a = random_tensor(t, Shape{n}, field, 1), b = random_tensor(t, Shape{n}, field, 2);
        ElementCase e{row.op, {&a}, {row.truth() ? DType::kBool : t, Shape{n}}, row.attributes};
        if (row.operands() == 2) e.inputs.push_back(&b);
        for (const Named& policy : policies) expect_body(e, policy);
        if (::testing::Test::HasFailure()) return;
      }
}

class ElementwiseRows : public RowTest<ElementRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, ElementwiseRows, ::testing::ValuesIn(named(elementwise_rows())), kNameOfRow);

TEST_P(ElementwiseRows, EqualTheirBodies) {
  sweep(row(), usual_policies(), {1, 63, 64, 65, 200, 1024, 2500}, {Field::kMixed, Field::kWild});
  sweep(row(), usual_policies(), {1500}, {Field::kTame});
}

TEST_P(ElementwiseRows, EqualTheirBodiesUnderUnusualPolicies) {
  sweep(row(), unusual_policies(), {130, 1100}, {Field::kMixed, Field::kWild});
}

class FunctionRows : public RowTest<ElementRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, FunctionRows, ::testing::ValuesIn(named(function_rows())), kNameOfRow);

TEST_P(FunctionRows, EqualTheirBodies) {
  sweep(row(), usual_policies(), {1, 65, 1500}, {Field::kMixed, Field::kWild});
  sweep(row(), unusual_policies(), {200}, {Field::kWild});
}

// Once overflow has been seen, later blocks do not look for it; they must look at what an infinity is made of all the
// same.
// tests: N194
TEST(Elementwise, DivisionByZeroIsSeenAfterAnOverflow) {
  Tensor a(TensorType{DType::kFloat16, Shape{957}}), b(TensorType{DType::kFloat16, Shape{957}});
  for (Tensor* t : {&a, &b}) std::fill_n(static_cast<uint16_t*>(t->data()), 957, uint16_t{0x3C00});
  static_cast<uint16_t*>(a.data())[1] = 0x7BFF;
  static_cast<uint16_t*>(b.data())[1] = 0x0001;
  static_cast<uint16_t*>(b.data())[928] = 0;
  const ElementCase e{"RealDiv", {&a, &b}, {DType::kFloat16, Shape{957}}, {}};
  for (const Named& policy : usual_policies()) expect_body(e, policy);
}

TEST(Elementwise, PowersOfPositiveNumbers) {
  for (const DType t : kUpTo32)
    for (const Field field : {Field::kTame, Field::kMixed}) {
      Tensor a = random_tensor(t, Shape{1500}, field, 1);
      const Tensor b = random_tensor(t, Shape{1500}, Field::kTame, 2);
      char* const bytes = static_cast<char*>(a.data());
      for (size_t i = size_of(t) - 1; i < a.bytes(); i += size_of(t)) bytes[i] &= 0x7F;
      for (const Named& policy : usual_policies()) expect_body({"Pow", {&a, &b}, {t, Shape{1500}}}, policy);
      for (const Named& policy : unusual_policies()) expect_body({"Pow", {&a, &b}, {t, Shape{1500}}}, policy);
    }
}

class UnaryRows : public RowTest<ElementRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, UnaryRows,
                         ::testing::ValuesIn(named(element_rows(),
                                                   [](const ElementRow& r) { return r.operands() == 1; })),
                         kNameOfRow);

TEST_P(UnaryRows, EqualTheirBodiesOfAllHalves) {
  for (const DType t : {DType::kFloat16, DType::kBFloat16}) {
    Tensor x(t, Shape{65536});
    for (size_t i = 0; i < 65536; ++i) x.as<uint16_t>()[i] = static_cast<uint16_t>(i * 40503u);
    const ElementCase e{row().op, {&x}, {row().truth() ? DType::kBool : t, x.shape()}, row().attributes};
    expect_body(e, usual_policies()[1]);  // ipu, stochastic
    if (t == DType::kFloat16) expect_body(e, usual_policies()[3]);
  }
}

TEST(Elementwise, ThreadsDoNotShow) {
  const int64_t n = 150001;
  for (const char* op : {"AddV2", "Mul", "Relu", "Exp", "Less"})
    for (const DType t : {DType::kFloat16, DType::kFloat32})
      for (const Named& policy : usual_policies()) {
        const Tensor a = random_tensor(t, Shape{n}, Field::kMixed, 3), b = random_tensor(t, Shape{n}, Field::kMixed, 4);
        ElementCase e{op, {&a}, {std::string(op) == "Less" ? DType::kBool : t, Shape{n}}};
        if (op[0] != 'R' && op[0] != 'E') e.inputs.push_back(&b);
        RunOptions o;
        o.semantics = policy.semantics;
        o.reference = true;
        const ElementResult expected = run_case(e, o);
        o.reference = false;
        for (const int threads : {1, 2, 3, 8}) {
          o.threads = threads;
          expect_same(e, expected, o, policy.name);
        }
      }
}

/// Shapes of two operands whose result is that of a loop over the output's indices.
TEST(Elementwise, BroadcastsAsNumpyDoes) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {Shape{}, Shape{70}},          {Shape{70}, Shape{}},
      {Shape{3, 5}, Shape{5}},       {Shape{5}, Shape{300, 5}},
      {Shape{300, 1}, Shape{1, 7}},  {Shape{7, 1}, Shape{7, 300}},
      {Shape{2, 1, 3}, Shape{4, 1}}, {Shape{3, 2000}, Shape{2000}},
      {Shape{9, 700}, Shape{700}},   {Shape{4, 1, 6, 1}, Shape{1, 5, 1, 33}},
      {Shape{0, 3}, Shape{1, 3}},    {Shape{2, 3, 1, 1, 65}, Shape{2, 3, 4, 1, 1}},
      {Shape{1, 1}, Shape{1}},       {Shape{1024, 3}, Shape{3}},
      {Shape{2, 1024}, Shape{1024}}};
  for (const DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32})
    for (const auto& [left, right] : shapes) {
      const Shape out = broadcast(left, right);
      const Tensor a = random_tensor(t, left, Field::kTame, 5), b = random_tensor(t, right, Field::kTame, 6);
      const ElementCase e{"Sub", {&a, &b}, {t, out}};
      for (const InstructionSet isa : machine_sets()) {
        RunOptions o;
        o.semantics = Semantics::ipu();
        o.isa = isa;
        const ElementResult got = run_case(e, o);
        for (int64_t i = 0; i < out.elements(); ++i) {
          const auto place = [&](const Shape& s) {
            int64_t rest = i, at = 0, stride = 1;
            for (int axis = out.rank() - 1; axis >= 0; --axis) {
              const int64_t coordinate = rest % out[axis];
              rest /= out[axis];
              const int own = axis - (out.rank() - s.rank());
              if (own < 0) continue;
              if (s[own] != 1) at += coordinate * stride;
              stride *= s[own];
            }
            return at;
          };
          const uint64_t x = a.code(place(left)), y = b.code(place(right));
          uint64_t expected = static_cast<uint32_t>(x - y);
          if (t == DType::kFloat64)
            expected = std::bit_cast<uint64_t>(std::bit_cast<double>(x) - std::bit_cast<double>(y));
          else if (t != DType::kInt32)
            expected = fp::sub(format_of(t), x, y, o.semantics).code;
          ASSERT_EQ(got.out.code(i), expected) << left.text() << " - " << right.text() << " element " << i;
        }
      }
    }
}

/// Broadcasting and flags together, in every place an operand can take.
TEST(Elementwise, BroadcastRaisesAtTheLowestIndex) {
  for (const auto& [left, right] : std::vector<std::pair<Shape, Shape>>{
           {Shape{40, 33}, Shape{33}}, {Shape{33}, Shape{40, 33}}, {Shape{40, 1}, Shape{33}}, {Shape{}, Shape{1300}}})
    for (const DType t : kNumbers) {
      const Tensor a = random_tensor(t, left, Field::kMixed, 7), b = random_tensor(t, right, Field::kMixed, 8);
      for (const char* op : {"AddV2", "Mul", "Maximum"})
        for (const Named& policy : usual_policies()) expect_body({op, {&a, &b}, {t, broadcast(left, right)}}, policy);
    }
}

// tests: N191
TEST(Elementwise, SelectAndLogic) {
  for (const DType t : all_dtypes()) {
    for (const auto& [c, x, y] : std::vector<std::tuple<Shape, Shape, Shape>>{{Shape{1500}, Shape{1500}, Shape{1500}},
                                                                              {Shape{40, 1}, Shape{33}, Shape{}},
                                                                              {Shape{}, Shape{9}, Shape{9}}}) {
      const Tensor condition = random_tensor(DType::kBool, c, Field::kTame, 1);
      const Tensor a = random_tensor(t, x, Field::kWild, 2), b = random_tensor(t, y, Field::kWild, 3);
      const Shape out = broadcast(c, broadcast(x, y));
      expect_body({"SelectV2", {&condition, &a, &b}, {t, out}}, usual_policies()[0]);
    }
  }
  const Tensor a = random_tensor(DType::kBool, Shape{200}, Field::kTame, 1);
  const Tensor b = random_tensor(DType::kBool, Shape{200}, Field::kTame, 2);
  for (const char* op : {"LogicalAnd", "LogicalOr"})
    expect_body({op, {&a, &b}, {DType::kBool, Shape{200}}}, usual_policies()[0]);
  expect_body({"LogicalNot", {&a}, {DType::kBool, Shape{200}}}, usual_policies()[0]);
  RunOptions o;
  const ElementResult both = run_case({"LogicalAnd", {&a, &b}, {DType::kBool, Shape{200}}}, o);
  for (int64_t i = 0; i < 200; ++i) EXPECT_EQ(both.out.code(i), a.code(i) & b.code(i));
}

// tests: N195
TEST(Elementwise, AddN) {
  for (const DType t : kNumbers)
    for (const size_t terms : {1, 2, 5})
      for (const int64_t n : {1, 65, 1500}) {
        std::vector<Tensor> values;
        for (size_t k = 0; k < terms; ++k)
          values.push_back(random_tensor(t, Shape{n}, n == 1500 ? Field::kMixed : Field::kWild, k + 1));
        ElementCase e{"AddN", {}, {t, Shape{n}}};
        for (const Tensor& v : values) e.inputs.push_back(&v);
        for (const Named& policy : usual_policies()) expect_body(e, policy);
        for (const Named& policy : unusual_policies()) expect_body(e, policy);
      }
  // In fp32, rounded once: 2048 + 1 + 1 is 2050 where fp16 additions would stay at 2048.
  const Tensor big = Tensor::full(DType::kFloat16, Shape{3}, 2048), one = Tensor::full(DType::kFloat16, Shape{3}, 1);
  EXPECT_EQ(run_case({"AddN", {&big, &one, &one}, {DType::kFloat16, Shape{3}}}, {}).out.values()[0], 2050);
}

TEST(Elementwise, Constants) {
  const Tensor x(DType::kFloat32, Shape{100});
  for (const DType t : all_dtypes()) {
    for (const int64_t n : {0, 1, 77, 300000}) {
      const ElementResult r = run_case({"Fill", {}, {t, Shape{n}}, {{"value", 1.0}}}, {});
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(r.out.code(i), Tensor::full(t, Shape{}, 1.0).code(0));
    }
    const Tensor like(t, Shape{5});
    EXPECT_EQ(run_case({"OnesLike", {&like}, {t, Shape{5}}}, {}).out.values()[4], 1.0);
    EXPECT_EQ(run_case({"ZerosLike", {&like}, {t, Shape{5}}}, {}).out.code(4), 0u);
  }
}

// The formulas once more, in plain C++ on finite operands whose results stay finite.
// tests: N193
TEST(Elementwise, FormulasOfGradients) {
  const int64_t n = 500;
  for (const DType t : kUpTo32) {
    const FloatFormat f = format_of(t);
    const Tensor a = random_tensor(t, Shape{n}, Field::kTame, 1), b = random_tensor(t, Shape{n}, Field::kTame, 2);
    const auto check = [&](const char* op, auto formula, Attributes attributes = {}) {
      RunOptions o;
      o.semantics = Semantics::ieee();
      const ElementResult r = run_case({op, {&a, &b}, {t, Shape{n}}, attributes}, o);
      for (int64_t i = 0; i < n; ++i) {
        const float x = fp::to_float(f, a.code(i)), y = fp::to_float(f, b.code(i));
        volatile float value = formula(x, y);
        EXPECT_EQ(r.out.code(i), fp::from_float(f, value)) << op << " of " << x << ", " << y;
      }
    };
    check("TanhGrad", [](float y, float dy) { return dy * (1.0f - y * y); });
    check("SigmoidGrad", [](float y, float dy) { return (dy * y) * (1.0f - y); });
    check("SqrtGrad", [](float y, float dy) { return (0.5f * dy) / y; });
    check("RsqrtGrad", [](float y, float dy) { return (-0.5f * dy) * ((y * y) * y); });
    check("ReciprocalGrad", [](float y, float dy) { return -dy * (y * y); });
    check("SquaredDifference", [](float x, float y) {
      volatile float d = x - y;
      return d * d;
    });
    check("ReluGrad", [](float g, float x) { return x > 0 ? g : 0.0f; });
    check("LeakyReluGrad", [](float g, float x) { return x > 0 ? g : g * 0.25f; }, {{"alpha", 0.25}});
  }
}

// N46 to N57 and N353: what a device would do.
TEST(Elementwise, KnownAnswers) {
  const Tensor ten = Tensor::full(DType::kFloat16, Shape{3}, 10000), zero = Tensor::full(DType::kFloat16, Shape{3}, 0);
  FloatingPointBehaviour nanoo = FloatingPointBehaviour::all_off();
  nanoo.nanoo = true;
  RunOptions o;
  o.semantics = Semantics::ipu();
  ElementResult r = run_case({"Mul", {&ten, &ten}, {DType::kFloat16, Shape{3}}}, o);
  EXPECT_EQ(r.out.code(2), 0x7BFFu);
  EXPECT_EQ(r.status.flags, kOverflow);
  EXPECT_EQ(r.status.first_index[2], 0u);
  r = run_case({"RealDiv", {&ten, &zero}, {DType::kFloat16, Shape{3}}}, o);
  EXPECT_EQ(r.out.code(0), 0x7E00u);
  EXPECT_EQ(r.status.flags, kDivideByZero);
  o.semantics = Semantics::ipu(nanoo);
  r = run_case({"Mul", {&ten, &ten}, {DType::kFloat16, Shape{3}}}, o);
  EXPECT_EQ(r.out.code(1), 0x7E00u);
  EXPECT_EQ(r.status.flags, kOverflow | kInvalid);

  // 1 + 1e-3 on 4096 lanes: two values with stochastic rounding, one without.
  const Tensor one = Tensor::full(DType::kFloat16, Shape{4096}, 1),
               small = Tensor::full(DType::kFloat16, Shape{4096}, 1e-3);
  const ElementCase add{"AddV2", {&one, &small}, {DType::kFloat16, Shape{4096}}};
  const auto count = [&](const Semantics& s, uint64_t code) {
    o.semantics = s;
    const ElementResult sum = run_case(add, o);
    int64_t n = 0;
    for (int64_t i = 0; i < 4096; ++i) n += sum.out.code(i) == code;
    return n;
  };
  EXPECT_EQ(count(Semantics::ipu(), 0x3C01), 4096);
  FloatingPointBehaviour esr = FloatingPointBehaviour::all_off();
  esr.esr = true;
  const int64_t up = count(Semantics::ipu(esr), 0x3C02), down = count(Semantics::ipu(esr), 0x3C01);
  EXPECT_EQ(up + down, 4096);
  // 25/1024 of 4096: 100, standard deviation 9.9; 5 of them.
  EXPECT_GT(up, 50);
  EXPECT_LT(up, 150);
}

TEST(Elementwise, OperandsOfAnElement) {
  const Tensor a = random_tensor(DType::kFloat16, Shape{4, 5}, Field::kTame, 1);
  const Tensor b = random_tensor(DType::kFloat16, Shape{5}, Field::kTame, 2);
  emu::EngineSettings settings;
  Node node{"node", "AddV2", {}, {}, {{DType::kFloat16, Shape{4, 5}}}, 0};
  const std::vector<TensorType> types = {a.type(), b.type()};
  std::vector<std::string> warnings;
  const auto kernel = emu::find_kernel("AddV2")({node, types, settings, warnings});
  const void* in[2] = {a.data(), b.data()};
  EXPECT_EQ(kernel->operands_at(in, settings.environment, 13), (std::vector<uint64_t>{a.code(13), b.code(3)}));
}

/// Words drawn beforehand take the generator's place.
TEST(Elementwise, WordsOfATable) {
  const int64_t n = 1100;
  std::vector<uint32_t> words(static_cast<size_t>(n));
  Mixer mix(9);
  for (uint32_t& w : words) w = static_cast<uint32_t>(mix());
  FloatingPointBehaviour esr = FloatingPointBehaviour::all_off();
  esr.esr = true;
  for (const char* op : {"AddV2", "Sqrt", "Exp", "TanhGrad"})
    for (const DType t : {DType::kFloat16, DType::kBFloat16}) {
      const Tensor a = random_tensor(t, Shape{n}, Field::kMixed, 1), b = random_tensor(t, Shape{n}, Field::kMixed, 2);
      ElementCase e{op, {&a}, {t, Shape{n}}};
      if (op[0] == 'A' || op[0] == 'T') e.inputs.push_back(&b);
      RunOptions o;
      o.semantics = Semantics::ipu(esr);
      o.table = {words.data(), static_cast<uint64_t>(n)};
      o.reference = true;
      const ElementResult expected = run_case(e, o);
      o.reference = false;
      for (const InstructionSet isa : machine_sets()) {
        o.isa = isa;
        expect_same(e, expected, o, "words");
      }
    }
}

}  // namespace
}  // namespace softamp
