// The body of ScaledMatMul: both operands are quantised along the summed axis, then multiplied as numerics/block/dot.h
// says (N492).
//
// An operand is taken as rows of k numbers, whatever lies transposed in memory: a's rows, b's columns, matrix after
// matrix of a batch. Its elements are widened exactly to fp32 as those of any product are (`widen_operand`), then
// quantised. Blocks, tiles and the scales of tensors are those of this array [rows, k].
//
//   fp32_chain      the chain of kernel/products.h over the operands' fp32 values, as MatMul's of these values
//   half_partials   the same with half partials: rounded to fp16 at the end of every block of products
//   others          block::DotMode of that name
//
// Sums begin with c, where there is one, an fp32 number of `widen_operand` (N480).
//
// The result's fp32 number is at last flushed as the wide policy says; hopper and blackwell keep subnormals, as a
// tensor core does (product_semantics). Random bits: a rounding to fp16 reads site 0 at product_index(block, output),
// that of an operand's element site 1 (a) or 2 (b) at index = place in [rows, k].
//
// Flags: invalid and overflow, of sums and of roundings to fp16. Quantising saturates and raises nothing.
#pragma once

#include "softamp/kernel/products.h"
#include "softamp/numerics/block/dot.h"

namespace softamp::kernel {

/// How products are summed (`accumulation`); the name is in the comment.
enum class Accumulation : uint8_t {
  kExact,         ///< exact
  kFp32Chain,     ///< fp32_chain
  kHalfPartials,  ///< half_partials
  kBlock,         ///< block
  kHopper,        ///< hopper
  kBlackwell,     ///< blackwell
};

// implements: N493
struct ScaledRules {
  block::BlockFormat a{}, b{};
  Accumulation accumulation = Accumulation::kFp32Chain;
  block::Promotion promotion = block::Promotion::kScalesFirst;
  int promote_every = 128;
  uint32_t half_block = 16;     ///< of kHalfPartials: products to a rounding (0: all)
  bool stochastic_off = false;  ///< as in ProductRules

  /// Whether operands are dequantised, and multiplied as numbers of fp32.
  SOFTAMP_INLINE bool chains() const {
    return accumulation == Accumulation::kFp32Chain || accumulation == Accumulation::kHalfPartials;
  }
  SOFTAMP_INLINE block::DotRules dot() const {
    const block::DotMode modes[] = {block::DotMode::kExact, block::DotMode::kFp32Chain, block::DotMode::kFp32Chain,
                                    block::DotMode::kBlock, block::DotMode::kHopper,    block::DotMode::kBlackwell};
    return {modes[static_cast<int>(accumulation)], promotion, promote_every};
  }
  /// Of the chain of dequantised values, and of operands, C and results in every mode.
  SOFTAMP_INLINE ProductRules chain() const {
    ProductRules rules;
    rules.a = rules.b = rules.output = FloatFormat::fp32();
    if (accumulation == Accumulation::kHopper) rules.accumulator = Accumulator::kTensorCoreHopper;
    if (accumulation == Accumulation::kBlackwell) rules.accumulator = Accumulator::kTensorCoreBlackwell;
    rules.partials = accumulation == Accumulation::kHalfPartials ? PartialsType::kHalf : PartialsType::kFloat;
    rules.exact_each = accumulation == Accumulation::kHalfPartials && half_block == 1;
    rules.stochastic_off = stochastic_off;
    return rules;
  }
};

/// The blocks of an array [rows, k].
// implements: N492
struct ScaledLayout {
  uint64_t rows, k;
  uint64_t tile, size;  ///< rows and elements of a block

  SOFTAMP_INLINE ScaledLayout(const block::BlockFormat& f, uint64_t rows_, uint64_t k_)
      : rows(rows_),
        k(k_),
        tile(f.rows == 0 ? (rows_ == 0 ? 1 : rows_) : static_cast<uint64_t>(f.rows)),
        size(f.size == 0 ? (k_ == 0 ? 1 : k_) : static_cast<uint64_t>(f.size)) {}
  SOFTAMP_INLINE uint64_t across() const { return (k + size - 1) / size; }  ///< blocks of a row
  SOFTAMP_INLINE uint64_t blocks() const { return (rows + tile - 1) / tile * across(); }
  SOFTAMP_INLINE uint64_t block_of(uint64_t row, uint64_t at) const { return row / tile * across() + at / size; }
};

/// A block's place among rows and elements.
struct ScaledExtent {
  uint64_t row, rows, at, count;

  SOFTAMP_INLINE ScaledExtent(const ScaledLayout& l, uint64_t block)
      : row(block / l.across() * l.tile), at(block % l.across() * l.size) {
    rows = (row + l.tile < l.rows ? row + l.tile : l.rows) - row;
    count = (at + l.size < l.k ? at + l.size : l.k) - at;
  }
};

/// Calls f(place) for the elements of a block, row by row.
template <class F>
SOFTAMP_INLINE void each_of_block(const ScaledLayout& l, uint64_t block, const F& f) {
  const ScaledExtent e(l, block);
  for (uint64_t r = e.row; r < e.row + e.rows; ++r)
    for (uint64_t i = e.at; i < e.at + e.count; ++i) f(r * l.k + i);
}

/// The greatest magnitude of a block, or of all: an fp32 code. x: fp32 codes.
SOFTAMP_INLINE uint32_t greater_magnitude(const block::BlockFormat& f, uint32_t greatest, uint32_t x) {
  const uint32_t magnitude = x & 0x7FFFFFFFu;
  return magnitude > greatest && (f.nan_poisons_block() || magnitude <= 0x7F800000u) ? magnitude : greatest;
}

/// The scale of a block of greatest magnitude `amax`. x: the array's fp32 codes; tensor: nvfp4_tensor of its greatest
/// magnitude.
SOFTAMP_INLINE block::BlockScale scale_of_block(const block::BlockFormat& f, const ScaledLayout& l,
                                                const block::Nvfp4Tensor& tensor, uint64_t block, const uint32_t* x,
                                                uint32_t amax) {
  const ScaledExtent e(l, block);
  return block::block_scale(f, tensor, amax, e.rows, e.count,
                            [&](uint64_t r, uint64_t i) { return x[(e.row + r) * l.k + e.at + i]; });
}

/// Quantises one block: writes its codes and its scale, a byte, or fp32 (FP8); none where elements have no scale.
/// x: the array's fp32 codes; tensor: nvfp4_tensor of its greatest magnitude; site: 1 or 2.
// implements: N492
SOFTAMP_APART void quantize_block(const block::BlockFormat& f, const ScaledLayout& l, const block::Nvfp4Tensor& tensor,
                                  uint64_t block, const uint32_t* x, uint8_t* codes, void* scales,
                                  const Environment& environment, uint32_t site) {
  uint32_t amax = 0;
  each_of_block(l, block, [&](uint64_t i) { amax = greater_magnitude(f, amax, x[i]); });
  const block::BlockScale scale = scale_of_block(f, l, tensor, block, x, amax);
  if (f.family == block::BlockFamily::kFp8)
    static_cast<uint32_t*>(scales)[block] = scale.bits;
  else if (f.family != block::BlockFamily::kPlain)
    static_cast<uint8_t*>(scales)[block] = static_cast<uint8_t>(scale.bits);
  each_of_block(l, block, [&](uint64_t i) {
    codes[i] = static_cast<uint8_t>(block_code(f, scale, x[i], environment.draw(f.rounding(), site, i)).code);
  });
}

/// A quantised operand in memory: codes of [rows, k], scales of its blocks.
struct ScaledOperand {
  block::DotOperand form;
  ScaledLayout layout;
  const uint8_t* codes;
  const void* scales;

  SOFTAMP_INLINE uint32_t scale(uint64_t row, uint64_t at) const {
    const uint64_t block = layout.block_of(row, at);
    if (form.format.family == block::BlockFamily::kPlain) return 0;
    return form.format.family == block::BlockFamily::kFp8 ? static_cast<const uint32_t*>(scales)[block]
                                                          : static_cast<const uint8_t*>(scales)[block];
  }
  SOFTAMP_INLINE bool begins(uint64_t at) const { return at % layout.size == 0; }
};

/// A sum of fp32, with its flags, as the result.
SOFTAMP_INLINE Rounded scaled_result(const ScaledRules& rules, const Environment& environment, Rounded sum,
                                     uint64_t output) {
  ProductRules plain = rules.chain();
  plain.partials = PartialsType::kFloat;
  plain.exact_each = false;
  ProductChain chain(plain, environment, output);
  chain.resume(static_cast<uint32_t>(sum.code), sum.flags);
  return chain.finish();
}

/// The semantics of the sums inside.
SOFTAMP_INLINE Semantics scaled_semantics(const ScaledRules& rules, const Semantics& s) {
  return chain_semantics(rules.chain(), product_semantics(rules.chain(), s));
}

/// One element of the product, from c (widened) on: row `row` of a with row `column` of b, both among all rows of their
/// arrays.
// implements: N493
SOFTAMP_APART Rounded scaled_product(const ScaledRules& rules, const ScaledOperand& a, uint64_t row,
                                     const ScaledOperand& b, uint64_t column, const Environment& environment,
                                     uint64_t output, uint32_t c = 0) {
  const uint64_t k = a.layout.k;
  const uint8_t *const x = a.codes + row * k, *const y = b.codes + column * k;
  if (!rules.chains()) {
    block::Dot dot(rules.dot(), a.form, b.form, scaled_semantics(rules, environment.semantics), c);
    for (uint64_t i = 0; i < k; ++i) {
      if (a.begins(i) || b.begins(i)) dot.begin(a.scale(row, i), b.scale(column, i));
      dot.step(x[i], y[i]);
    }
    return scaled_result(rules, environment, dot.finish(), output);
  }
  ProductChain chain(rules.chain(), environment, output);
  if (c != 0) chain.start(c);
  const auto value = [&](const ScaledOperand& o, uint32_t whole, uint64_t code) {
    return widen_operand(FloatFormat::fp32(), block::dequantised(o.form, whole, code), environment.semantics);
  };
  const uint64_t length = rules.half_block == 0 ? k : rules.half_block;
  uint32_t whole_a = 0, whole_b = 0;
  for (uint64_t i = 0; i < k; ++i) {
    if (a.begins(i)) whole_a = block::whole_scale(a.form, a.scale(row, i));
    if (b.begins(i)) whole_b = block::whole_scale(b.form, b.scale(column, i));
    chain.step(value(a, whole_a, x[i]), value(b, whole_b, y[i]), i / length);
    if ((i + 1) % length == 0 || i + 1 == k) chain.end_block(i / length);
  }
  return chain.finish();
}

}  // namespace softamp::kernel
