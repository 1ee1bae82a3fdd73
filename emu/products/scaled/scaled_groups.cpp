#include "emu/products/scaled/scaled_groups.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/parallel.h"
#include "emu/products/scaled/scaled_blocks.h"

namespace softamp::emu {
namespace {

constexpr int kTermFraction = 3, kHopperFraction = 13;  ///< of elements, as ScaledGroup has them; of Hopper's sums
constexpr int kHopperFloor = tensor_core(Accumulator::kTensorCoreHopper, kE4m3).floor;
constexpr size_t kHopperGroup = block::ScaledGroup::kLength;

/// An element as a term with kTermFraction fraction bits; {1, kTensorCoreZero} where it is no number.
TensorCoreTerm term_of(const block::Element& e, uint64_t code) {
  const softamp::detail::Operand x = block::element_operand(e, code);
  if (!x.finite()) return {1, kTensorCoreZero};
  if (x.zero()) return {0, kTensorCoreZero};
  const int exponent = block::term_exponent(e.format, x.exact());
  const int significand = static_cast<int>(x.significand << (x.exponent - exponent + kTermFraction));
  return {static_cast<int16_t>(x.negative ? -significand : significand), static_cast<int16_t>(exponent)};
}
bool is_number(TensorCoreTerm t) { return t.significand == 0 || t.exponent != kTensorCoreZero; }

using Terms = std::array<TensorCoreTerm, 256>;

Terms terms_of(const block::Element& e) {
  Terms of{};
  for (uint32_t code = 0; code < 256; ++code) of[code] = term_of(e, code);
  return of;
}

/// Calls row(r) for all rows of an operand.
template <class Row>
void each_row(const kernel::ScaledOperand& o, int threads, const Row& row) {
  auto body = [&](size_t begin, size_t end, size_t) {
    for (size_t r = begin; r < end; ++r) row(r);
  };
  parallel_ranges(o.layout.rows, std::max<size_t>(1, 4096 / (o.layout.k + 1)), 1, threads, body);
}

std::vector<uint8_t> special_rows(const kernel::ScaledOperand& o, const Terms& of, int threads) {
  std::vector<uint8_t> special(o.layout.rows, 0);
  each_row(o, threads, [&](size_t row) {
    const uint8_t* const codes = o.codes + row * o.layout.k;
    special[row] = !std::all_of(codes, codes + o.layout.k, [&](uint8_t code) { return is_number(of[code]); });
  });
  return special;
}

float inner_scale_of(const kernel::ScaledOperand& o, size_t row, size_t at) {
  return std::bit_cast<float>(block::inner_scale(o.form, o.scale(row, at)));
}

}  // namespace

bool groups_serve(const kernel::ScaledRules& rules, const Semantics& semantics, bulk::InstructionSet isa) {
  return rules.accumulation == kernel::Accumulation::kHopper && fp32_steps_serve(rules, semantics) &&
         tensor_cores_of(isa).add;
}

ScaledGroups::ScaledGroups(const kernel::ScaledRules& rules, const kernel::ScaledOperand& a,
                           const kernel::ScaledOperand& b, bulk::InstructionSet isa, int threads)
    : rules_(rules), a_(a), b_(b), groups_(tensor_cores_of(isa)), kernels_(scaled_blocks_of(isa)) {
  const size_t k = a.layout.k;
  for (size_t at = 0; at < k;) {
    size_t end = std::min({k, (at / a.layout.size + 1) * a.layout.size, (at / b.layout.size + 1) * b.layout.size});
    if (rules.promote_every != 0) end = std::min(end, at + static_cast<size_t>(rules.promote_every));
    const size_t length = (end - at + kHopperGroup - 1) / kHopperGroup * kHopperGroup;
    pieces_.push_back({at, end, padded_, length});
    padded_ += length;
    at = end;
  }
  const Terms of_a = terms_of(a.form.format.element);
  of_b_ = terms_of(b.form.format.element);
  special_a_ = special_rows(a, of_a, threads);
  special_b_ = special_rows(b, of_b_, threads);
  terms_.assign(a.layout.rows * padded_, {0, kTensorCoreZero});
  each_row(a, threads, [&](size_t row) {
    for (const Piece& p : pieces_)
      for (size_t i = p.begin; i < p.end; ++i)
        terms_[row * padded_ + p.place + i - p.begin] = of_a[a.codes[row * k + i]];
  });
}

void ScaledGroups::lay_out(const Piece& piece, size_t column, size_t columns, Panel& panel) const {
  constexpr size_t kC = kTensorCoreColumns;
  panel.significands.assign(piece.length * kC, 0);
  panel.exponents.assign(piece.length * kC, kTensorCoreZero);
  panel.scales.assign(kC, 1);
  for (size_t c = 0; c < columns; ++c) {
    const uint8_t* const codes = b_.codes + (column + c) * b_.layout.k;
    for (size_t i = piece.begin; i < piece.end; ++i) {
      const TensorCoreTerm t = of_b_[codes[i]];
      panel.significands[(i - piece.begin) * kC + c] = t.significand;
      panel.exponents[(i - piece.begin) * kC + c] = t.exponent;
    }
    panel.scales[c] = inner_scale_of(b_, column + c, piece.begin);
  }
}

void ScaledGroups::sums(size_t row, size_t rows, size_t column, size_t columns, Panel& panel, float* sums) const {
  constexpr size_t kC = kTensorCoreColumns;
  for (const Piece& piece : pieces_) {
    lay_out(piece, column, columns, panel);
    for (size_t r = 0; r < rows; ++r) {
      alignas(64) uint32_t partial[kC] = {};
      float* const y = sums + r * kC;
      if (!groups_.add({TensorCoreResult::kE8m13, terms_.data() + (row + r) * padded_ + piece.place,
                        panel.significands.data(), panel.exponents.data(), piece.length, static_cast<int>(kHopperGroup),
                        kHopperFraction, kHopperFloor, kHopperFraction - 2 * kTermFraction, partial})) {
        std::fill_n(y, kC, NAN);
        continue;
      }
      kernels_.promote({partial, inner_scale_of(a_, row + r, piece.begin), panel.scales.data(), rules_.promotion, y});
    }
  }
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      if (special_a_[row + r] || special_b_[column + c]) sums[r * kC + c] = NAN;
}

}  // namespace softamp::emu
