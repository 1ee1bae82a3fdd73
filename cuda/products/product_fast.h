// The fast kernels of products: a tile of outputs a block, as product_tile.h says, for the rules that training uses.
//
//   FastWay::kFloat         no rounding inside
//   FastWay::kFloatCopied   the same, of fp32 operands, which come by asynchronous copies
//   FastWay::kBlockNearest  to halves at the ends of blocks, to nearest even
//   FastWay::kBlockCarry    the same, stochastic: Philox of ten rounds, at most 16 bits
//   FastWay::kEachNearest   after every product: fma of halves, two at a time (N411)
//   FastWay::kEachCarry     after every product, stochastic: the exact product and sum, truncated (N402)
//
// Shared memory holds two or three stages of a step's operands (product_feed.h); while one is multiplied, those for the
// next are on their way: in registers, or one or two steps ahead by asynchronous copies (async_copy.h). Missing
// products are 0 x -0, which changes nothing, so that loops have no ends to look for.
//
// A value that FastRound leaves to the body: to nearest it has become an infinity or NaN, which stays one; else the
// thread notes its row, whose outputs are then computed by the body, all eight.
#pragma once

#include "cuda/async_copy.h"
#include "cuda/products/product_finish.h"

namespace softamp::cuda {

enum class FastWay : uint8_t { kFloat, kBlockNearest, kBlockCarry, kEachNearest, kEachCarry, kFloatCopied };

/// The keys of ten rounds, ready for use: a launch's constants.
struct RoundKeys {
  uint32_t k0[10], k1[10];
  static RoundKeys of(PhiloxKey key) {
    RoundKeys keys{};
    for (uint32_t r = 0; r < 10; ++r) {
      keys.k0[r] = key.word[0] + r * 0x9E3779B9u;
      keys.k1[r] = key.word[1] + r * 0xBB67AE85u;
    }
    return keys;
  }
};
SOFTAMP_PRIMITIVE RandomBlock philox10(RandomBlock c, const RoundKeys& keys) {
  SOFTAMP_UNROLL
  for (unsigned r = 0; r < 10; ++r) {
    const WideProduct a = wide_product(c.word[0], 0xD2511F53u), b = wide_product(c.word[2], 0xCD9E8D57u);
    c = {{b.high ^ c.word[1] ^ keys.k0[r], b.low, a.high ^ c.word[3] ^ keys.k1[r], a.low}};
  }
  return c;
}

template <class Shape, FastWay kWay, unsigned kBytes>
struct FastTile {
  static constexpr unsigned kMostThreads = Shape::kThreads;
  static constexpr bool kPacked = kWay == FastWay::kEachNearest, kCopied = kWay == FastWay::kFloatCopied;
  static constexpr bool kCarries = kWay == FastWay::kBlockCarry || kWay == FastWay::kEachCarry;
  static constexpr StageForm kForm = kPacked ? StageForm::kHalves : StageForm::kFloats;
  using FeedA = Feed<Shape, true, kBytes, kForm>;
  using FeedB = Feed<Shape, false, kBytes, kForm>;
  /// What a multiprocessor shall hold at least: 24, 20 or 16 warps, by the registers that 4 rows (or 8) leave.
  static constexpr unsigned kLeastThreads = FeedA::kGroups > 1             ? 512
                                            : kWay == FastWay::kEachCarry  ? 768
                                            : kWay == FastWay::kBlockCarry ? 640
                                                                           : 512;
  static constexpr unsigned kLeastBlocks = kLeastThreads / (Shape::kThreads < 64 ? 64 : Shape::kThreads);
  /// A step that was loaded is stored before the products of the one before it, not behind them: it holds no registers
  /// meanwhile, and roundings take so long that other warps hide the wait.
  static constexpr bool kStoresAtOnce = kCarries;
  static constexpr unsigned kChunk = Shape::kRows < 4 ? Shape::kRows : 4;  ///< rows finished at a time
  static constexpr unsigned kStageWords = Shape::kAStage + Shape::kBStage;
  static constexpr size_t shared_of_stages(unsigned stages) {
    return shared_of<uint32_t>(stages * kStageWords) + shared_of<uint64_t>(Shape::kTileRows);
  }
  static constexpr unsigned kStages = kCopied && shared_of_stages(3) <= Grid::kMostShared ? 3 : 2;
  static constexpr unsigned kAhead = kStages - 1;  ///< steps that are on their way
  static constexpr size_t kShared = shared_of_stages(kStages);
  static_assert(kChunk * 8 * Shape::kThreads <= 2 * kStageWords, "the ends of chains go where the stages were");

  ProductLaunch launch;
  RoundKeys keys;

  struct Chains {
    float v[kPacked ? 1 : Shape::kRows][8];
    uint32_t pair[kPacked ? Shape::kRows : 1][4];       ///< of halves
    uint32_t first_block[kCarries ? Shape::kRows : 1];  ///< of random words, at block number 0
    uint32_t rare;                                      ///< bit r: row r is left to the body
  };
  struct Feeds {
    FeedA a;
    FeedB b;
    ProductStep step;  ///< the one loaded last
  };
  struct Fetched {
    typename FeedA::Codes a;
    typename FeedB::Codes b;
  };

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    uint32_t* const a_stages = block.template shared<uint32_t>(kStages * kStageWords);
    uint32_t* const b_stages = a_stages + kStages * Shape::kAStage;
    uint64_t* const row_places = block.template shared<uint64_t>(Shape::kTileRows);
    const uint32_t slot = block.index() / launch.tiles;
    const Tile tile = launch.find<false>(block.index() % launch.tiles, Shape::kTileRows, Shape::kTileColumns);
    const DevicePart& part = *tile.part;
    uint32_t first, steps;
    if (!launch.find_steps(part, slot, first, steps)) return;

    PerThread<Chains, Block> chains(block);
    PerThread<Feeds, Block> feeds(block);
    PerThread<AsyncCopies<Block>, Block> copies(block);
    block.each([&](unsigned t) {
      for (unsigned r = t; r < Shape::kTileRows; r += Shape::kThreads)
        row_places[r] = launch.output(part, tile.row + r < part.part.rows ? tile.row + r : 0) + tile.column;
    });
    block.each([&](unsigned t) {
      begin(chains[t], row_places, t);
      Feeds& f = feeds[t];
      f.a.start(launch, part, tile.row, t);
      f.b.start(launch, part, tile.column, t);
      if (steps != 0) look(f, first, t);
    });
    // Step n comes while step n - kAhead is multiplied.
    for (uint32_t n = 0; n < steps + (steps != 0) * kAhead; ++n)
      block.each([&](unsigned t) {
        Feeds& f = feeds[t];
        const bool more = n < steps;
        uint32_t* const a_next = a_stages + n % kStages * Shape::kAStage;
        uint32_t* const b_next = b_stages + n % kStages * Shape::kBStage;
        const ProductStep step = f.step;
        Fetched fetched;
        if (more) {
          if constexpr (kCopied) {
            copy(f, first + n, t, a_next, b_next, copies[t]);
          } else {
            load(f, first + n, t, a_next, b_next, fetched);
            if constexpr (kStoresAtOnce) store(f, t, fetched, a_next, b_next);
            f.step = launch.steps[first + n];
          }
          if (n + 1 < steps) look(f, first + n + 1, t);
        }
        if constexpr (kCopied) copies[t].close();
        if (n >= kAhead) {
          const unsigned stage = (n + 1) % kStages;  // of step n - kAhead
          multiply(step, a_stages + stage * Shape::kAStage + t / Shape::kAcross * Shape::kRows,
                   b_stages + stage * Shape::kBStage + t % Shape::kAcross * 4, chains[t]);
        }
        if constexpr (kCopied) {
          // What the next phase multiplies.
          copies[t].template wait<kAhead - 1>();
          if (n + 1 >= kAhead) flush(f, t, a_stages, b_stages, (n + 1 - kAhead) % kStages);
        } else if constexpr (!kStoresAtOnce) {
          if (more) store(f, t, fetched, a_next, b_next);
        }
      });
    block.each([&](unsigned t) {
      // A thread writes and reads its own words alone.
      finish(part, tile, block.index() % launch.tiles, slot, t, row_places, a_stages + 4 * t, chains[t]);
    });
  }

 private:
  SOFTAMP_PRIMITIVE void begin(Chains& c, const uint64_t* row_places, unsigned t) const {
    c.rare = 0;
    if constexpr (kPacked) {
      SOFTAMP_UNROLL
      for (unsigned e = 0; e < Shape::kRows * 4; ++e) c.pair[e / 4][e % 4] = 0;
    } else {
      SOFTAMP_UNROLL
      for (unsigned e = 0; e < Shape::kRows * 8; ++e) c.v[e / 8][e % 8] = 0;
    }
    if constexpr (kCarries) SOFTAMP_UNROLL
    for (unsigned r = 0; r < Shape::kRows; ++r)
      c.first_block[r] =
          static_cast<uint32_t>((row_places[t / Shape::kAcross * Shape::kRows + r] + t % Shape::kAcross * 8) >> 3);
  }

  SOFTAMP_PRIMITIVE void look(Feeds& f, uint32_t step, unsigned t) const {
    f.a.look(launch, step, t);
    f.b.look(launch, step, t);
  }
  SOFTAMP_PRIMITIVE void load(const Feeds& f, uint32_t step, unsigned t, uint32_t* a_stage, uint32_t* b_stage,
                              Fetched& to) const {
    f.a.load(launch, step, t, a_stage, to.a);
    f.b.load(launch, step, t, b_stage, to.b);
  }
  template <class Copies>
  SOFTAMP_PRIMITIVE void copy(const Feeds& f, uint32_t step, unsigned t, uint32_t* a_stage, uint32_t* b_stage,
                              Copies& copies) const {
    f.a.copy(launch, step, t, a_stage, copies);
    f.b.copy(launch, step, t, b_stage, copies);
  }
  SOFTAMP_PRIMITIVE void flush(const Feeds& f, unsigned t, uint32_t* a_stages, uint32_t* b_stages,
                               unsigned stage) const {
    f.a.flush(launch, t, a_stages + stage * Shape::kAStage);
    f.b.flush(launch, t, b_stages + stage * Shape::kBStage);
  }
  SOFTAMP_PRIMITIVE void store(const Feeds& f, unsigned t, const Fetched& from, uint32_t* a_stage,
                               uint32_t* b_stage) const {
    f.a.store(launch, t, from.a, a_stage);
    f.b.store(launch, t, from.b, b_stage);
  }

  /// A step's products of every chain, from a thread's places in its stages.
  SOFTAMP_PRIMITIVE void multiply(const ProductStep& step, const uint32_t* a, const uint32_t* b, Chains& c) const {
    if constexpr (kWay == FastWay::kFloat || kCopied || kPacked) {
      SOFTAMP_UNROLL
      for (unsigned k = 0; k < ProductStep::kMost; ++k) product(a + k * Shape::kAPitch, b + k * Shape::kBPitch, c);
    } else if constexpr (kWay == FastWay::kEachCarry) {
      SOFTAMP_ROLLED
      for (unsigned k = 0; k < step.length; ++k) {
        product(a + k * Shape::kAPitch, b + k * Shape::kBPitch, c);
        round(step.number + k, c);
      }
    } else {
      const unsigned every = step.every == 0 || step.every >= step.length ? step.length : step.every;
      uint32_t number = step.number;
      SOFTAMP_ROLLED
      for (unsigned k = 0; k < step.length; ++number) {
        const unsigned end = k + every < step.length ? k + every : step.length;
        // By fours; what is behind the end is of the next block, or missing.
        SOFTAMP_ROLLED
        for (; k + 4 <= end; k += 4) SOFTAMP_UNROLL
        for (unsigned i = 0; i < 4; ++i) product(a + (k + i) * Shape::kAPitch, b + (k + i) * Shape::kBPitch, c);
        SOFTAMP_ROLLED
        for (; k < end; ++k) product(a + k * Shape::kAPitch, b + k * Shape::kBPitch, c);
        if (step.every != 0) round(number, c);
      }
    }
  }

  /// One product of every chain.
  SOFTAMP_PRIMITIVE void product(const uint32_t* a, const uint32_t* b, Chains& c) const {
    uint32_t x[Shape::kRows];
    if constexpr (Shape::kRows % 4 == 0) {
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; r += 4) {
        const detail::Words4 four = detail::load4(a + r);
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < 4; ++i) x[r + i] = four.w[i];
      }
    } else {
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; ++r) x[r] = a[r];
    }
    const detail::Words4 low = detail::load4(b);
    if constexpr (kPacked) {
      SOFTAMP_UNROLL
      for (unsigned e = 0; e < Shape::kRows * 4; ++e)
        c.pair[e / 4][e % 4] = halves_fma_rn(x[e / 4], low.w[e % 4], c.pair[e / 4][e % 4]);
    } else {
      const detail::Words4 high = detail::load4(b + Shape::kHalf);
      SOFTAMP_UNROLL
      for (unsigned e = 0; e < Shape::kRows * 8; ++e) {
        const float y = from_bits(e % 8 < 4 ? low.w[e % 4] : high.w[e % 4]);
        float& sum = c.v[e / 8][e % 8];
        sum = kWay == FastWay::kEachCarry ? fma_rz(from_bits(x[e / 8]), y, sum) : fma_rn(from_bits(x[e / 8]), y, sum);
      }
    }
  }

  /// All chains to halves: block `number` has ended.
  SOFTAMP_PRIMITIVE void round(uint32_t number, Chains& c) const {
    if constexpr (kCarries) {
      const kernel::Environment& e = launch.environment.environment;
      const uint32_t who = e.random.replica << 24 | e.operation, step = *launch.environment.step;
      constexpr unsigned kAtOnce = Shape::kRows < 2 ? 1 : 2;  // blocks of random words, side by side
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; r += kAtOnce) {
        RandomBlock words[kAtOnce];
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < kAtOnce; ++i)  // product_index(number, output) / 8
          words[i] = philox10({{c.first_block[r + i], number, who, step}}, keys);
        SOFTAMP_UNROLL
        for (unsigned i = 0; i < kAtOnce; ++i) {
          bool rare = false;
          SOFTAMP_UNROLL
          for (unsigned p = 0; p < 4; ++p) {
            float &low = c.v[r + i][2 * p], &high = c.v[r + i][2 * p + 1];
            const uint32_t word = words[i].word[p];
            const uint32_t codes = launch.half.codes<FastRound::Way::kHalfCarry>(low, high, word, word >> 16, rare);
            low = float_of_half(codes & 0xFFFFu), high = float_of_half(codes >> 16);
          }
          c.rare |= static_cast<uint32_t>(rare) << (r + i);
        }
      }
    } else {
      SOFTAMP_UNROLL
      for (unsigned e = 0; e < Shape::kRows * 4; ++e) {
        float &low = c.v[e / 4][e % 4 * 2], &high = c.v[e / 4][e % 4 * 2 + 1];
        const uint32_t codes = halves_of_rn(low, high);
        low = float_of_half(codes & 0xFFFFu), high = float_of_half(codes >> 16);
      }
    }
  }

  /// Column j of row r of a thread's ends of chains: neighbouring threads' are 16 bytes apart.
  static SOFTAMP_PRIMITIVE unsigned spot(unsigned r, unsigned j) {
    return (r * 2 + j / 4) * 4 * Shape::kThreads + j % 4;
  }

  SOFTAMP_PRIMITIVE void finish(const DevicePart& part, const Tile& tile, uint32_t number, uint32_t slot, unsigned t,
                                const uint64_t* row_places, uint32_t* mine, const Chains& c) const {
    const uint32_t column = tile.column + t % Shape::kAcross * 8;
    const uint32_t left = column < part.part.columns ? part.part.columns - column : 0;
    const unsigned columns = left < 8 ? left : 8;
    // Rows pass through shared memory: a loop over registers would be one copy of its body for each.
    SOFTAMP_ROLLED
    for (unsigned chunk = 0; chunk < Shape::kRows; chunk += kChunk) {
      SOFTAMP_UNROLL
      for (unsigned r = 0; r < Shape::kRows; ++r)
        if (r / kChunk * kChunk == chunk) put_row(mine, r % kChunk, r, c);
      SOFTAMP_ROLLED
      for (unsigned i = 0; i < kChunk; ++i) {
        const unsigned r = chunk + i, in_tile = t / Shape::kAcross * Shape::kRows + r;
        const bool there = tile.row + in_tile < part.part.rows && columns != 0, rare = (c.rare >> r & 1) != 0;
        uint32_t marks = 0;
        if (there) {
          const uint64_t output = row_places[in_tile] + t % Shape::kAcross * 8;
          if (launch.slots)
            keep_partials(mine + spot(i, 0), slot * launch.outputs + output, columns, rare);
          else
            marks = rare ? (1u << columns) - 1 : finish_row(mine + spot(i, 0), output, columns);
        }
        if (!launch.slots)
          launch.marks[(uint64_t{number} * Shape::kThreads + t) * Shape::kRows + r] = static_cast<uint8_t>(marks);
      }
    }
  }

  static SOFTAMP_PRIMITIVE void put_row(uint32_t* mine, unsigned to, unsigned r, const Chains& c) {
    uint32_t v[8];
    SOFTAMP_UNROLL
    for (unsigned j = 0; j < 8; ++j) {
      if constexpr (kPacked)
        v[j] = bits_of(float_of_half(c.pair[r][j / 2] >> (16 * (j & 1)) & 0xFFFFu));
      else
        v[j] = bits_of(c.v[r][j]);
    }
    detail::store4(mine + spot(to, 0), v[0], v[1], v[2], v[3]);
    detail::store4(mine + spot(to, 4), v[4], v[5], v[6], v[7]);
  }

  SOFTAMP_PRIMITIVE void keep_partials(const uint32_t* row, uint64_t place, unsigned columns, bool rare) const {
    SOFTAMP_ROLLED
    for (unsigned j = 0; j < columns; ++j) launch.slots[place + j] = from_bits(rare ? 0x7FFFFFFFu : row[spot(0, j)]);
  }

  /// Lane j of a block that stays in registers; bits above the 16th may be anything.
  static SOFTAMP_PRIMITIVE uint32_t lane(const RandomBlock& b, unsigned j) {
    const uint32_t word = j < 4 ? j < 2 ? b.word[0] : b.word[1] : j < 6 ? b.word[2] : b.word[3];
    return word >> (16 * (j & 1));
  }
  static SOFTAMP_PRIMITIVE uint32_t pair(uint32_t low, uint32_t high) { return (low & 0xFFFFu) | high << 16; }
  /// Stores the results of a row, through its words; bit j: the body must compute number j.
  SOFTAMP_PRIMITIVE uint32_t finish_row(uint32_t* row, uint64_t output, unsigned columns) const {
    const WordSource source = word_source(launch, 1);
    const bool shared = source.bits <= 16 && (output & 7) == 0 && !source.table.words;  // one block of random words
    RandomBlock words{};
    if (source.bits != 0 && shared) words = source.random.block(source.step, source.operation, output >> 3);
    uint32_t marks = 0;
    SOFTAMP_ROLLED
    for (unsigned j = 0; j < columns; ++j) {
      uint32_t word = 0;
      if (source.bits != 0) word = shared ? lane(words, j) : detail::word_singly(source, 0, output + j);
      bool rare = false;
      row[spot(0, j)] = finish_one(launch.way, launch.result, from_bits(row[spot(0, j)]), word, rare);
      marks |= static_cast<uint32_t>(rare) << j;
    }
    const bool wide = launch.rules.output.storage_bits() > 16;
    char* const to = static_cast<char*>(launch.out) + output * (wide ? 4 : 2);
    if (columns == 8 && detail::aligned16(to)) {
      const detail::Words4 low = detail::load4(row), high = detail::load4(row + spot(0, 4));
      if (wide) {
        detail::store4(to, low.w[0], low.w[1], low.w[2], low.w[3]);
        detail::store4(to + 16, high.w[0], high.w[1], high.w[2], high.w[3]);
      } else {
        detail::store4(to, pair(low.w[0], low.w[1]), pair(low.w[2], low.w[3]), pair(high.w[0], high.w[1]),
                       pair(high.w[2], high.w[3]));
      }
    } else {
      SOFTAMP_ROLLED
      for (unsigned j = 0; j < columns; ++j) launch.store(output + j, row[spot(0, j)]);
    }
    return marks;
  }
};

}  // namespace softamp::cuda
