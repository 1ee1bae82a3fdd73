#include "emu/products/product_tiles.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

constexpr size_t kChunk = kMostChunk;  ///< products: the panels of a tile then
                                       ///< share the first-level cache

const RandomPlan kNoRandom{};

/// Slender tiles if others would be half empty; not in arithmetic on halves, where slender ones would be.
const ProductKernels& kernels_for(const ProductPlan& plan, size_t columns) {
  constexpr size_t kFew = 128;
  const ProductKernels* const slender = plan.kernels->slender;
  const bool fits = slender && columns <= kFew && (columns - 1) % plan.kernels->nr < slender->nr;
  return fits && plan.way != ProductPlan::Way::kNative ? *slender : *plan.kernels;
}

}  // namespace

uint32_t widened_start(const ProductPlan& plan, const ProductProblem& p, size_t row, size_t column) {
  return kernel::widen_operand(kFp32, p.start[row * p.start_row + column], plan.semantics);
}

uint32_t start_of(const ProductPlan& plan, const ProductProblem& problem, size_t row, size_t column) {
  return kernel::chain_start(plan.rules, widened_start(plan, problem, row, column), plan.semantics);
}

float* AlignedFloats::reserve(size_t n) {
  if (n > size_) {
    ::operator delete (data_, std::align_val_t{64});
    data_ = nullptr;
    size_ = 0;
    data_ = static_cast<float*>(::operator new (n * sizeof(float), std::align_val_t{64}));
    size_ = n;
  }
  return data_;
}
AlignedFloats::~AlignedFloats() { ::operator delete (data_, std::align_val_t{64}); }

Chunks::Chunks(const ProductPlan& plan, const Schedule& schedule) {
  const bool rounds = plan.rules.partials == kernel::PartialsType::kHalf;
  chunks.reserve(schedule.k / kChunk + 2);
  segments.reserve(rounds ? schedule.blocks.size() + schedule.k / kChunk + 1 : schedule.k / kChunk + 2);
  Chunk now{0, 0, 0, 0, false, 0};
  const auto end_chunk = [&] {
    now.segment_count = segments.size() - now.first_segment;
    if (now.segment_count) chunks.push_back(now);
    longest = std::max(longest, now.k1 - now.k0);
    now = {now.k1, now.k1, segments.size(), 0, false, 0};
  };
  for (const ChainBlock& block : schedule.blocks) {
    for (uint32_t left = block.length; left != 0;) {
      const size_t room = kChunk - (now.k1 - now.k0);
      // A block should end in the chunk in which it begins.
      if (room == 0 || (left == block.length && left > room && left <= kChunk / 4)) {
        end_chunk();
        continue;
      }
      const uint32_t length = static_cast<uint32_t>(std::min<size_t>(left, room));
      left -= length;
      const bool joins = !rounds && segments.size() > now.first_segment;
      if (joins)
        segments.back().length += length;
      else
        segments.push_back({length, block.number, rounds && left == 0});
      now.k1 += length;
    }
    if (block.closes_partial) {
      now.closes_partial = true;
      now.number = block.number;
      end_chunk();
    }
  }
  end_chunk();
}

ProductRun::ProductRun(const ProductPlan& product_plan, const ProductProblem& product_problem,
                       const kernel::Environment& product_environment, bool with_status)
    : plan(product_plan),
      problem(product_problem),
      environment(product_environment),
      kernels(kernels_for(product_plan, product_problem.columns)),
      way(product_plan.way),
      cut(product_plan, *product_problem.schedule),
      wanted_(with_status ? kInvalid | kOverflow : 0) {
  const KernelTable& table = *kernels.table;
  round_half_ = choose(table, plan.half, Element::kF32, Element::kF32);
  round_result_ = choose(table, plan.result, Element::kF32, Element::kU16);
  if (environment.table[0].words && (way == ProductPlan::Way::kCarry || way == ProductPlan::Way::kCarryEach))
    way = plan.careful;
}

bool ProductRun::fast(const ProductTile& tile, float* acc) const {
  using ProductWay = ProductPlan::Way;
  const ProductKernels& k = kernels;
  switch (way) {
    case ProductWay::kNative: return k.native(plan, environment, tile, acc);
    case ProductWay::kNearestEach: return k.nearest_each(plan, environment, tile, acc);
    case ProductWay::kCarryEach: return k.carry_each(plan, environment, tile, acc);
    case ProductWay::kNearest: return k.nearest(plan, environment, tile, acc);
    case ProductWay::kCarry: return k.carry(plan, environment, tile, acc);
    default: return false;
  }
}

void ProductRun::begin(const ProductTile& tile, size_t row0, size_t col0, const TileState& state) const {
  std::memset(state.acc, 0, 4 * padded_tile(kernels));
  if (!problem.start) return;
  for (size_t i = 0; i < tile.rows; ++i)
    for (size_t j = 0; j < tile.columns; ++j)
      state.acc[i * kernels.nr + j] = __builtin_bit_cast(float, start_of(plan, problem, row0 + i, col0 + j));
}

void ProductRun::multiply(const Chunk& chunk, const ProductTile& tile, const TileState& state) const {
  using ProductWay = ProductPlan::Way;
  const size_t count = padded_tile(kernels);
  uint8_t& suspicion = *state.suspicion;
  if (way == ProductWay::kFloat) {
    kernels.chain(tile.a, tile.b, chunk.k1 - chunk.k0, plan.products_exact, state.acc);
  } else if (way == plan.careful || !fast(tile, state.acc)) {
    suspicion |= plan.rules.exact_each ? general_each(tile, state.acc) : general(tile, state.acc);
  }
  if (!chunk.closes_partial) return;
  if (plan.rules.round_partials && plan.rules.partials == kernel::PartialsType::kFloat)
    suspicion |= round_tile(tile, chunk.number, state.acc);
  if (suspicion & kAnyPartial) {
    for (size_t i = 0; i < count; ++i) state.total[i] += state.acc[i];
  } else {
    std::memcpy(state.total, state.acc, 4 * count);
    suspicion |= kAnyPartial;
  }
  std::memset(state.acc, 0, 4 * count);
}

uint8_t ProductRun::round_tile(const ProductTile& tile, uint32_t number, float* acc) const {
  const size_t count = padded_tile(kernels);
  unsigned suspicion = wanted_ && !kernels.finite(acc) ? kNotFinite : 0;
  alignas(64) uint32_t words[kMostTile];
  if (plan.half.stochastic) {
    std::memset(words, 0, sizeof words);
    kernels.words(plan, environment, 0, number, tile, kernels.nr, words);
  }
  const Slice slice{{acc, nullptr, nullptr}, acc, words, 0, count, false};
  suspicion |= round_half_(plan.half, kNoRandom, Element::kF32, Element::kF32, slice, wanted_) & wanted_;
  return static_cast<uint8_t>(suspicion);
}

uint8_t ProductRun::general(const ProductTile& tile, float* acc) const {
  const float* a = tile.a;
  const float* b = tile.b;
  uint8_t suspicion = 0;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = tile.segments[s];
    kernels.chain(a, b, segment.length, plan.products_exact, acc);
    a += segment.length;
    b += segment.length * kernels.nr;
    if (segment.rounds) suspicion |= round_tile(tile, segment.number, acc);
  }
  return suspicion;
}

bool ProductRun::special_operand(const float* a, const float* b) const {
  const auto special = [](float x) { return (__builtin_bit_cast(uint32_t, x) & 0x7F800000u) == 0x7F800000u; };
  for (size_t i = 0; i < kernels.mr; ++i)
    if (special(a[i * kAStride])) return true;
  for (size_t j = 0; j < kernels.nr; ++j)
    if (special(b[j])) return true;
  return false;
}

uint8_t ProductRun::general_each(const ProductTile& tile, float* acc) const {
  const float* a = tile.a;
  const float* b = tile.b;
  uint8_t suspicion = 0;
  alignas(64) uint32_t words[kMostTile] = {};
  for (size_t s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = tile.segments[s];
    for (uint32_t k = 0; k < segment.length; ++k) {
      if (plan.half.stochastic) kernels.words(plan, environment, 0, segment.number, tile, kernels.nr, words);
      suspicion = static_cast<uint8_t>(suspicion | (kernels.each(plan, a, b, words, acc) & wanted_));
      // The policy may have turned an infinite operand into a finite number or NaN.
      if (wanted_ && (!kernels.finite(acc) || special_operand(a, b))) suspicion |= kNotFinite;
      ++a;
      b += kernels.nr;
    }
  }
  return suspicion;
}

void ProductRun::finish(const ProductTile& tile, const TileState& state, size_t row0, size_t col0,
                        FpStatus* status) const {
  const size_t count = padded_tile(kernels), nr = kernels.nr;
  const float* const values = plan.rules.independent ? state.total : state.acc;
  uint8_t suspicion = *state.suspicion & static_cast<uint8_t>(~kAnyPartial);
  if (wanted_ && !kernels.finite(values)) suspicion |= kNotFinite;
  if (plan.rules.output.storage_bits() > 16) {
    kernels.store_wide(plan, tile, nr, values, static_cast<uint32_t*>(problem.out));
  } else {
    alignas(64) uint16_t codes[kMostTile];
    alignas(64) uint32_t words[kMostTile];
    const bool fast = plan.carries_result && !environment.table[1].words;
    if (!fast || !kernels.result(plan, environment, tile, values, codes)) {
      if (plan.result.stochastic) {
        std::memset(words, 0, sizeof words);
        kernels.words(plan, environment, 1, 0, tile, kernels.nr, words);
      }
      const uint8_t wanted = plan.rounds_result ? wanted_ : 0;
      const Slice slice{{values, nullptr, nullptr}, codes, words, 0, count, false};
      suspicion = static_cast<uint8_t>(
          suspicion | (round_result_(plan.result, kNoRandom, Element::kF32, Element::kU16, slice, wanted) & wanted));
    }
    for (size_t i = 0; i < tile.rows; ++i)
      std::memcpy(static_cast<uint16_t*>(problem.out) + tile.output[i], codes + i * nr, 2 * tile.columns);
  }
  if (wanted_ && suspicion) search(tile, suspicion, values, row0, col0, *status);
}

/// Finds the lowest output that raises each flag that the tile may have raised:
/// flags that its roundings reported, and those that numbers that are not finite may hide. The status holds what this
/// thread has found before, so that in a matrix full of such numbers only the first tiles cost time.
void ProductRun::search(const ProductTile& tile, uint8_t suspicion, const float* values, size_t row0, size_t col0,
                        FpStatus& status) const {
  const size_t k = problem.schedule->k, stride = kernels.nr;
  const auto open = [&](uint64_t index) {
    return static_cast<uint8_t>((index < status.first_index[4] ? kInvalid : 0) |
                                (index < status.first_index[2] ? kOverflow : 0));
  };
  uint64_t lowest = ~uint64_t{0};
  for (size_t i = 0; i < tile.rows; ++i) lowest = std::min(lowest, tile.output[i]);
  const uint8_t told = suspicion & wanted_;
  uint8_t hidden = suspicion & kNotFinite ? open(lowest) : uint8_t{0};
  if (!plan.chain_can_overflow && !problem.start) hidden &= kInvalid;
  if (hidden & ~told) hidden = hidden & hidden_flags();
  // In a chain of floats an infinity or NaN stays in the result, and only a NaN can hide an invalid step.
  const bool shows = told == 0 && plan.rules.partials == kernel::PartialsType::kFloat && !plan.rules.round_partials;
  std::vector<float> a, b;
  for (size_t i = 0; i < tile.rows; ++i) {
    bool row_is_there = false;
    for (size_t j = 0; j < tile.columns; ++j) {
      const uint64_t output = tile.output[i] + j;
      uint8_t sought = open(output) & (told | hidden);
      if (shows) {
        const uint32_t magnitude = __builtin_bit_cast(uint32_t, values[i * stride + j]) & 0x7FFFFFFFu;
        if (magnitude < 0x7F800000u) sought = 0;
        if (magnitude == 0x7F800000u) sought &= kOverflow;
      }
      if (!sought) continue;
      if (b.empty()) {
        a.resize(k), b.resize(k * stride);
        problem.operands->b_rows(0, k, col0, tile.columns, b.data(), stride);
      }
      if (!row_is_there) problem.operands->a_rows(row0 + i, 1, 0, k, a.data(), k);
      row_is_there = true;
      const Rounded r = reference(a.data(), b.data() + j, stride, row0 + i, col0 + j, output);
      status.raise(r.flags & sought, output);
    }
  }
}

/// Flags that infinities and NaNs may hide at all, judged by the operands.
uint8_t ProductRun::hidden_flags() const {
  int known = hidden_flags_.load();
  if (known >= 0) return static_cast<uint8_t>(known);
  float greatest[2] = {}, greatest_start = 0;
  bool infinite = false, loud = false, nan = false;
  std::vector<float> buffer;
  const auto look = [&](size_t count, float& most) {
    for (size_t i = 0; i < count; ++i) {
      const uint32_t u = __builtin_bit_cast(uint32_t, buffer[i]), magnitude = u & 0x7FFFFFFFu;
      if (magnitude < 0x7F800000u)
        most = std::max(most, __builtin_bit_cast(float, magnitude));
      else if (magnitude == 0x7F800000u)
        infinite = true;
      else
        nan = true, loud = loud || kFp32.is_signaling_nan(u);
    }
  };
  const size_t rows = problem.rows, columns = problem.columns;
  for (const Chunk& chunk : cut.chunks) {
    const size_t length = chunk.k1 - chunk.k0, step = 64;
    buffer.resize(length * step);
    for (size_t i = 0; i < rows; i += step) {
      const size_t count = std::min(step, rows - i);
      problem.operands->a_rows(i, count, chunk.k0, chunk.k1, buffer.data(), length);
      look(count * length, greatest[0]);
    }
    for (size_t j = 0; j < columns; j += step) {
      const size_t count = std::min(step, columns - j);
      problem.operands->b_rows(chunk.k0, chunk.k1, j, count, buffer.data(), count);
      look(count * length, greatest[1]);
    }
  }
  if (problem.start) {
    buffer.resize(columns);
    for (size_t i = 0; i < (problem.start_row == 0 ? 1 : rows); ++i) {
      for (size_t j = 0; j < columns; ++j) buffer[j] = __builtin_bit_cast(float, widened_start(plan, problem, i, j));
      look(columns, greatest_start);
    }
  }
  // No sum of so many products, and no rounding on the way, comes near 2^128.
  const double bound =
      static_cast<double>(greatest[0]) * static_cast<double>(greatest[1]) * static_cast<double>(problem.schedule->k) +
      static_cast<double>(greatest_start);
  const bool overflows = !(bound < 0x1p126);
  const RoundingPolicy& n = plan.semantics.narrow;
  const bool halves = plan.rules.partials == kernel::PartialsType::kHalf || plan.rules.round_partials;
  const bool makes_infinities = overflows || (halves && n.overflow == Overflow::kInfinity);
  nan = nan || (halves && n.overflow == Overflow::kNan);
  const bool invalid = loud || infinite || makes_infinities || (nan && plan.semantics.quiet_nan_is_invalid);
  known = (invalid ? kInvalid : 0) | (overflows ? kOverflow : 0);
  hidden_flags_.store(known);
  return static_cast<uint8_t>(known);
}

Rounded ProductRun::reference(const float* a, const float* b, size_t b_stride, size_t row, size_t column,
                              uint64_t output) const {
  kernel::ProductChain chain(plan.rules, environment, output);
  if (problem.start) chain.start(widened_start(plan, problem, row, column));
  size_t k = 0;
  for (const ChainBlock& block : problem.schedule->blocks) {
    for (uint32_t t = 0; t < block.length; ++t, ++k)
      chain.step(__builtin_bit_cast(uint32_t, a[k]), __builtin_bit_cast(uint32_t, b[k * b_stride]), block.number);
    chain.end_block(block.number);
    if (block.closes_partial) chain.close_partial(block.number);
  }
  return chain.finish();
}

void ProductRun::scalar(size_t row0, size_t rows, size_t col0, size_t columns, FpStatus* status,
                        StopCheck* check) const {
  const size_t k = problem.schedule->k;
  std::vector<float> a(k), b(k * columns);
  problem.operands->b_rows(0, k, col0, columns, b.data(), columns);
  for (size_t i = 0; i < rows; ++i) {
    problem.operands->a_rows(row0 + i, 1, 0, k, a.data(), k);
    const uint64_t first = problem.operands->row_output(row0 + i);
    for (size_t j = 0; j < columns; ++j) {
      const Rounded r = reference(a.data(), b.data() + j, columns, row0 + i, col0 + j, first + col0 + j);
      if (plan.rules.output.storage_bits() > 16)
        static_cast<uint32_t*>(problem.out)[first + col0 + j] = static_cast<uint32_t>(r.code);
      else
        static_cast<uint16_t*>(problem.out)[first + col0 + j] = static_cast<uint16_t>(r.code);
      if (status) status->raise(r.flags & (kInvalid | kOverflow), first + col0 + j);
      if (check) check->after(k * StopCheck::kBody);
    }
  }
}

}  // namespace softamp::emu
