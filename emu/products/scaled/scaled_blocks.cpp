#include "emu/products/scaled/scaled_blocks.h"

#include <algorithm>
#include <bit>

#include "emu/parallel.h"

namespace softamp::emu {
namespace {

float as_float(uint32_t code) { return std::bit_cast<float>(code); }

float scale_of(const ScaledValues& v, size_t row, size_t at) {
  return as_float(block::inner_scale(v.operand().form, v.operand().scale(row, at)));
}

}  // namespace

bool fp32_steps_serve(const kernel::ScaledRules& rules, const Semantics& semantics) {
  const RoundingPolicy w = kernel::scaled_semantics(rules, semantics).wide;
  return w.usual() && w.overflow_rule == OverflowRule::kAfterRounding;
}
bool blocks_serve(const kernel::ScaledRules& rules, const Semantics& semantics) {
  return rules.accumulation == kernel::Accumulation::kBlock && fp32_steps_serve(rules, semantics);
}

void take_last_factors(const kernel::ScaledOperand& a, size_t row, size_t rows, const kernel::ScaledOperand& b,
                       size_t column, size_t columns, float* sums, size_t stride) {
  const int quarters = a.form.three_quarters() + b.form.three_quarters();
  const bool last = block::has_last_scale(a.form, b.form);
  if (!last && quarters == 0) return;
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      float& sum = sums[r * stride + c];
      if (last) sum *= as_float(block::last_scale(a.form, a.scale(row + r, 0), b.form, b.scale(column + c, 0)));
      if (quarters != 0) sum *= as_float(quarters == 2 ? 0x3FE38E39u : 0x3FAAAAABu);
    }
}

ScaledValues::ScaledValues(const kernel::ScaledOperand& operand, float* values, int threads)
    : operand_(operand), values_(values), bits_(operand.layout.rows) {
  float table[256];
  for (uint32_t code = 0; code < 256; ++code)
    table[code] = as_float(block::dequantised(operand.form, 0x3F800000u, code));
  const size_t k = operand.layout.k;
  auto body = [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin * k; i < end * k; ++i) values[i] = table[operand.codes[i]];
    for (size_t row = begin; row < end; ++row) bits_[row] = bits_of(row);
  };
  parallel_ranges(operand.layout.rows, std::max<size_t>(1, 4096 / (k + 1)), 1, threads, body);
}

int ScaledValues::bits_of(size_t row) const {
  const size_t k = operand_.layout.k, size = operand_.layout.size;
  const float* const x = values_ + row * k;
  int most = 0;
  for (size_t first = 0; first < k; first += size) {
    if (block::inner_scale(operand_.form, operand_.scale(row, first)) >= 0x7F800000u) return kNever;
    uint32_t greatest = 0;
    int least = 1000;
    for (size_t i = first; i < std::min(first + size, k); ++i) {
      const uint32_t code = std::bit_cast<uint32_t>(x[i]), magnitude = code & 0x7FFFFFFFu;
      if (magnitude == 0) continue;
      greatest = std::max(greatest, magnitude);
      // No value of an element is subnormal in fp32.
      least = std::min(least, static_cast<int>(magnitude >> 23) + std::countr_zero(magnitude | 0x00800000u));
    }
    if (greatest >= 0x7F800000u) return kNever;
    if (greatest != 0) most = std::max(most, static_cast<int>(greatest >> 23) + 24 - least);
  }
  return most;
}

ScaledBlocks::ScaledBlocks(const ScaledValues& a, const ScaledValues& b, bulk::InstructionSet isa)
    : a_(a), b_(b), kernels_(scaled_blocks_of(isa)) {
  const size_t k = a.operand().layout.k;
  for (size_t at = 0; at < k;) {
    const auto end_in = [&](const ScaledValues& v) {
      const size_t size = v.operand().layout.size;
      return std::min(k, (at / size + 1) * size);
    };
    const size_t end = std::min(end_in(a), end_in(b));
    pieces_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    length_bits_ = std::max(length_bits_, static_cast<int>(std::bit_width(end - at)));
    at = end;
  }
}

void ScaledBlocks::prepare(size_t column, size_t columns, Panel& panel) const {
  constexpr size_t kC = kScaledColumns;
  const size_t k = b_.operand().layout.k;
  panel.column = column;
  panel.columns = columns;
  panel.bits = 0;
  panel.values.assign(k * kC, 0);
  panel.scales.assign(pieces_.size() * kC, 0);
  for (size_t c = 0; c < columns; ++c) {
    panel.bits = std::max(panel.bits, b_.bits(column + c));
    const float* const from = b_.row(column + c);
    for (size_t i = 0; i < k; ++i) panel.values[i * kC + c] = from[i];
    for (size_t p = 0; p < pieces_.size(); ++p) panel.scales[p * kC + c] = scale_of(b_, column + c, pieces_[p].begin);
  }
}

bool ScaledBlocks::sums(size_t row, size_t rows, const Panel& panel, float* to) const {
  int bits = 0;
  for (size_t r = 0; r < rows; ++r) bits = std::max(bits, a_.bits(row + r));
  bits += panel.bits + length_bits_;
  if (bits > 53) return false;
  constexpr size_t kR = kScaledRows, kC = kScaledColumns;
  std::vector<float> scales(pieces_.size() * kR);
  for (size_t p = 0; p < pieces_.size(); ++p)
    for (size_t r = 0; r < rows; ++r) scales[p * kR + r] = scale_of(a_, row + r, pieces_[p].begin);
  ScaledTile tile{{}, panel.values.data(), pieces_.data(), pieces_.size(), scales.data(), panel.scales.data(), false,
                  to};
  for (size_t r = 0; r < kR; ++r) tile.a[r] = a_.row(row + std::min(r, rows - 1));
  const auto fp32 = [](const ScaledValues& v) { return v.operand().form.format.family == block::BlockFamily::kFp8; };
  tile.fp32_scales = fp32(a_) || fp32(b_);
  (bits <= 24 ? kernels_.narrow : kernels_.wide)(tile);
  take_last_factors(a_.operand(), row, rows, b_.operand(), panel.column, panel.columns, to, kC);
  return true;
}

}  // namespace softamp::emu
