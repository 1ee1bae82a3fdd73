// What the tests of products with a tensor core share: shapes that are drawn, the chain by groups on exact numbers, the
// engine on every instruction set.
#pragma once

#include "tests/emu/product_check.h"
#include "tests/oracle/exact_operations.h"
#include "tests/oracle/fused_group.h"

namespace softamp::test {

/// Shape, data and semantics of a case; `most_k`: products of most.
inline ProductCase draw_tensor_core_shape(Mixer& mix, uint64_t number, size_t most_m, size_t most_k) {
  ProductCase c;
  c.seed = number;
  if (mix() % 2) c.semantics = Semantics::ipu();
  if (mix() % 4 == 0) c.semantics.narrow = RoundingPolicy::stochastic_carry();
  c.m = 1 + mix() % most_m, c.n = 1 + mix() % 70, c.k = 1 + mix() % most_k;
  if (mix() % 6 == 0) c.m = 1 + mix() % 4, c.n = 1 + mix() % 4, c.k = 1 + mix() % 2600;
  c.transpose_a = mix() & 1, c.transpose_b = mix() & 1;
  c.batch_sum = mix() % 4 == 0;
  c.rules.independent = c.batch_sum;
  c.first_output = mix() % 3 == 0 ? 0 : mix() % 1000;
  c.data = static_cast<ProductData>(mix() % kDataKinds);
  c.random.seed = mix();
  return c;
}

/// Compares every output with groups of `length` products, anew in each independent partial: group(a, b, sum) are codes
/// of the operands, and the next sum; single(sum) is the fp32 code of a partial's. C is rounded to the sum's format.
/// Then sums of partials and the result as of any float partials. False ends a test's loop early.
template <typename Group, typename Single>
bool check_exact_chain(const ProductCase& c, const ProductExpectation& e, size_t length, const Group& group,
                       const Single& single, const std::string& text) {
  namespace exact = oracle::exact;
  for (size_t i = 0; i < c.m; ++i)
    for (size_t j = 0; j < c.n; ++j) {
      uint32_t total = 0;
      const size_t partial = c.batch_sum ? 1024 : c.k;
      for (size_t first = 0; first < c.k; first += partial) {
        uint32_t sum = e.start.empty() ? 0 : e.start[i * e.start_row + j];
        if (c.rules.half_accumulator)
          sum = static_cast<uint32_t>(exact::convert(kFp32, kFp16, sum, Semantics::ieee()).code);
        const size_t end = std::min(c.k, first + partial);
        for (size_t k = first; k < end; k += length) {
          std::vector<uint32_t> a, b;
          for (size_t at = k; at < std::min(end, k + length); ++at)
            a.push_back(e.a.at(i * c.k + at)), b.push_back(e.b.at(at * c.n + j));
          sum = group(a, b, sum);
        }
        const uint32_t wide = single(sum);
        total = first == 0 ? wide : static_cast<uint32_t>(exact::add(kFp32, total, wide, c.semantics).code);
      }
      const uint64_t output = c.first_output + i * c.n + j;
      const uint32_t word = e.environment.draw(c.semantics.narrow, 1, output);
      const uint32_t expected =
          c.rules.output == kFp32
              ? total
              : static_cast<uint32_t>(exact::convert(kFp32, c.rules.output, total, c.semantics, word).code);
      if (e.codes[i * c.n + j] == expected) continue;
      ADD_FAILURE() << text << " at " << i << "," << j << ": " << hex(e.codes[i * c.n + j]) << " instead of "
                    << hex(expected);
      return false;
    }
  return true;
}

/// The engine's own way against the chain of definitions, on every instruction set, by one thread and three; sometimes
/// element by element, too.
inline bool engine_agrees(const ProductCase& c, uint64_t number) {
  const ProductExpectation e(c);
  EXPECT_EQ(emu::ProductPlan(c.rules, c.semantics).way, emu::ProductPlan::Way::kTensorCore);
  for (const InstructionSet isa : usable_sets())
    for (const int threads : {1, 3})
      if (!check_product(c, e, isa, threads, threads == 1)) return false;
  return number % 10 != 0 || check_product(c, e, InstructionSet::kAuto, 1, true, true);
}

}  // namespace softamp::test
