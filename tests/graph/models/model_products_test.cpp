// Matrix products against the model library, and against the order of accumulation of N101 to N105, bit for bit.
#include "tests/graph/models/model_run.h"
#include "tests/ops/named_rows.h"
#include "tests/ops/product_rows.h"
#include "tests/oracle/tensor_model_products.h"
#include "tests/oracle/tensor_order.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversProducts = covers(product_rows());

struct ProductCase {
  Ints a, b;
  bool transpose_a, transpose_b;
};

std::vector<Tensor> operands(const ProductCase& c, DType t, Data data, uint64_t seed) {
  std::vector<Tensor> in;
  in.push_back(random_tensor(t, c.a, data, seed));
  in.push_back(random_tensor(t, c.b, data, seed + 1));
  return in;
}

/// Matrices of random extents, stored as the transposes say.
ProductCase random_product(Mixer& mix, int64_t most_k) {
  const int64_t m = mix.between(1, 20), n = mix.between(1, 40), k = mix.between(0, 9) == 0 ? 0 : mix.between(1, most_k);
  const bool ta = mix() & 1, tb = mix() & 1;
  return {ta ? Ints{k, m} : Ints{m, k}, tb ? Ints{n, k} : Ints{k, n}, ta, tb};
}

Attributes attributes_of(const ProductCase& c, bool batched, const std::string& partials, bool batch_sum) {
  Attributes a{{"partialsType", partials}, {"batch_sum", batch_sum}};
  a[batched ? "adj_x" : "transpose_a"] = c.transpose_a;
  a[batched ? "adj_y" : "transpose_b"] = c.transpose_b;
  return a;
}

int64_t inner_of(const ProductCase& c) { return c.transpose_a ? c.a[c.a.size() - 2] : c.a.back(); }

void check(const std::string& op, const ProductCase& c, DType t, Data data, uint64_t seed,
           RoundedUp* statistics = nullptr, const Mode& mode = kModes[1], bool batch_sum = false) {
  const std::vector<Tensor> in = operands(c, t, data, seed);
  const Array model = matrix_product(load(in[0], mode), load(in[1], mode), c.transpose_a, c.transpose_b)
                          .sums({false, 0, batch_sum ? inner_of(c) / 1024 : 0}, mode);
  expect_admitted(run_operation(op, in, attributes_of(c, op != "MatMul", "", batch_sum), mode)[0], model, mode, op,
                  statistics);
}

// tests: N100, N102
TEST(ModelProducts, FloatPartials) {
  Mixer mix(1);
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      RoundedUp statistics;
      for (uint64_t i = 0; i < 9; ++i) {
        const Data data = i % 3 == 0 ? Data::kUnit : i % 3 == 1 ? Data::kMiddle : Data::kBroad;
        check("MatMul", random_product(mix, 150), t, data, i, &statistics, mode);
      }
      expect_probabilities(statistics, t, mode);
    }
}

TEST(ModelProducts, Batches) {
  const std::vector<ProductCase> cases = {
      {{3, 4, 5}, {3, 5, 6}, false, false}, {{2, 1, 4, 7}, {3, 7, 2}, false, false},
      {{5, 4}, {2, 3, 6, 5}, true, true},   {{2, 3, 8, 4}, {1, 1, 8, 9}, true, false},
      {{0, 3, 2}, {2, 4}, false, false},    {{2, 3, 4}, {9, 4}, false, true}};
  for (const DType t : kFloats)
    for (const Mode& mode : kModes)
      for (size_t i = 0; i < cases.size(); ++i) check("BatchMatMulV2", cases[i], t, Data::kMiddle, i, nullptr, mode);
}

// tests: N103
TEST(ModelProducts, HalfPartials) {
  Mixer mix(2);
  for (const Mode& mode : kModes)
    for (const int block : {1, 4, 16, 0})
      for (uint64_t i = 0; i < 4; ++i) {
        const ProductCase c = random_product(mix, 100);
        const std::vector<Tensor> in = operands(c, DType::kFloat16, Data::kUnit, i);
        ExecutorOptions options = options_of(mode);
        options.amp_block = block;
        const int64_t k = inner_of(c), roundings = block == 0 ? 1 : (k + block - 1) / block;
        const Array model = matrix_product(load(in[0], mode), load(in[1], mode), c.transpose_a, c.transpose_b)
                                .sums({true, roundings, 0}, mode);
        expect_admitted(run_operation("MatMul", in, attributes_of(c, false, "half", false), options).outputs[0], model,
                        mode, "MatMul, half partials");
      }
}

/// Small integers: every sum is exact in fp32 and in fp16, so all ways give the one result.
TEST(ModelProducts, IntegersAreExact) {
  Mixer mix(3);
  for (const DType t : kFloats)
    for (const Mode& mode : kModes)
      for (const int block : {1, 4, 16, 0})
        for (const bool half : {false, true}) {
          const ProductCase c = random_product(mix, 15);  // |sum| <= 15 * 16 = 240: eight bits
          const std::vector<Tensor> in = operands(c, t, Data::kIntegers, 4);
          ExecutorOptions options = options_of(mode);
          options.amp_block = block;
          const Products products = matrix_product(load(in[0], mode), load(in[1], mode), c.transpose_a, c.transpose_b);
          Array model(products.shape);
          for (int64_t i = 0; i < model.size(); ++i) {
            const Factors& f = products.outputs[static_cast<size_t>(i)];
            for (size_t j = 0; j < f.a.size(); ++j) model[i] = model[i] + f.a[j] * f.b[j];
          }
          expect_admitted(
              run_operation("MatMul", in, attributes_of(c, false, half ? "half" : "", false), options).outputs[0],
              model, mode, "MatMul of integers");
        }
}

/// How a product is summed, and rounded.
struct Summing {
  const Mode& mode;
  int block = 16;
  bool half = false, batch_sum = false;
  uint64_t seed = 7;
};

/// Codes by N101 to N105 on scalars, with the random bits of N72: output o has those of place `places[o]` [=o].
std::vector<uint64_t> summed_in_order(const Products& products, DType t, const Summing& how, const Ints& places = {}) {
  std::vector<uint64_t> codes;
  for (int64_t o = 0; o < product_of(products.shape); ++o) {
    const Factors& f = products.outputs[static_cast<size_t>(o)];
    const auto place = static_cast<uint64_t>(places.empty() ? o : places[static_cast<size_t>(o)]);
    order::Chain chain(how.half, how.half && how.block == 1, how.mode, {how.seed, operation_id(2, 0)}, place);
    const size_t k = f.a.size(), partial = how.batch_sum ? 1024 : k;
    const size_t length = how.block == 0 ? std::max<size_t>(partial, 1) : static_cast<size_t>(how.block);
    for (size_t i = 0; i < k; ++i) {
      chain.step(f.a[i].low, f.b[i].low);
      const bool partial_ends = how.batch_sum && ((i + 1) % 1024 == 0 || i + 1 == k);
      if ((i + 1) % length == 0 || i + 1 == k || partial_ends) chain.end_block(i / length);
      if (partial_ends) chain.close_partial();
    }
    // Half partials that make a half need no second rounding; a sum of several partials does.
    codes.push_back(code_of(t, order::rounded(t, chain.value(), how.mode, {how.seed, operation_id(2, 1)}, place)));
  }
  return codes;
}

void expect_order(const std::string& op, const std::vector<Tensor>& in, Attributes attributes, const Summing& how,
                  const Products& products, const Ints& places = {}) {
  ExecutorOptions options = options_of(how.mode, how.seed);
  options.amp_block = how.block;
  attributes["partialsType"] = std::string(how.half ? "half" : "");
  attributes["batch_sum"] = how.batch_sum;
  const Tensor got = std::move(run_operation(op, in, attributes, options).outputs[0]);
  expect_codes(got, summed_in_order(products, got.dtype(), how, places),
               op + " " + name_of(got.dtype()) + " (" + how.mode.name + "), block " + std::to_string(how.block) +
                   (how.half ? ", half" : "") + (how.batch_sum ? ", batch" : ""));
}

/// Bits are demanded, under every rounding.
TEST(ModelProducts, OrderOfAccumulation) {
  Mixer mix(5);
  for (int round = 0; round < 2 * rounds(); ++round)
    for (const DType t : kFloats)
      for (const Mode& mode : kModes)
        for (const int block : {1, 4, 16, 0})
          for (const bool batch_sum : {false, true})
            for (const bool half : {false, true}) {
              if (half && t != DType::kFloat16) continue;
              ProductCase c = random_product(mix, batch_sum ? 2600 : 120);
              if (batch_sum) c = {{mix.between(1025, 2600), 3}, {0, 5}, true, false};
              if (batch_sum) c.b[0] = c.a[0];
              const std::vector<Tensor> in = operands(c, t, half ? Data::kUnit : Data::kBroad, mix());
              expect_order("MatMul", in, attributes_of(c, false, "", batch_sum), {mode, block, half, batch_sum},
                           matrix_product(load(in[0], mode), load(in[1], mode), c.transpose_a, c.transpose_b));
            }
}

/// Of each output of a row, its place among the products.
Ints places_of(const ProductRow& row, const Ints& shape) {
  Ints places;
  const std::string equation = row.places.empty() ? "" : std::get<std::string>(row.attributes.at("equation"));
  const std::string result = equation.empty() ? "" : equation.substr(equation.find("->") + 2);
  const Array outputs(shape);
  for (int64_t o = 0; o < outputs.size(); ++o) {
    int64_t place = 0;
    for (const char letter : row.places)
      place = place * shape[result.find(letter)] + outputs.index(o)[result.find(letter)];
    places.push_back(row.places.empty() ? o : place);
  }
  return places;
}

class ModelProductRows : public RowTest<ProductRow> {};
INSTANTIATE_TEST_SUITE_P(Rows, ModelProductRows, ::testing::ValuesIn(named(product_rows())), kNameOfRow);

/// Against the model and bit for bit.
// tests: N101, N111
TEST_P(ModelProductRows, Agree) {
  const ProductRow& row = this->row();
  uint64_t seed = 40 * GetParam().number;
  for (const DType t : kFloats)
    for (const Mode& mode : kModes)
      for (const bool half : {false, true}) {
        if (half && t != DType::kFloat16) continue;
        const auto flag = row.attributes.find("batch_sum");
        const bool batch_sum = flag != row.attributes.end() && std::get<bool>(flag->second);
        const ProductCase c{row.a, row.b, false, false};
        const std::vector<Tensor> in = operands(c, t, half ? Data::kUnit : Data::kMiddle, ++seed);
        const Products products = *contraction_of(row.op, row.attributes, load(in[0], mode), load(in[1], mode));
        expect_order(row.op, in, row.attributes, {mode, 4, half, batch_sum}, products, places_of(row, products.shape));
        if (!half)
          expect_admitted(run_operation(row.op, in, row.attributes, mode)[0], products.sums({}, mode), mode, row.op);
      }
}

/// What is said of 4096 and 40000 ones.
TEST(ModelProducts, Ones) {
  const auto sum_of_ones = [](int64_t n, int block, bool half) {
    std::vector<Tensor> in;
    in.push_back(Tensor::full(DType::kFloat16, Shape{1, n}, 1));
    in.push_back(Tensor::full(DType::kFloat16, Shape{n, 1}, 1));
    ExecutorOptions options = options_of(kModes[1]);
    options.amp_block = block;
    return run_operation("MatMul", in, {{"partialsType", std::string(half ? "half" : "float")}}, options)
        .outputs[0]
        .value(0);
  };
  EXPECT_EQ(sum_of_ones(4096, 1, true), 2048);
  EXPECT_EQ(sum_of_ones(4096, 16, true), 4096);
  EXPECT_EQ(sum_of_ones(40000, 16, true), 32768);
  EXPECT_EQ(sum_of_ones(40000, 16, false), 40000);
}

/// Flags and their lowest index: overflow where the exact sum is beyond the halves, invalid where a NaN takes part.
// tests: N107
TEST(ModelProducts, FlagsAndOffendingIndex) {
  Mixer mix(6);
  for (int round = 0; round < 20; ++round)
    for (const Mode& mode : {kModes[1], kModes[3]}) {
      const ProductCase c{{7, 30}, {30, 11}, false, false};
      std::vector<Tensor> in = operands(c, DType::kFloat16, Data::kUnit, mix());
      for (int i = 0; i < 4; ++i) set_code(in[0], mix.below(210), 0x7BFF);  // 65504
      if (round % 2) set_code(in[1], mix.below(330), 0x7E00);
      ExecutorOptions options = options_of(mode);
      options.status = true;
      const Outcome run = run_operation("MatMul", in, {}, options);
      const Array model = matrix_product(load(in[0], mode), load(in[1], mode), false, false).sums({}, mode);
      expect_flags(run.status, model, mode, "MatMul");
    }
}

/// The first one in the order of the products, told as the element that it becomes.
TEST_P(ModelProductRows, TellTheOffendingElement) {
  const ProductRow& row = this->row();
  Mixer mix(7 + GetParam().number);
  for (const Mode& mode : {kModes[1], kModes[3]}) {
    std::vector<Tensor> in = operands({row.a, row.b, false, false}, DType::kFloat16, Data::kUnit, mix());
    const auto any_of = [&](const Tensor& x) { return mix.below(static_cast<uint64_t>(x.elements())); };
    for (int i = 0; i < 2; ++i) set_code(in[0], any_of(in[0]), 0x7BFF);  // 65504
    set_code(in[1], any_of(in[1]), 0x4900);                              // 10
    ExecutorOptions options = options_of(mode);
    options.status = true;
    const Outcome run = run_operation(row.op, in, row.attributes, options);
    const Products products = *contraction_of(row.op, row.attributes, load(in[0], mode), load(in[1], mode));
    const Ints places = places_of(row, products.shape);
    Ints order(places.size());
    for (size_t o = 0; o < places.size(); ++o) order[static_cast<size_t>(places[o])] = static_cast<int64_t>(o);
    expect_flags(run.status, products.sums({}, mode), mode, row.op, order);
  }
}

TEST(ModelProducts, EquationsThatAreNone) {
  const auto refused = [](const std::string& equation, const Shape& x, const Shape& y) {
    return refusal<GraphError>([&] {
      GraphBuilder b;
      const Port a = b.placeholder("x", DType::kFloat16, x);
      b.add("Einsum", {a, b.placeholder("y", DType::kFloat16, y)}, {{"equation", equation}}, "scores");
    });
  };
  const std::string start = "Einsum 'scores': ";
  const Shape m{2, 3}, n{3, 4};
  for (const char* text : {"", "ab", "ab,bc", "ab->bc", "->ab,bc", "abbc->ac"})
    EXPECT_EQ(refused(text, m, n),
              start + "equation is '" + text + "'; expected two terms and a result, as in 'abc,cd->abd'");
  EXPECT_EQ(
      refused("...b,bc->...c", m, n),
      start +
          "equation is '...b,bc->...c'; '.' is no letter; expected a letter for each axis of two operands, and no "
          "'...'");
  EXPECT_EQ(refused("ab,bc,cd->ad", m, n),
            start +
                "equation is 'ab,bc,cd->ad'; ',' is no letter; expected a letter for each axis of two operands, and no "
                "'...'");
  EXPECT_EQ(refused("aa,ab->b", m, n), start +
                                           "equation is 'aa,ab->b'; 'a' is twice in 'aa'; expected each letter of a "
                                           "term once: no diagonals");
  EXPECT_EQ(refused("ab,bc->a", m, n), start +
                                           "equation is 'ab,bc->a'; 'c' is in 'bc' alone; expected it in a second "
                                           "place: Sum is for single sums");
  EXPECT_EQ(refused("ab,bc->acd", m, n), start +
                                             "equation is 'ab,bc->acd'; 'd' is in 'acd' alone; expected it in a second "
                                             "place: Sum is for single sums");
  EXPECT_EQ(refused("abd,bc->adc", m, n), start + "input 0 is [2,3]; expected rank 3, an axis for each of 'abd'");
  EXPECT_EQ(refused("ab,cb->ac", m, n), start + "input 1 is [3,4]; expected extent 3 for 'b', as input 0 has");
}

}  // namespace
}  // namespace softamp::test
