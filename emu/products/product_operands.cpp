// Operands of plain products: widened by vectors, transposed if stored the other way.
#include <algorithm>
#include <cstring>

#include "emu/products/product_kernels.h"

namespace softamp::emu {
namespace {

void widen_one_by_one(const FloatFormat& format, const Semantics& s, const uint16_t* codes, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] = __builtin_bit_cast(float, kernel::widen_operand(format, codes[i], s));
}

void widen_fp16(const ProductPlan& plan, const uint16_t* codes, size_t count, float* to) {
  const bool nan = plan.kernels->widen_fp16(codes, count, to);
  bool infinity = false;
  if (plan.semantics.narrow_infinity != InfinityOperand::kIeee)
    for (size_t i = 0; i < count; ++i) infinity |= (codes[i] & 0x7FFF) == 0x7C00;
  if (nan || infinity) widen_one_by_one(kFp16, plan.semantics, codes, count, to);
}

void widen_bf16(const ProductPlan& plan, const uint16_t* codes, size_t count, float* to) {
  bool infinity = false;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t u = static_cast<uint32_t>(codes[i]) << 16;
    std::memcpy(to + i, &u, 4);
    infinity |= (codes[i] & 0x7FFF) == 0x7F80;
  }
  if (infinity && plan.semantics.narrow_infinity != InfinityOperand::kIeee)
    widen_one_by_one(kBf16, plan.semantics, codes, count, to);
}

void flush_fp32(const ProductPlan& plan, const float* from, size_t rows, size_t columns, size_t from_stride, float* to,
                size_t to_stride) {
  const uint32_t kept = plan.semantics.operand_flush_sign == FlushSign::kSame ? 0x80000000u : 0u;
  plan.kernels->flush_fp32(from, rows, columns, from_stride, kept, to, to_stride);
}

}  // namespace

void widen_operands(const ProductPlan& plan, const FloatFormat& format, const void* codes, size_t count, float* to) {
  if (count == 0) return;
  if (format == kFp16) {
    widen_fp16(plan, static_cast<const uint16_t*>(codes), count, to);
  } else if (format == kBf16) {
    widen_bf16(plan, static_cast<const uint16_t*>(codes), count, to);
  } else if (plan.semantics.wide_operands_flushed) {
    flush_fp32(plan, static_cast<const float*>(codes), 1, count, count, to, count);
  } else {
    std::memcpy(to, codes, 4 * count);
  }
}

bool are_operands(const ProductPlan& plan, const FloatFormat& format, const void* codes, size_t count) {
  if (!(format == kFp32)) return false;
  return !plan.semantics.wide_operands_flushed || !plan.kernels->any_subnormal(static_cast<const float*>(codes), count);
}

void transpose(const ProductPlan& plan, const float* from, size_t rows, size_t columns, size_t from_stride, float* to,
               size_t to_stride) {
  plan.kernels->transpose(from, rows, columns, from_stride, to, to_stride);
}

namespace {

/// Row-major codes, `pitch` to a row: rows [r0, r0 + rows) of columns [c0, c0 + columns).
struct Codes {
  const ProductPlan& plan;
  const FloatFormat& format;
  const char* codes;
  size_t pitch;

  const char* at(size_t r, size_t c) const { return codes + (r * pitch + c) * (format.storage_bits() <= 16 ? 2 : 4); }

  void straight(size_t r0, size_t rows, size_t c0, size_t columns, float* to, size_t stride) const {
    if (format == kFp32 && plan.semantics.wide_operands_flushed)
      return flush_fp32(plan, static_cast<const float*>(static_cast<const void*>(at(r0, c0))), rows, columns, pitch, to,
                        stride);
    for (size_t r = 0; r < rows; ++r) widen_operands(plan, format, at(r0 + r, c0), columns, to + r * stride);
  }
  /// to[c * stride + r].
  void transposed(size_t r0, size_t rows, size_t c0, size_t columns, float* to, size_t stride) const {
    constexpr size_t kRows = 16, kColumns = 128;
    alignas(64) float part[kRows * kColumns];
    for (size_t r = 0; r < rows; r += kRows)
      for (size_t c = 0; c < columns; c += kColumns) {
        const size_t height = std::min(kRows, rows - r), width = std::min(kColumns, columns - c);
        straight(r0 + r, height, c0 + c, width, part, kColumns);
        transpose(plan, part, height, width, kColumns, to + c * stride + r, stride);
      }
  }
};

}  // namespace

void MatMulOperands::a_rows(size_t row0, size_t rows, size_t k0, size_t k1, float* to, size_t stride) const {
  const Codes a{plan_, plan_.rules.a, static_cast<const char*>(a_), transpose_a_ ? rows_ : k_};
  if (transpose_a_)
    a.transposed(k0, k1 - k0, row0, rows, to, stride);
  else
    a.straight(row0, rows, k0, k1 - k0, to, stride);
}

void MatMulOperands::b_rows(size_t k0, size_t k1, size_t col0, size_t columns, float* to, size_t stride) const {
  const Codes b{plan_, plan_.rules.b, static_cast<const char*>(b_), transpose_b_ ? k_ : columns_};
  if (transpose_b_)
    b.transposed(col0, columns, k0, k1 - k0, to, stride);
  else
    b.straight(k0, k1 - k0, col0, columns, to, stride);
}

}  // namespace softamp::emu
