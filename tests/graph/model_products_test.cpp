// Matrix products against the model library, and against the order of accumulation of N101 to N105, bit for bit.
#include "tests/graph/model_run.h"
#include "tests/oracle/tensor_model_products.h"
#include "tests/oracle/tensor_order.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversProducts = covers({"MatMul", "BatchMatMulV2"});

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

/// N101 to N105 on scalars, and the random bits of N72: bits are demanded, under every rounding.
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
              ExecutorOptions options = options_of(mode);
              options.amp_block = block;
              const Tensor got =
                  std::move(run_operation("MatMul", in, attributes_of(c, false, half ? "half" : "", batch_sum), options)
                                .outputs[0]);
              const Products products =
                  matrix_product(load(in[0], mode), load(in[1], mode), c.transpose_a, c.transpose_b);
              std::vector<uint64_t> codes;
              for (int64_t o = 0; o < product_of(products.shape); ++o) {
                const Factors& f = products.outputs[static_cast<size_t>(o)];
                order::Chain chain(half, half && block == 1, mode, {options.seed, operation_id(2, 0)},
                                   static_cast<uint64_t>(o));
                const size_t k = f.a.size(), partial = batch_sum ? 1024 : k;
                const size_t length = block == 0 ? std::max<size_t>(partial, 1) : static_cast<size_t>(block);
                for (size_t i = 0; i < k; ++i) {
                  chain.step(f.a[i].low, f.b[i].low);
                  const bool partial_ends = batch_sum && ((i + 1) % 1024 == 0 || i + 1 == k);
                  if ((i + 1) % length == 0 || i + 1 == k || partial_ends) chain.end_block(i / length);
                  if (partial_ends) chain.close_partial();
                }
                // Half partials that make a half need no second rounding; a sum of several partials does.
                codes.push_back(code_of(t, order::rounded(t, chain.value(), mode, {options.seed, operation_id(2, 1)},
                                                          static_cast<uint64_t>(o))));
              }
              expect_codes(got, codes,
                           std::string("MatMul ") + name_of(t) + " (" + mode.name + "), block " +
                               std::to_string(block) + (half ? ", half" : "") + (batch_sum ? ", batch" : ""));
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

}  // namespace
}  // namespace softamp::test
