// The tiled kernel of products (product_tile.h): instantiated by shape and by how blocks end.
//
// Shared memory holds two stages of a step's operands as fp32, [k][row] and [k][column]; while one stage is multiplied,
// the codes for the next are loaded, and stored into the other one before the phase ends. The 8 columns of a thread are
// two runs of 4, half the width of a stage apart, so that neighbouring threads read neighbouring banks.
#pragma once

#include "cuda/products/product_feed.h"
#include "cuda/products/product_finish.h"

namespace softamp::cuda {

/// How a chain is rounded inside.
enum class ChainWay : uint8_t {
  kFloat,  ///< not at all
  kBlock,  ///< to halves, at the ends of blocks
  kEach,   ///< to halves, after every product, exact
};

namespace detail {

/// Eight neighbouring operands' codes: those of 16 bits two to a word.
struct Codes8 {
  uint32_t w[8];
};

/// How a thread stages its share of an operand: groups of eight along k, or along the other index.
template <class Shape, bool kIsA>
class Stager {
 public:
  static constexpr unsigned kExtent = kIsA ? Shape::kTileRows : Shape::kTileColumns;
  static constexpr unsigned kGroups = (2 * kExtent + Shape::kThreads - 1) / Shape::kThreads;

  /// The part of the places that does not depend on k.
  SOFTAMP_PRIMITIVE void start(const ProductLaunch& l, const DevicePart& p, uint32_t first, unsigned t) {
    const PlaceMap& map = kIsA ? p.part.a_rows : p.part.b_columns;
    const uint32_t extent = kIsA ? p.part.rows : p.part.columns;
    along_k_ = !(map.table < 0 && map.width == 1 && map.height == 1 && map.outer == 1);
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      const uint32_t index = first + this->index(g, t);
      const uint32_t left = index < extent ? extent - index : 0;
      left_[g] = static_cast<uint8_t>(left < 8 ? left : 8);
      place_[g] = (kIsA ? p.part.a : p.part.b) + (left ? map.place(l.table, index) : 0);
    }
  }

  SOFTAMP_PRIMITIVE void load(const ProductLaunch& l, const DevicePart& p, const ProductStep& step, unsigned t,
                              Codes8 (&to)[kGroups]) const {
    const PlaceMap& map = kIsA ? p.part.a_k : p.part.b_k;
    const void* const data = kIsA ? l.a : l.b;
    const unsigned bytes = l.kind == OperandKind::kFloat ? 4 : 2;
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      const unsigned k = this->k(g, t);
      to[g] = {};
      if (left_[g] == 0 || k >= step.length || !mine(g, t)) continue;
      const int64_t at = place_[g] + map.place(l.table, step.k + k);
      const char* const from = static_cast<const char*>(data) + at * bytes;
      const bool in_a_run =
          along_k_ ? (step.flags & (kIsA ? ProductStep::kRunsOfA : ProductStep::kRunsOfB)) != 0 && k + 8 <= step.length
                   : left_[g] == 8;
      if (in_a_run && (reinterpret_cast<uintptr_t>(from) & 15) == 0) {
        const Words4 low = load4(from);
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 4; ++i) to[g].w[i] = low.w[i];
        if (bytes == 4) {
          const Words4 high = load4(from + 16);
          SOFTAMP_UNROLL
          for (unsigned i = 0; i < 4; ++i) to[g].w[4 + i] = high.w[i];
        }
      } else {
        load_singly(l, map, data, step, g, k, at, to[g]);
      }
    }
  }

  /// Into a stage, as fp32.
  SOFTAMP_PRIMITIVE void store(const ProductLaunch& l, unsigned t, const Codes8 (&from)[kGroups], float* stage) const {
    constexpr unsigned kPitch = kIsA ? Shape::kAPitch : Shape::kBPitch;
    SOFTAMP_UNROLL
    for (unsigned g = 0; g < kGroups; ++g) {
      if (!mine(g, t)) continue;
      const unsigned index = this->index(g, t), k = this->k(g, t);
      if (along_k_) {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; ++i) stage[(k + i) * kPitch + column(index)] = value(l, from[g], i);
      } else {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 8; ++i) stage[k * kPitch + column(index + i)] = value(l, from[g], i);
      }
    }
  }

 private:
  /// The position of a tile's index in a line of a stage.
  static SOFTAMP_PRIMITIVE unsigned column(unsigned index) {
    return kIsA ? index : (index & 4 ? Shape::kHalf : 0) + (index >> 3) * 4 + (index & 3);
  }
  SOFTAMP_PRIMITIVE unsigned group(unsigned g, unsigned t) const { return g * Shape::kThreads + t; }
  SOFTAMP_PRIMITIVE bool mine(unsigned g, unsigned t) const { return group(g, t) < 2 * kExtent; }
  SOFTAMP_PRIMITIVE unsigned index(unsigned g, unsigned t) const {
    return along_k_ ? group(g, t) % kExtent : group(g, t) % (kExtent / 8) * 8;
  }
  SOFTAMP_PRIMITIVE unsigned k(unsigned g, unsigned t) const {
    return along_k_ ? group(g, t) / kExtent * 8 : group(g, t) / (kExtent / 8);
  }

  SOFTAMP_PRIMITIVE void load_singly(const ProductLaunch& l, const PlaceMap& map, const void* data,
                                     const ProductStep& step, unsigned g, unsigned k, int64_t at, Codes8& to) const {
    const bool wide = l.kind == OperandKind::kFloat;
    SOFTAMP_UNROLL
    for (unsigned i = 0; i < 8; ++i) {
      if (along_k_ ? k + i >= step.length : i >= left_[g]) continue;
      const int64_t place = along_k_ ? place_[g] + map.place(l.table, step.k + k + i) : at + i;
      if (wide)
        to.w[i] = static_cast<const uint32_t*>(data)[place];
      else
        to.w[i >> 1] |= uint32_t{static_cast<const uint16_t*>(data)[place]} << (16 * (i & 1));
    }
  }

  /// kernel::widen_operand of finite codes. Infinities and NaNs stay what they are, and the chain is then infinite or
  /// NaN, too.
  static SOFTAMP_PRIMITIVE float value(const ProductLaunch& l, const Codes8& codes, unsigned i) {
    const uint32_t code = codes.w[i >> 1] >> (16 * (i & 1)) & 0xFFFFu;
    if (l.kind == OperandKind::kHalf) return float_of_half(code);
    if (l.kind == OperandKind::kBf16) return float_of_bf16(code);
    const uint32_t u = codes.w[i];
    if (l.flush_operands && (u & 0x7F800000u) == 0)
      return from_bits(l.flush_to_positive && u << 1 ? 0 : u & 0x80000000u);
    return from_bits(u);
  }

  bool along_k_;
  uint8_t left_[kGroups];  ///< indices of the part from the group's on, 8 at most
  int64_t place_[kGroups];
};

}  // namespace detail

/// Rounds eight neighbouring chains to halves; values that FastRound leaves to the body become NaNs.
template <FastRound::Way kWay>
SOFTAMP_PRIMITIVE void round_to_halves(const FastRound& f, float (&v)[8], const RandomWords& words) {
  SOFTAMP_UNROLL
  for (unsigned j = 0; j < 8; ++j) {
    bool rare = false;
    const uint32_t code = f.code<kWay>(v[j], words.word[j], rare);
    v[j] = rare ? from_bits(0x7FFFFFFFu) : float_of_half(code);
  }
}

template <class Shape, ChainWay kWay>
struct TileKernel {
  ProductLaunch launch;

  struct Chains {
    float v[Shape::kRows][8];
  };
  struct Staging {
    detail::Stager<Shape, true> a;
    detail::Stager<Shape, false> b;
  };
  struct Fetched {
    detail::Codes8 a[detail::Stager<Shape, true>::kGroups];
    detail::Codes8 b[detail::Stager<Shape, false>::kGroups];
  };

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    float* const a_stages = block.template shared<float>(2 * Shape::kAStage);
    float* const b_stages = block.template shared<float>(2 * Shape::kBStage);
    const uint32_t slot = block.index() / launch.tiles;
    const Tile tile = launch.find<false>(block.index() % launch.tiles, Shape::kTileRows, Shape::kTileColumns);
    const DevicePart& part = *tile.part;
    uint32_t first, steps;
    if (!launch.find_steps(part, slot, first, steps)) return;

    PerThread<Chains, Block> chains(block);
    PerThread<Staging, Block> staging(block);
    block.each([&](unsigned t) {
      Chains& c = chains[t];
      SOFTAMP_UNROLL
      for (unsigned e = 0; e < Shape::kRows * 8; ++e) c.v[e / 8][e % 8] = 0;
      if (launch.start) begin(part, tile, t, c);
      Staging& s = staging[t];
      s.a.start(launch, part, tile.row, t);
      s.b.start(launch, part, tile.column, t);
      if (steps) {
        Fetched fetched;
        fetch(part, launch.steps[first], s, t, fetched);
        s.a.store(launch, t, fetched.a, a_stages);
        s.b.store(launch, t, fetched.b, b_stages);
      }
    });
    for (uint32_t n = 0; n < steps; ++n)
      block.each([&](unsigned t) {
        const Staging& s = staging[t];
        const bool more = n + 1 < steps;
        Fetched fetched;
        if (more) fetch(part, launch.steps[first + n + 1], s, t, fetched);
        const unsigned now = n & 1, next = now ^ 1;
        multiply(launch.steps[first + n], a_stages + now * Shape::kAStage + t / Shape::kAcross * Shape::kRows,
                 b_stages + now * Shape::kBStage + t % Shape::kAcross * 4, part, tile, t, chains[t]);
        if (more) {
          s.a.store(launch, t, fetched.a, a_stages + next * Shape::kAStage);
          s.b.store(launch, t, fetched.b, b_stages + next * Shape::kBStage);
        }
      });
    block.each([&](unsigned t) { finish(part, tile, block.index() % launch.tiles, slot, t, chains[t]); });
  }

 private:
  /// Chains begin with C.
  SOFTAMP_PRIMITIVE void begin(const DevicePart& part, const Tile& tile, unsigned t, Chains& c) const {
    const Semantics s = kernel::product_semantics(launch.rules, launch.environment.environment.semantics);
    const unsigned columns = limit(part, tile, t);
    for (unsigned r = 0; r < Shape::kRows; ++r) {
      const uint32_t row = tile.row + t / Shape::kAcross * Shape::kRows + r;
      for (unsigned j = 0; j < columns && row < part.part.rows; ++j)
        c.v[r][j] = from_bits(kernel::chain_start(
            launch.rules, launch.widened_start(part, row, tile.column + t % Shape::kAcross * 8 + j), s));
    }
  }

  SOFTAMP_PRIMITIVE void fetch(const DevicePart& part, const ProductStep& step, const Staging& s, unsigned t,
                               Fetched& to) const {
    s.a.load(launch, part, step, t, to.a);
    s.b.load(launch, part, step, t, to.b);
  }

  /// One product of every chain.
  static SOFTAMP_PRIMITIVE void product(const float* a, const float* b, Chains& c) {
    float x[Shape::kRows], y[8];
    operands(a, b, x, y);
    SOFTAMP_UNROLL
    for (unsigned e = 0; e < Shape::kRows * 8; ++e) c.v[e / 8][e % 8] = fma_rn(x[e / 8], y[e % 8], c.v[e / 8][e % 8]);
  }
  static SOFTAMP_PRIMITIVE void operands(const float* a, const float* b, float (&x)[Shape::kRows], float (&y)[8]) {
    SOFTAMP_UNROLL
    for (unsigned r = 0; r < Shape::kRows; r += 4) {
      const detail::Words4 four = detail::load4(a + r);
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < 4; ++i) x[r + i] = from_bits(four.w[i]);
    }
    SOFTAMP_UNROLL
    for (unsigned h = 0; h < 2; ++h) {
      const detail::Words4 four = detail::load4(b + h * Shape::kHalf);
      SOFTAMP_UNROLL
      for (unsigned i = 0; i < 4; ++i) y[4 * h + i] = from_bits(four.w[i]);
    }
  }

  /// The products of a step, and the roundings in it.
  SOFTAMP_PRIMITIVE void multiply(const ProductStep& step, const float* a, const float* b, const DevicePart& part,
                                  const Tile& tile, unsigned t, Chains& c) const {
    const unsigned length = step.length;
    if constexpr (kWay == ChainWay::kEach) {
      for (unsigned k = 0; k < length; ++k, a += Shape::kAPitch, b += Shape::kBPitch)
        each(part, tile, t, step.number + k, a, b, c);
      return;
    }
    const unsigned every = kWay == ChainWay::kBlock ? step.every : 0;
    uint32_t number = step.number;
    for (unsigned k = 0; k < length;) {
      const unsigned end = every && k + every < length ? k + every : length;
      for (; k + 4 <= end; k += 4) {
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 4; ++i) product(a + i * Shape::kAPitch, b + i * Shape::kBPitch, c);
        a += 4 * Shape::kAPitch, b += 4 * Shape::kBPitch;
      }
      for (; k < end; ++k, a += Shape::kAPitch, b += Shape::kBPitch) product(a, b, c);
      if constexpr (kWay == ChainWay::kBlock)
        if (every) round(part, tile, t, number++, c);
    }
  }

  SOFTAMP_PRIMITIVE uint64_t output_of(const DevicePart& part, const Tile& tile, unsigned t, unsigned r) const {
    const uint32_t row = tile.row + t / Shape::kAcross * Shape::kRows + r;
    return launch.output(part, row < part.part.rows ? row : 0) + tile.column + t % Shape::kAcross * 8;
  }

  /// All chains to halves: block `number` has ended.
  SOFTAMP_PRIMITIVE void round(const DevicePart& part, const Tile& tile, unsigned t, uint32_t number, Chains& c) const {
    if (launch.half.way == FastRound::Way::kHalfNearest) {
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; ++r)
        round_to_halves<FastRound::Way::kHalfNearest>(launch.half, c.v[r], RandomWords{});
    } else {
      const WordSource source = word_source(launch, 0);
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; ++r)
        round_to_halves<FastRound::Way::kHalfCarry>(
            launch.half, c.v[r], words_of(source, number, output_of(part, tile, t, r), limit(part, tile, t)));
    }
  }

  /// One product of every chain, and its rounding.
  SOFTAMP_PRIMITIVE void each(const DevicePart& part, const Tile& tile, unsigned t, uint32_t number, const float* a,
                              const float* b, Chains& c) const {
    float x[Shape::kRows], y[8];
    operands(a, b, x, y);
    if (launch.half.way == FastRound::Way::kHalfNearest) {
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; ++r) {
        SOFTAMP_UNROLL
        for (unsigned j = 0; j < 8; ++j) c.v[r][j] = fma_odd(x[r], y[j], c.v[r][j]);
        round_to_halves<FastRound::Way::kHalfNearest>(launch.half, c.v[r], RandomWords{});
      }
    } else {
      const WordSource source = word_source(launch, 0);
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; ++r) {
        SOFTAMP_UNROLL
        for (unsigned j = 0; j < 8; ++j) c.v[r][j] = fma_rz(x[r], y[j], c.v[r][j]);
        round_to_halves<FastRound::Way::kHalfCarry>(
            launch.half, c.v[r], words_of(source, number, output_of(part, tile, t, r), limit(part, tile, t)));
      }
    }
  }

  static SOFTAMP_PRIMITIVE Row8 row_of(const float (&v)[8]) {
    return {{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}};
  }

  /// Columns of a thread that the part has.
  SOFTAMP_PRIMITIVE unsigned limit(const DevicePart& part, const Tile& tile, unsigned t) const {
    const uint32_t column = tile.column + t % Shape::kAcross * 8;
    const uint32_t left = column < part.part.columns ? part.part.columns - column : 0;
    return left < 8 ? left : 8;
  }

  SOFTAMP_PRIMITIVE void finish(const DevicePart& part, const Tile& tile, uint32_t number, uint32_t slot, unsigned t,
                                const Chains& c) const {
    const unsigned columns = limit(part, tile, t);
    const RowFinish how = row_finish(launch);
    SOFTAMP_UNROLL
    for (unsigned r = 0; r < Shape::kRows; ++r) {
      const uint32_t row = tile.row + t / Shape::kAcross * Shape::kRows + r;
      const bool there = row < part.part.rows && columns != 0;
      uint32_t marks = 0;
      if (there) {
        const uint64_t output = output_of(part, tile, t, r);
        if (launch.slots)
          for (unsigned j = 0; j < columns; ++j) launch.slots[slot * launch.outputs + output + j] = c.v[r][j];
        else
          marks = finish_row(how, row_of(c.v[r]), output, columns);
      }
      if (!launch.slots)
        launch.marks[(uint64_t{number} * Shape::kThreads + t) * Shape::kRows + r] = static_cast<uint8_t>(marks);
    }
  }
};

}  // namespace softamp::cuda
