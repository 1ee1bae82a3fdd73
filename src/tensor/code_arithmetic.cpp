#include "src/tensor/code_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "softamp/numerics/integer_math.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

namespace softamp::detail {
namespace {

using Codes = std::span<const uint16_t>;

constexpr size_t kGroup = 64;    ///< elements that the bulk kernels take at a time
constexpr size_t kPiece = 1024;  ///< elements that stay in the first-level cache through all stages
// Up to this many elements are computed one by one, since bulk calls would cost as much: one call for halves, else
// three.
constexpr size_t kScalarHalves = 12, kScalarOthers = 40;
constexpr size_t kDirectFrom = 512;  ///< from this size on, the unaligned ends of arrays cost less than copying them

/// One call, with all that its pieces share.
struct Call {
  CodeOperation operation;
  const FloatFormat& format;
  const Semantics& semantics;
  const bulk::RandomSource& random;
  bool flags_wanted;
};

/// Random words of elements in ascending order; a block of Philox is computed once.
class Words {
 public:
  explicit Words(const Call& c)
      : random_(c.random.bits()),
        source_(c.random),
        draws_(c.semantics.draws(c.format)),
        log_lanes_(c.semantics.rounding(c.format).random_bits > 16 ? 2 : 3) {}

  uint32_t at(size_t i) {
    if (!draws_) return 0;
    const uint64_t index = source_.first_index + i, block = index >> log_lanes_;
    if (!known_ || block != index_) {
      block_ = random_.block(source_.step, source_.operation, block);
      index_ = block;
      known_ = true;
    }
    return log_lanes_ == 2 ? block_.word[index & 3] : block_.lane16(static_cast<uint32_t>(index & 7));
  }

 private:
  RandomBits random_;
  const bulk::RandomSource& source_;
  bool draws_;
  int log_lanes_;
  bool known_ = false;
  uint64_t index_ = 0;
  RandomBlock block_{};
};

Rounded one(const Call& c, uint16_t a, uint16_t b, uint32_t word) {
  switch (c.operation) {
    case CodeOperation::kAdd: return fp::add(c.format, a, b, c.semantics, word);
    case CodeOperation::kSub: return fp::sub(c.format, a, b, c.semantics, word);
    case CodeOperation::kMul: break;
  }
  return fp::mul(c.format, a, b, c.semantics, word);
}

uint8_t one_by_one(const Call& c, Codes a, Codes b, std::span<uint16_t> out) {
  Words words(c);
  uint8_t flags = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const Rounded r = one(c, a[i], b[i], words.at(i));
    out[i] = static_cast<uint16_t>(r.code);
    flags = static_cast<uint8_t>(flags | r.flags);
  }
  return flags;
}

bulk::BulkOptions options_of(const bulk::RandomSource& random, FpStatus* status) {
  bulk::BulkOptions options;
  options.random = random;
  options.random.words = nullptr;
  options.threads = 1;
  options.status = status;
  return options;
}

uint8_t halves(const Call& c, Codes a, Codes b, std::span<uint16_t> out) {
  FpStatus status;
  const bulk::BulkOptions options = options_of(c.random, c.flags_wanted ? &status : nullptr);
  switch (c.operation) {
    case CodeOperation::kAdd: bulk::add(a, b, out, c.semantics, options); break;
    case CodeOperation::kSub: bulk::sub(a, b, out, c.semantics, options); break;
    case CodeOperation::kMul: bulk::mul(a, b, out, c.semantics, options); break;
  }
  return status.flags;
}

/// The bit patterns of the intermediate values, and their exponent field.
template <class Value>
struct Bits;
template <>
struct Bits<double> {
  using Word = uint64_t;
  static constexpr Word kExponent = 0x7FF0000000000000;
};
template <>
struct Bits<float> {
  using Word = uint32_t;
  static constexpr Word kExponent = 0x7F800000;
};

/// a[i] = the sum rounded to odd. Returns whether one is not finite.
template <class Value>
bool sums_to_odd(Value* a, const Value* b, size_t n) {
  using Word = typename Bits<Value>::Word;
  Word special = 0;
  for (size_t i = 0; i < n; ++i) {
    const Value x = a[i], y = b[i], sum = x + y;
    const Value y_seen = sum - x, x_seen = sum - y_seen;
    const Value error = (x - x_seen) + (y - y_seen);  // Knuth's two-sum: exact
    const Word bits = std::bit_cast<Word>(sum);
    const Word infinite = (bits & Bits<Value>::kExponent) == Bits<Value>::kExponent;  // the error has no meaning then
    const Word inexact = (error != 0) & ~infinite & 1;
    const Word toward_zero = (bits ^ std::bit_cast<Word>(error)) >> (8 * sizeof(Word) - 1) & inexact;
    a[i] = std::bit_cast<Value>((bits - toward_zero) | inexact);
    special |= infinite;
  }
  return special != 0;
}

template <class Value>
bool products(Value* a, const Value* b, size_t n) {
  using Word = typename Bits<Value>::Word;
  Word special = 0;
  for (size_t i = 0; i < n; ++i) {
    const Value product = a[i] * b[i];
    special |= static_cast<Word>((std::bit_cast<Word>(product) & Bits<Value>::kExponent) == Bits<Value>::kExponent);
    a[i] = product;
  }
  return special != 0;
}

/// A piece of up to kPiece elements, a multiple of kGroup, computed in binary64 or, if `float_serves`, in fp32.
template <class Value>
uint8_t by_value(const Call& c, Codes a, Codes b, std::span<uint16_t> out) {
  alignas(64) Value x[kPiece], y[kPiece];
  const size_t n = out.size();
  const Semantics exact;
  const bulk::BulkOptions plain = options_of({}, nullptr);
  bulk::widen(a, c.format, std::span<Value>(x, n), exact, plain);
  bulk::widen(b, c.format, std::span<Value>(y, n), exact, plain);
  if (c.operation == CodeOperation::kSub)
    for (size_t i = 0; i < n; ++i) y[i] = -y[i];
  const bool product = c.operation == CodeOperation::kMul;
  const bool special = product ? products(x, y, n) : sums_to_odd(x, y, n);
  // The sign of an exact zero sum does not come from rounding.
  if (!product && c.semantics.rounding(c.format).mode == RoundingMode::kDown)
    for (size_t i = 0; i < n; ++i)
      if (x[i] == 0) x[i] = static_cast<Value>(fp::to_double(c.format, one(c, a[i], b[i], 0).code));
  // Infinities and NaNs are left to the scalar operation; for the rounding they are replaced by zeros, which raise
  // nothing.
  bool lane[kPiece];
  if (special)
    for (size_t i = 0; i < n; ++i) {
      lane[i] = !std::isfinite(x[i]);
      if (lane[i]) x[i] = 0;
    }
  FpStatus status;
  bulk::round(std::span<const Value>(x, n), c.format, out, c.semantics,
              options_of(c.random, c.flags_wanted ? &status : nullptr));
  if (!special) return status.flags;
  Words words(c);
  for (size_t i = 0; i < n; ++i)
    if (lane[i]) {
      const Rounded r = one(c, a[i], b[i], words.at(i));
      out[i] = static_cast<uint16_t>(r.code);
      status.flags = static_cast<uint8_t>(status.flags | r.flags);
    }
  return status.flags;
}

/// fp32 suffices if it holds the exact product, or as much of the sum as the rounding reads. Sums and products beyond
/// its range count as not finite above. An fp32 operand of the rounding must not be flushed.
bool float_serves(const Call& c) {
  const FloatFormat& f = c.format;
  const RoundingPolicy& p = c.semantics.rounding(f);
  if (c.semantics.wide_operands_flushed || p.alignment != RandomAlignment::kTopOfDiscarded) return false;
  if (c.operation == CodeOperation::kMul) return f.exponent_bits <= 5 && 2 * f.precision <= 24;
  return bits_read(f, p) <= 23;
}

/// Piece by piece in aligned memory, the first element at its position in a block of random words, the last group
/// filled up with zeros.
uint8_t by_pieces(const Call& c, Codes a, Codes b, std::span<uint16_t> out) {
  alignas(64) uint16_t x[kPiece], y[kPiece], z[kPiece];
  const bool as_float = float_serves(c);
  uint8_t flags = 0;
  bulk::RandomSource random = c.random;
  for (size_t begin = 0; begin < out.size();) {
    const uint64_t index = c.random.first_index + begin;
    const size_t lead = index % 8, count = std::min(kPiece - lead, out.size() - begin);
    const size_t filled = (lead + count + kGroup - 1) / kGroup * kGroup;
    for (uint16_t* to : {x, y}) {
      std::fill(to, to + lead, uint16_t{0});
      std::copy_n((to == x ? a : b).data() + begin, count, to + lead);
      std::fill(to + lead + count, to + filled, uint16_t{0});
    }
    random.first_index = index - lead;
    const Call piece{c.operation, c.format, c.semantics, random, c.flags_wanted};
    const Codes in_a(x, filled), in_b(y, filled);
    const std::span<uint16_t> result(z, filled);
    const uint8_t raised = c.format == kFp16 ? halves(piece, in_a, in_b, result)
                           : as_float        ? by_value<float>(piece, in_a, in_b, result)
                                             : by_value<double>(piece, in_a, in_b, result);
    flags = static_cast<uint8_t>(flags | raised);
    std::copy_n(z + lead, count, out.data() + begin);
    begin += count;
  }
  return flags;
}

}  // namespace

uint8_t code_arithmetic(CodeOperation operation, const FloatFormat& format, const Semantics& semantics, Codes a,
                        Codes b, std::span<uint16_t> out, const bulk::RandomSource& random, bool flags_wanted) {
  if (format.storage_bits() > 16 || !format.valid())
    throw std::invalid_argument("code arithmetic: a format of " + std::to_string(format.storage_bits()) +
                                " bits: expected one of at most 16");
  if (a.size() != out.size() || b.size() != out.size())
    throw std::invalid_argument("code arithmetic: arrays of " + std::to_string(a.size()) + ", " +
                                std::to_string(b.size()) + " and " + std::to_string(out.size()) +
                                " elements: expected equally many");
  const Call call{operation, format, semantics, random, flags_wanted};
  const bool in_place = out.data() == a.data() || out.data() == b.data();
  // A rounding writes zeros without sign, but an exact zero sum keeps its sign.
  const bool unsigned_zeros = !semantics.rounding(format).signed_zeros && format != kFp16;
  if (out.size() <= (format == kFp16 ? kScalarHalves : kScalarOthers) || unsigned_zeros)
    return one_by_one(call, a, b, out);
  if (format == kFp16 && !in_place && out.size() >= kDirectFrom) return halves(call, a, b, out);
  return by_pieces(call, a, b, out);
}

}  // namespace softamp::detail
