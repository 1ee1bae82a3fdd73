#include "emu/products/scaled/scaled_groups.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/parallel.h"
#include "emu/products/scaled/scaled_blocks.h"

namespace softamp::emu {
namespace {

constexpr int kTermFraction = 3, kHopperFraction = 13;  ///< of elements, as ScaledGroup has them; of Hopper's sums
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

struct TermTable {
  TensorCoreTerm of[256];
  explicit TermTable(const block::Element& e) {
    for (uint32_t code = 0; code < 256; ++code) of[code] = term_of(e, code);
  }
};

std::vector<bool> special_rows(const kernel::ScaledOperand& o, const TermTable& table) {
  std::vector<bool> special(o.layout.rows, false);
  for (size_t row = 0; row < o.layout.rows; ++row)
    for (size_t i = 0; i < o.layout.k; ++i)
      if (!is_number(table.of[o.codes[row * o.layout.k + i]])) special[row] = true;
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
  const TermTable of_a(a.form.format.element), of_b(b.form.format.element);
  special_a_ = special_rows(a, of_a);
  special_b_ = special_rows(b, of_b);
  terms_.assign(a.layout.rows * padded_, {0, kTensorCoreZero});
  auto body = [&](size_t begin, size_t end, size_t) {
    for (size_t row = begin; row < end; ++row)
      for (const Piece& p : pieces_)
        for (size_t i = p.begin; i < p.end; ++i)
          terms_[row * padded_ + p.place + i - p.begin] = of_a.of[a.codes[row * k + i]];
  };
  parallel_ranges(a.layout.rows, std::max<size_t>(1, 4096 / (k + 1)), 1, threads, body);
}

void ScaledGroups::lay_out(const Piece& piece, size_t column, size_t columns, Panel& panel) const {
  constexpr size_t kC = kTensorCoreColumns;
  const TermTable table(b_.form.format.element);
  panel.significands.assign(piece.length * kC, 0);
  panel.exponents.assign(piece.length * kC, kTensorCoreZero);
  panel.scales.assign(kC, 1);
  for (size_t c = 0; c < columns; ++c) {
    const uint8_t* const codes = b_.codes + (column + c) * b_.layout.k;
    for (size_t i = piece.begin; i < piece.end; ++i) {
      const TensorCoreTerm t = table.of[codes[i]];
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
                        kHopperFraction, kHopperFraction - 2 * kTermFraction, partial})) {
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
