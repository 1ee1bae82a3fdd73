// One output of a product by the body of kernel/products.h, with its flags.
#pragma once

#include "cuda/products/product_problem.h"

namespace softamp::cuda {

SOFTAMP_HD inline uint64_t operand_code(const FloatFormat& f, const void* data, int64_t at) {
  return f.storage_bits() <= 16 ? uint64_t{static_cast<const uint16_t*>(data)[at]}
                                : uint64_t{static_cast<const uint32_t*>(data)[at]};
}

/// Computes and stores output (row, column) of a part; returns its flags.
SOFTAMP_OUT_OF_LOOPS void body_output(const ProductLaunch& l, const DevicePart& p, uint32_t row, uint32_t column) {
  const kernel::Environment environment = l.environment.now();
  const uint64_t output = l.output(p, row) + column;
  const ProductPart& part = p.part;
  const int64_t a = part.a + part.a_rows.place(l.table, row), b = part.b + part.b_columns.place(l.table, column);
  const Semantics s = kernel::product_semantics(l.rules, environment.semantics);
  kernel::ProductChain chain(l.rules, environment, output);
  if (l.start) chain.start(l.widened_start(p, row, column));
  uint32_t k = 0;
  for (uint32_t n = 0; n < p.blocks; ++n) {
    const engine::ChainBlock block = l.blocks[p.first_block + n];
    for (uint32_t i = 0; i < block.length; ++i, ++k) {
      const uint64_t x = operand_code(l.rules.a, l.a, a + part.a_k.place(l.table, k));
      const uint64_t y = operand_code(l.rules.b, l.b, b + part.b_k.place(l.table, k));
      chain.step(kernel::widen_operand(l.rules.a, x, s), kernel::widen_operand(l.rules.b, y, s), block.number);
    }
    chain.end_block(block.number);
    if (block.closes_partial) chain.close_partial(block.number);
  }
  const Rounded r = chain.finish();
  l.store(output, static_cast<uint32_t>(r.code));
  raise_status(l.status, r.flags & (kInvalid | kOverflow), output);
}

}  // namespace softamp::cuda
