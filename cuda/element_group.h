// Eight consecutive elements per thread: one Philox block has random bits for them, and 16-bit ones take 16 bytes.
#pragma once

#include <type_traits>

#include "cuda/division.h"
#include "cuda/element_loop.h"
#include "cuda/primitives.h"
#include "softamp/engine/operand_map.h"

namespace softamp::cuda {

using engine::OperandMap;

// implements: N424
constexpr unsigned kGroup = 8;

/// Calls each(j) for j = 0 .. 7, unrolled, so that arrays of a group are registers.
template <class Each>
SOFTAMP_PRIMITIVE void for_group(const Each& each) {
  each(0), each(1), each(2), each(3), each(4), each(5), each(6), each(7);
}

/// Calls each(i) for i = 0 .. kCount - 1, unrolled.
template <unsigned kCount, class Each>
SOFTAMP_PRIMITIVE void for_each_of(const Each& each) {
  if constexpr (kCount > 0) {
    for_each_of<kCount - 1>(each);
    each(kCount - 1);
  }
}

namespace detail {
struct alignas(16) Quad {
  uint32_t word[4];
};
struct alignas(8) Pair {
  uint32_t word[2];
};
/// Whether groups of elements of `bytes` bytes at `data` are aligned for vector loads.
inline bool aligned_groups(const void* data, unsigned bytes) {
  return reinterpret_cast<uintptr_t>(data) % (bytes == 1 ? 8 : 16) == 0;
}
}  // namespace detail

/// Where an operand has the output's element `index`, and what follows: elements for `left` further ones of the output
/// lie `stride` apart.
struct OperandPlace {
  uint64_t place, stride, left;
};
namespace detail {
/// In 32 bits if possible: a third of the instructions.
SOFTAMP_PRIMITIVE uint64_t divide(uint64_t x, uint64_t y) {
  if ((x | y) >> 32 == 0) return static_cast<uint32_t>(x) / static_cast<uint32_t>(y);
  return x / y;
}
}  // namespace detail
SOFTAMP_HD inline OperandPlace place_of(const OperandMap& map, uint64_t index) {
  if (map.direct) return {index, 1, ~uint64_t{0}};
  OperandPlace p{0, 0, 0};
  const int last = map.map.rank - 1;
  for (int a = last; a >= 0; --a) {
    const kernel::AxisMap& axis = map.map.axis[a];
    const uint64_t extent = static_cast<uint64_t>(axis.extent), stride = static_cast<uint64_t>(axis.stride);
    const uint64_t quotient = a ? detail::divide(index, extent) : 0, at = index - quotient * extent;
    if (a == last) p.stride = stride, p.left = extent - at;
    p.place += at * stride;
    index = quotient;
  }
  return p;
}

/// An operand, read in groups of the output.
struct GroupOperand {
  const void* data = nullptr;
  unsigned bytes = 4;    ///< (1, 2, 4, 8) of an element
  bool vectors = false;  ///< a whole group lies together, in vectors
  bool one = false;      ///< a whole group is one element
  bool rows = false;     ///< of a broadcast operand that is either: it is read as rows of `columns` of the output,
  Division columns;      ///< each `pitch` elements behind the last
  uint64_t pitch = 0;
  OperandMap map;

  GroupOperand() = default;
  GroupOperand(const void* operand, unsigned element_bytes, const OperandMap& places)
      : data(operand), bytes(element_bytes), map(places) {
    const bool aligned = detail::aligned_groups(operand, element_bytes);
    const kernel::AxisMap* const axis = places.map.axis;
    const int rank = places.map.rank;
    if (places.direct) {
      vectors = aligned;
    } else if (rank == 1) {
      one = rows = axis[0].stride == 0;
    } else if (rank == 2 && axis[1].extent > 0 && axis[1].extent % kGroup == 0) {
      // A row or a column that is repeated: no group crosses a row's end.
      one = axis[1].stride == 0;
      vectors = axis[1].stride == 1 && aligned && axis[0].stride % kGroup == 0;
      rows = (one || vectors) && axis[0].extent * axis[1].extent <= int64_t{1} << 32;
      one = one && rows, vectors = vectors && rows;
      columns = Division(static_cast<uint64_t>(axis[1].extent));
      pitch = static_cast<uint64_t>(axis[0].stride);
    }
  }
  /// Whether all whole groups can be read at once.
  bool at_once() const { return vectors || one; }
  /// Where the group of the output's element `first` begins, if it can be read at once.
  SOFTAMP_PRIMITIVE uint64_t place(uint64_t first) const {
    if (!rows) return first;
    uint32_t row = static_cast<uint32_t>(first);
    const uint32_t column = columns.split(row);
    return row * pitch + (one ? 0 : column);
  }
};

/// Iterates over the operand's elements for consecutive output elements.
class GroupWalk {
 public:
  SOFTAMP_HD GroupWalk(const OperandMap& map, uint64_t first) : map_(map), index_(first), at_(place_of(map, first)) {}
  SOFTAMP_PRIMITIVE uint64_t next() {
    if (at_.left == 0) at_ = place_of(map_, index_);
    const uint64_t place = at_.place;
    at_.place += at_.stride;
    --at_.left;
    ++index_;
    return place;
  }

 private:
  const OperandMap& map_;
  uint64_t index_;
  OperandPlace at_;
};

namespace detail {
/// One by one: broadcast or short groups. Out of line, so that it is compiled once.
SOFTAMP_HD __attribute__((noinline)) inline void load_singly(const GroupOperand& operand, uint64_t first,
                                                             unsigned count, uint32_t* code) {
  GroupWalk walk(operand.map, first);
  for (unsigned j = 0; j < count; ++j)
    code[j] = static_cast<uint32_t>(load_element(operand.data, operand.bytes, walk.next()));
}
SOFTAMP_HD __attribute__((noinline)) inline void store_singly(void* array, unsigned bytes, uint64_t first,
                                                              unsigned count, const uint32_t* code) {
  for (unsigned j = 0; j < count; ++j) store_element(array, bytes, first + j, code[j]);
}
}  // namespace detail

/// The codes (of at most 32 bits) of elements first .. first + count - 1, count = 1 .. 8; 0 beyond them.
SOFTAMP_PRIMITIVE void load_group(const GroupOperand& operand, uint64_t first, unsigned count,
                                  uint32_t (&code)[kGroup]) {
  using detail::Pair, detail::Quad;
  if (operand.vectors && count == kGroup) {
    const auto* const from = static_cast<const unsigned char*>(operand.data) + operand.place(first) * operand.bytes;
    if (operand.bytes == 2) {
      const Quad all = *reinterpret_cast<const Quad*>(from);
      for_group([&](unsigned j) { code[j] = j & 1 ? all.word[j / 2] >> 16 : all.word[j / 2] & 0xFFFFu; });
    } else if (operand.bytes == 4) {
      const Quad low = reinterpret_cast<const Quad*>(from)[0], high = reinterpret_cast<const Quad*>(from)[1];
      for_group([&](unsigned j) { code[j] = j < 4 ? low.word[j & 3] : high.word[j & 3]; });
    } else {
      const Pair all = *reinterpret_cast<const Pair*>(from);
      for_group([&](unsigned j) { code[j] = all.word[j / 4] >> (j & 3) * 8 & 0xFFu; });
    }
    return;
  }
  if (operand.one) {
    const uint32_t one = static_cast<uint32_t>(load_element(operand.data, operand.bytes, operand.place(first)));
    for_group([&](unsigned j) { code[j] = j < count ? one : 0; });
    return;
  }
  uint32_t loaded[kGroup] = {};  // the array with an address, so that `code` needs none
  detail::load_singly(operand, first, count, loaded);
  for_group([&](unsigned j) { code[j] = loaded[j]; });
}

/// Stores a whole group of codes of `bytes` (1, 2, 4) bytes, in vectors.
SOFTAMP_PRIMITIVE void store_whole(void* array, unsigned bytes, uint64_t first, const uint32_t (&code)[kGroup]) {
  using detail::Pair, detail::Quad;
  auto* const to = static_cast<unsigned char*>(array) + first * bytes;
  const auto halves = [&](unsigned k) { return code[2 * k] | code[2 * k + 1] << 16; };
  const auto truths = [&](unsigned k) { return code[k] | code[k + 1] << 8 | code[k + 2] << 16 | code[k + 3] << 24; };
  if (bytes == 2) {
    *reinterpret_cast<Quad*>(to) = {halves(0), halves(1), halves(2), halves(3)};
  } else if (bytes == 4) {
    reinterpret_cast<Quad*>(to)[0] = {code[0], code[1], code[2], code[3]};
    reinterpret_cast<Quad*>(to)[1] = {code[4], code[5], code[6], code[7]};
  } else {
    *reinterpret_cast<Pair*>(to) = {truths(0), truths(4)};
  }
}

/// The same of a group that need not be whole; `vectors`: the array is aligned.
SOFTAMP_PRIMITIVE void store_group(void* array, unsigned bytes, bool vectors, uint64_t first, unsigned count,
                                   const uint32_t (&code)[kGroup]) {
  if (vectors && count == kGroup) return store_whole(array, bytes, first, code);
  uint32_t stored[kGroup];
  for_group([&](unsigned j) { stored[j] = code[j]; });
  detail::store_singly(array, bytes, first, count, stored);
}

/// The codes of a whole group of elements of kBytes (2, 4) bytes, as they lie in memory.
template <unsigned kBytes>
struct GroupCodes {
  detail::Quad quad[kBytes / 2];

  /// The code of element j, which is known when this is compiled.
  SOFTAMP_PRIMITIVE uint32_t operator[](unsigned j) const {
    if constexpr (kBytes == 4) return quad[j / 4].word[j & 3];
    const uint32_t two = quad[0].word[j / 2];
    return j & 1 ? two >> 16 : two & 0xFFFFu;
  }
  /// From an array; `first`: of the group, in the array.
  SOFTAMP_PRIMITIVE void load(const void* array, uint64_t first) {
    const auto* const from =
        reinterpret_cast<const detail::Quad*>(static_cast<const unsigned char*>(array) + first * kBytes);
    for_each_of<kBytes / 2>([&](unsigned k) { quad[k] = from[k]; });
  }
  /// From an operand that can be read at once; `first`: of the output.
  SOFTAMP_PRIMITIVE void load(const GroupOperand& operand, uint64_t first) {
    const uint64_t place = operand.place(first);
    if (!operand.one) return load(operand.data, place);
    const uint32_t code = kBytes == 4 ? static_cast<const uint32_t*>(operand.data)[place]
                                      : static_cast<const uint16_t*>(operand.data)[place] * 0x10001u;
    for_each_of<kBytes / 2>([&](unsigned k) { quad[k] = {code, code, code, code}; });
  }
};

/// Calls group(first, count) for this thread's groups of `size` elements.
template <class Block, class Group>
SOFTAMP_PRIMITIVE void each_group(const Block& block, unsigned t, uint64_t size, const Group& group) {
  const uint64_t stride = uint64_t{block.blocks()} * block.threads() * kGroup;
  for (uint64_t first = (uint64_t{block.index()} * block.threads() + t) * kGroup; first < size; first += stride) {
    const uint64_t left = size - first;
    group(first, left < kGroup ? static_cast<unsigned>(left) : kGroup);
  }
}
/// The groups of one thread in a loop of the kind below: at most so many.
constexpr unsigned kMostTurns = 32;
inline Grid at_once_grid(const Device& device, uint64_t size, unsigned threads) {
  const uint64_t groups = (size + kGroup - 1) / kGroup, turns = uint64_t{threads} * kMostTurns;
  Grid grid = loop_grid(device, groups, threads);
  grid.blocks = std::max(grid.blocks, static_cast<unsigned>((groups + turns - 1) / turns));
  return grid;
}

/// The same for kernels that know a fast way for whole groups in whole vectors, on an at_once_grid: a thread loads
/// kAtOnce of its groups before it works on the first of them, and leaves for the end what is done element by element.
/// So the slow way, whose calls would cost the fast one registers, is outside of its loop.
///   load(first, codes)          Codes of a whole group
///   bool work(first, codes)     writes them; or, with nothing written, true: an element is rare
///   slow(first)                 any group, of which elements from `size` on do not exist
/// `vectors`: arrays are aligned; else all groups go the slow way. Groups may be written where they were read.
template <class Codes, unsigned kAtOnce, class Block, class Load, class Work, class Slow>
SOFTAMP_PRIMITIVE void each_group_at_once(const Block& block, unsigned t, uint64_t size, bool vectors, const Load& load,
                                          const Work& work, const Slow& slow) {
  static_assert(kMostTurns == 32 && kMostTurns % kAtOnce == 0);
  const uint64_t stride = uint64_t{block.blocks()} * block.threads() * kGroup;
  const uint64_t begin = (uint64_t{block.index()} * block.threads() + t) * kGroup;
  uint32_t left = 0;  // bit k: group k is for the slow way
  uint64_t first = begin;
  unsigned k = 0;
  while (vectors && first + kGroup <= size) {
    Codes codes[kAtOnce] = {};
    for_each_of<kAtOnce>([&](unsigned i) {
      if (i == 0 || first + i * stride + kGroup <= size) load(first + i * stride, codes[i]);
    });
    // Not unrolled: a group's work is long, and is compiled once. All have come when the first has.
    const unsigned end = k + kAtOnce;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (; k < end && first + kGroup <= size; ++k, first += stride) {
      left |= static_cast<uint32_t>(work(first, codes[0])) << k;
      for_each_of<kAtOnce - 1>([&](unsigned i) { codes[i] = codes[i + 1]; });
    }
  }
  for (; first < size; ++k, first += stride) left |= 1u << k;
  for (first = begin; left; left >>= 1, first += stride)
    if (left & 1) slow(first);
}

/// What a launch over groups is told of its call.
struct GroupRun {
  uint64_t size;
  StepEnvironment environment;
  DeviceStatus* status;

  /// The step, read where random numbers are drawn; else 0. The environment stays where it is.
  SOFTAMP_PRIMITIVE uint32_t step_if(bool draws) const { return draws ? *environment.step : 0; }

  /// visit(i, code of a, code of b) for the elements of a group one by one, as many as there are; codes of kBytes
  /// bytes.
  template <unsigned kBytes, class Visit>
  SOFTAMP_HD void each_pair(const GroupOperand& a, const GroupOperand& b, uint64_t first, const Visit& visit) const {
    const uint64_t end = size - first < kGroup ? size : first + kGroup;
    GroupWalk walk_a(a.map, first), walk_b(b.map, first);
    for (uint64_t i = first; i < end; ++i) {
      const uint64_t code_a = load_element(a.data, kBytes, walk_a.next());
      visit(i, code_a, load_element(b.data, kBytes, walk_b.next()));
    }
  }
};

inline Grid group_grid(const Device& device, uint64_t size) { return loop_grid(device, (size + kGroup - 1) / kGroup); }

/// Elements by their body:
///   static constexpr int kOperands                                             0 .. 3
///   Rounded operator()(const uint64_t* codes, const kernel::Environment&, uint32_t random, uint64_t index) const
///   on codes of any width. `random` is the word of Environment::draw at `site` if `draws`; bits above the policy's may
///   be anything.
template <class Body>
struct ElementBodies {
  Body body;
  GroupOperand in[Body::kOperands ? Body::kOperands : 1];
  void* out;
  unsigned out_bytes;
  bool draws;
  int random_bits;
  uint32_t site;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const kernel::Environment e = run.environment.now();
      FpStatus seen;
      each_group(block, t, run.size, [&](uint64_t first, unsigned count) {
        RandomWords words{};
        if (draws) words = random_words(e, site, first, random_bits, count);
        uint64_t codes[3] = {};
        GroupWalk a(in[0].map, first), b(in[Body::kOperands > 1].map, first),
            c(in[2 * (Body::kOperands > 2)].map, first);
        for (unsigned j = 0; j < count; ++j) {
          if (Body::kOperands > 0) codes[0] = load_element(in[0].data, in[0].bytes, a.next());
          if (Body::kOperands > 1) codes[1] = load_element(in[1].data, in[1].bytes, b.next());
          if (Body::kOperands > 2) codes[2] = load_element(in[2].data, in[2].bytes, c.next());
          const Rounded r = body(codes, e, words.word[j], first + j);
          store_element(out, out_bytes, first + j, r.code);
          if (r.flags) seen.raise(r.flags, first + j);
        }
      });
      merge_status(run.status, seen);
    });
  }
};

}  // namespace softamp::cuda
