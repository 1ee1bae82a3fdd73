// How the fast kernels of products (product_fast.h) bring operands into shared memory: by groups of eight codes, along
// k or along the other index, whichever are neighbours in memory.
//
// What a place costs is paid beforehand: the host has written where each k lies (StepPlaces), a thread reads the entry
// for its group a step before it needs it, and its row or column is an address from the start. So the loads of a step
// wait for nothing, and are stored as fp32, or as halves, a step later. Groups that are no 16 bytes in a row (odd ends,
// places apart, addresses that are not aligned) are read one by one, in a loop that holds no registers elsewhere. Codes
// that a stage holds as they are can be copied there without a register (`copy`).
#pragma once

#include "cuda/products/product_problem.h"

#if defined(__CUDACC__)
#define SOFTAMP_UNROLL _Pragma("unroll")
#define SOFTAMP_ROLLED _Pragma("unroll 1")
#else
#define SOFTAMP_UNROLL
#define SOFTAMP_ROLLED
#endif

namespace softamp::cuda {

template <unsigned kThreadRows, unsigned kThreadColumns, unsigned kThreadCount>
struct TileShape {
  static constexpr unsigned kRows = kThreadRows;       ///< of a thread, with 8 columns
  static constexpr unsigned kAcross = kThreadColumns;  ///< threads to a row of the tile
  static constexpr unsigned kThreads = kThreadCount;
  static constexpr unsigned kTileRows = kThreads / kAcross * kRows, kTileColumns = kAcross * 8;
  static constexpr unsigned kHalf = kAcross * 4 + 16;  ///< from the first four columns of threads to the others
  static constexpr unsigned kAPitch = (kTileRows + 7) / 4 * 4, kBPitch = kHalf + kAcross * 4;
  static constexpr unsigned kAStage = ProductStep::kMost * kAPitch, kBStage = ProductStep::kMost * kBPitch;
  static constexpr size_t kShared = shared_of<float>(2 * kAStage) + shared_of<float>(2 * kBStage);
};
using LargeTile = TileShape<8, 16, 256>;  ///< 128 x 128
using SmallTile = TileShape<4, 8, 128>;   ///< 64 x 64
using NarrowTile = TileShape<4, 2, 128>;  ///< 256 x 16
using TinyTile = TileShape<1, 2, 32>;     ///< 16 x 16

namespace detail {

/// Four words of memory that others may have written by the byte or the half. Loaded and stored as they are:
/// __builtin_assume_aligned would hide a wrong alignment from the sanitizers.
struct __attribute__((aligned(16), may_alias)) Words4 {
  uint32_t w[4];
};
SOFTAMP_PRIMITIVE Words4 load4(const void* from) { return *static_cast<const Words4*>(from); }
SOFTAMP_PRIMITIVE void store4(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  *static_cast<Words4*>(to) = {{a, b, c, d}};
}
SOFTAMP_PRIMITIVE bool aligned16(const void* at) { return (reinterpret_cast<uintptr_t>(at) & 15) == 0; }

}  // namespace detail

/// How a stage holds operands.
enum class StageForm : uint8_t {
  kFloats,  ///< fp32, [k][row] and [k][column]; a thread's 8 columns are two runs of 4, kHalf apart
  kHalves,  ///< [k][row]: a half twice in a word; [k][column]: halves
};

/// A thread's share of operand A or B, whose codes have kBytes (2, 4) bytes.
template <class Shape, bool kIsA, unsigned kBytes, StageForm kForm>
class Feed {
 public:
  static constexpr unsigned kExtent = kIsA ? Shape::kTileRows : Shape::kTileColumns;
  static constexpr unsigned kGroups = (2 * kExtent + Shape::kThreads - 1) / Shape::kThreads;
  static constexpr unsigned kWords = kBytes == 2 ? 4 : 8;  ///< of a group's codes
  static constexpr unsigned kPitch = kIsA ? Shape::kAPitch : Shape::kBPitch;

  struct Codes {
    uint32_t w[kGroups][kWords];
    uint32_t whole = 0;  ///< bit g: group g is in w; else it is in the stage already
  };

  /// `first`: of the tile's rows or columns.
  SOFTAMP_PRIMITIVE void start(const ProductLaunch& l, const DevicePart& p, uint32_t first, unsigned t) {
    const PlaceMap& map = kIsA ? p.part.a_rows : p.part.b_columns;
    const uint32_t extent = kIsA ? p.part.rows : p.part.columns;
    along_k_ = kIsA ? p.a_along_k : p.b_along_k;
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      const uint32_t index = first + this->index(g, t);
      const uint32_t left = mine(g, t) && index < extent ? extent - index : 0;
      left_[g] = along_k_ ? left != 0 ? 8 : 0 : left < 8 ? left : 8;
      base_[g] = static_cast<const char*>(kIsA ? l.a : l.b) +
                 ((kIsA ? p.part.a : p.part.b) + (left ? map.place(l.table, index) : 0)) * int64_t{kBytes};
    }
  }

  /// Reads where the groups of step `step` are.
  SOFTAMP_PRIMITIVE void look(const ProductLaunch& l, uint32_t step, unsigned t) {
    const StepPlaces& s = l.places[step];
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      place_[g] = StepPlaces::kAbsent;
      if (left_[g] == 0) continue;
      const unsigned k = this->k(g, t);
      place_[g] = along_k_ ? (kIsA ? s.a_run : s.b_run)[k / 8] : (kIsA ? s.a : s.b)[k];
    }
  }

  /// Loads the groups of step `step`, which was looked at last; those that must be read one by one go to `stage`.
  SOFTAMP_PRIMITIVE void load(const ProductLaunch& l, uint32_t step, unsigned t, uint32_t* stage, Codes& to) const {
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < kWords; ++i) to.w[g][i] = kNothing;
      if (!mine(g, t)) continue;
      if (place_[g] == StepPlaces::kAbsent) {
        to.whole |= 1u << g;
        continue;
      }
      const char* const from = base_[g] + int64_t{place_[g]} * kBytes;
      if (place_[g] != StepPlaces::kSingly && left_[g] == 8 && detail::aligned16(from)) {
        to.whole |= 1u << g;
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < kWords; i += 4) {
          const detail::Words4 four = detail::load4(from + 4 * i);
          SOFTAMP_UNROLL
          for (unsigned j = 0; j < 4; ++j) to.w[g][i + j] = four.w[j];
        }
      } else {
        load_singly(l, step, g, t, stage);
      }
    }
  }

  SOFTAMP_PRIMITIVE void store(const ProductLaunch& l, unsigned t, const Codes& from, uint32_t* stage) const {
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      if ((from.whole >> g & 1) == 0) continue;
      const unsigned index = this->index(g, t), k = this->k(g, t);
      uint32_t word[8];
      words(l, from.w[g], word);
      if (along_k_) {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; ++i) put(stage, k + i, index, word[i]);
      } else if constexpr (kForm == StageForm::kHalves && !kIsA) {
        detail::store4(stage + k * kPitch + index / 2, from.w[g][0], from.w[g][1], from.w[g][2], from.w[g][3]);
      } else {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; i += 4)
          detail::store4(stage + k * kPitch + column(index + i), word[i], word[i + 1], word[i + 2], word[i + 3]);
      }
    }
  }

  /// Instead of load and store, where a stage holds fp32 codes as they are: begins copies to it.
  template <class Copies>
  SOFTAMP_PRIMITIVE void copy(const ProductLaunch& l, uint32_t step, unsigned t, uint32_t* stage,
                              Copies& copies) const {
    static_assert(kBytes == 4 && kForm == StageForm::kFloats);
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      if (!mine(g, t)) continue;
      const unsigned index = this->index(g, t), k = this->k(g, t);
      const bool runs = place_[g] != StepPlaces::kAbsent && place_[g] != StepPlaces::kSingly && left_[g] == 8;
      const char* const from = base_[g] + (runs ? int64_t{place_[g]} * kBytes : 0);
      if (runs && along_k_) {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; ++i)
          copies.template copy<4>(stage + (k + i) * kPitch + column(index), from + 4 * i);
      } else if (runs && detail::aligned16(from)) {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; i += 4)
          copies.template copy<16>(stage + k * kPitch + column(index + i), from + 4 * i);
      } else {
        const StepPlaces& s = l.places[step];
        SOFTAMP_ROLLED
        for (unsigned i = 0; i < 8; ++i) {
          const int32_t place = along_k_ && left_[g] != 0 ? (kIsA ? s.a : s.b)[k + i] : place_[g];
          uint32_t* const to = stage + (along_k_ ? k + i : k) * kPitch + column(along_k_ ? index : index + i);
          if (place == StepPlaces::kAbsent || (!along_k_ && i >= left_[g]))
            *to = kZero;
          else
            copies.template copy<4>(to, base_[g] + (int64_t{place} + (along_k_ ? 0 : i)) * kBytes);
        }
      }
    }
  }
  /// Makes zeros of the subnormals that this thread has copied to `stage`, where the launch says so.
  SOFTAMP_PRIMITIVE void flush(const ProductLaunch& l, unsigned t, uint32_t* stage) const {
    if (!l.flush_operands) return;
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      if (!mine(g, t)) continue;
      uint32_t* const first = stage + this->k(g, t) * kPitch + column(index(g, t));
      const unsigned apart = along_k_ ? kPitch : 1, halves = along_k_ ? 4 * kPitch : column(4);
      bool any = false;
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < 8; ++i) {
        const uint32_t doubled = first[i / 4 * halves + i % 4 * apart] << 1;
        any |= doubled - 1 < 0x00FFFFFFu;  // but for zeros, which stay what they are
      }
      if (!any) continue;
      SOFTAMP_ROLLED
      for (unsigned i = 0; i < 8; ++i) {
        uint32_t& word = first[i / 4 * halves + i % 4 * apart];
        word = flushed(l, word);
      }
    }
  }

 private:
  // What stands where there is no operand: 0 x -0 = -0, which added to any number leaves it as it is.
  static constexpr uint32_t kZero = kIsA ? 0 : kBytes == 2 ? 0x8000u : 0x80000000u;
  static constexpr uint32_t kNothing = kIsA || kBytes == 4 ? kZero : 0x80008000u;

  /// The position of a tile's index in a line of a stage, in words.
  static SOFTAMP_PRIMITIVE unsigned column(unsigned index) {
    return kIsA ? index : (index & 4 ? Shape::kHalf : 0) + (index >> 3) * 4 + (index & 3);
  }
  SOFTAMP_PRIMITIVE unsigned group(unsigned g, unsigned t) const { return g * Shape::kThreads + t; }
  SOFTAMP_PRIMITIVE bool mine(unsigned g, unsigned t) const {
    return kGroups * Shape::kThreads == 2 * kExtent || group(g, t) < 2 * kExtent;
  }
  SOFTAMP_PRIMITIVE unsigned index(unsigned g, unsigned t) const {
    return along_k_ ? group(g, t) % kExtent : group(g, t) % (kExtent / 8) * 8;
  }
  SOFTAMP_PRIMITIVE unsigned k(unsigned g, unsigned t) const {
    return along_k_ ? group(g, t) / kExtent * 8 : group(g, t) / (kExtent / 8);
  }

  /// An operand of fp32 whose subnormals count as zeros.
  static SOFTAMP_PRIMITIVE uint32_t flushed(const ProductLaunch& l, uint32_t code) {
    if ((code & 0x7F800000u) != 0) return code;
    return l.flush_to_positive && code << 1 ? 0 : code & 0x80000000u;
  }

  /// Codes as the stage holds them: kernel::widen_operand of finite ones. Infinities and NaNs stay what they are, and
  /// the chain is then infinite or NaN, too. The questions are a launch's, asked once for all eight.
  template <unsigned kCount>
  static SOFTAMP_PRIMITIVE void words(const ProductLaunch& l, const uint32_t (&packed)[kCount], uint32_t (&to)[8]) {
    SOFTAMP_UNROLL
    for (unsigned i = 0; i < 8; ++i)
      to[i] = kBytes == 4 ? packed[i % kCount] : packed[i / 2 % kCount] >> (16 * (i & 1)) & 0xFFFFu;
    if constexpr (kForm == StageForm::kHalves) {
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < 8; ++i) to[i] |= to[i] << 16;
    } else if constexpr (kBytes == 4) {
      if (l.flush_operands) {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; ++i) to[i] = flushed(l, to[i]);
      }
    } else if (l.kind == OperandKind::kBf16) {
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < 8; ++i) to[i] <<= 16;
    } else {
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < 8; ++i) to[i] = bits_of(float_of_half(to[i]));
    }
  }
  static SOFTAMP_PRIMITIVE void put(uint32_t* stage, unsigned k, unsigned index, uint32_t word) {
    if constexpr (kForm == StageForm::kHalves && !kIsA)
      reinterpret_cast<uint16_t*>(stage + k * kPitch)[index] = static_cast<uint16_t>(word);
    else
      stage[k * kPitch + column(index)] = word;
  }

  SOFTAMP_PRIMITIVE void load_singly(const ProductLaunch& l, uint32_t step, unsigned g, unsigned t,
                                     uint32_t* stage) const {
    const StepPlaces& s = l.places[step];
    const unsigned index = this->index(g, t), k = this->k(g, t);
    SOFTAMP_ROLLED
    for (unsigned i = 0; i < 8; ++i) {
      const int32_t place = along_k_ ? (kIsA ? s.a : s.b)[k + i] : place_[g] + static_cast<int32_t>(i);
      uint32_t code = kZero;
      if (along_k_ ? place != StepPlaces::kAbsent : i < left_[g]) {
        const char* const from = base_[g] + int64_t{place} * kBytes;
        code =
            kBytes == 2 ? uint32_t{*reinterpret_cast<const uint16_t*>(from)} : *reinterpret_cast<const uint32_t*>(from);
      }
      const uint32_t alone[1] = {code};
      uint32_t word[8];  // the first counts
      words(l, alone, word);
      put(stage, along_k_ ? k + i : k, along_k_ ? index : index + i, word[0]);
    }
  }

  bool along_k_;
  uint32_t left_[kGroups];  ///< indices of the part from the group's on, 8 at most; along k: 8 or 0
  const char* base_[kGroups];
  int32_t place_[kGroups];  ///< in the step that was looked at
};

}  // namespace softamp::cuda
