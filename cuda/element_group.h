// Eight consecutive elements per thread: one Philox block has random bits for them, and 16-bit ones take 16 bytes.
#pragma once

#include <type_traits>

#include "cuda/element_loop.h"
#include "cuda/primitives.h"
#include "softamp/engine/operand_map.h"

namespace softamp::cuda {

using engine::OperandMap;

constexpr unsigned kGroup = 8;

/// Calls each(j) for j = 0 .. 7, unrolled, so that arrays of a group are registers.
template <class Each>
SOFTAMP_PRIMITIVE void for_group(const Each& each) {
  each(0), each(1), each(2), each(3), each(4), each(5), each(6), each(7);
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

/// An operand, read in groups of the output.
struct GroupOperand {
  const void* data = nullptr;
  unsigned bytes = 4;    ///< (1, 2, 4, 8) of an element
  bool vectors = false;  ///< whole groups can be read at once
  bool scalar = false;   ///< one element for all
  OperandMap map;

  GroupOperand() = default;
  GroupOperand(const void* operand, unsigned element_bytes, const OperandMap& places)
      : data(operand),
        bytes(element_bytes),
        vectors(places.direct && detail::aligned_groups(operand, element_bytes)),
        scalar(!places.direct && places.map.rank == 1 && places.map.axis[0].stride == 0),
        map(places) {}
};

/// Iterates over the operand's elements for consecutive output elements.
class GroupWalk {
 public:
  SOFTAMP_HD GroupWalk(const OperandMap& map, uint64_t first) : map_(map), index_(first) { seek(); }
  SOFTAMP_PRIMITIVE uint64_t next() {
    if (left_ == 0) seek();
    const uint64_t place = place_;
    place_ += stride_;
    --left_;
    ++index_;
    return place;
  }

 private:
  SOFTAMP_HD void seek() {
    if (map_.direct) {
      place_ = index_, stride_ = 1, left_ = ~uint64_t{0};
      return;
    }
    place_ = 0;
    uint64_t rest = index_;
    for (int a = map_.map.rank; a-- > 0;) {
      const kernel::AxisMap& axis = map_.map.axis[a];
      const uint64_t extent = static_cast<uint64_t>(axis.extent), stride = static_cast<uint64_t>(axis.stride);
      const uint64_t quotient = divide(rest, extent), at = rest - quotient * extent;
      if (a == map_.map.rank - 1) stride_ = stride, left_ = extent - at;
      place_ += at * stride;
      rest = quotient;
    }
  }
  /// In 32 bits if possible: a third of the instructions.
  static SOFTAMP_PRIMITIVE uint64_t divide(uint64_t x, uint64_t y) {
    if ((x | y) >> 32 == 0) return static_cast<uint32_t>(x) / static_cast<uint32_t>(y);
    return x / y;
  }

  const OperandMap& map_;
  uint64_t index_, place_ = 0, stride_ = 0, left_ = 0;
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
    const auto* const from = static_cast<const unsigned char*>(operand.data) + first * operand.bytes;
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
  if (operand.scalar) {
    const uint32_t one = static_cast<uint32_t>(load_element(operand.data, operand.bytes, 0));
    for_group([&](unsigned j) { code[j] = j < count ? one : 0; });
    return;
  }
  uint32_t loaded[kGroup] = {};  // the array with an address, so that `code` needs none
  detail::load_singly(operand, first, count, loaded);
  for_group([&](unsigned j) { code[j] = loaded[j]; });
}

/// Stores codes of `bytes` (1, 2, 4) bytes; `vectors`: the array is aligned, so that whole groups can be written at
/// once.
SOFTAMP_PRIMITIVE void store_group(void* array, unsigned bytes, bool vectors, uint64_t first, unsigned count,
                                   const uint32_t (&code)[kGroup]) {
  using detail::Pair, detail::Quad;
  if (vectors && count == kGroup) {
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
    return;
  }
  uint32_t stored[kGroup];
  for_group([&](unsigned j) { stored[j] = code[j]; });
  detail::store_singly(array, bytes, first, count, stored);
}

/// Calls group(first, count) for this thread's groups of `size` elements.
template <class Block, class Group>
SOFTAMP_PRIMITIVE void each_group(const Block& block, unsigned t, uint64_t size, const Group& group) {
  const uint64_t stride = uint64_t{block.blocks()} * block.threads() * kGroup;
  for (uint64_t first = (uint64_t{block.index()} * block.threads() + t) * kGroup; first < size; first += stride) {
    const uint64_t left = size - first;
    group(first, left < kGroup ? static_cast<unsigned>(left) : kGroup);
  }
}
/// Calls each(i) for i = 0 .. kCount - 1, unrolled.
template <unsigned kCount, class Each>
SOFTAMP_PRIMITIVE void for_each_of(const Each& each) {
  if constexpr (kCount > 0) {
    for_each_of<kCount - 1>(each);
    each(kCount - 1);
  }
}

/// The same for kernels that know a fast way for whole groups in whole vectors: a thread loads kAtOnce of its groups
/// before it works on the first of them, and leaves for the end of 32 what is done element by element. So the slow way,
/// whose calls would cost the fast one registers, is outside of its loop.
///   load(first, codes)          Codes of a whole group
///   bool work(first, codes)     writes them; or, with nothing written, true: an element is rare
///   slow(first)                 any group, of which elements from `size` on do not exist
/// `vectors`: arrays are aligned; else all groups go the slow way. Groups may be written where they were read.
template <class Codes, unsigned kAtOnce, class Block, class Load, class Work, class Slow>
SOFTAMP_PRIMITIVE void each_group_at_once(const Block& block, unsigned t, uint64_t size, bool vectors, const Load& load,
                                          const Work& work, const Slow& slow) {
  constexpr unsigned kTurns = 32;
  static_assert(kTurns % kAtOnce == 0);
  const uint64_t stride = uint64_t{block.blocks()} * block.threads() * kGroup;
  for (uint64_t begin = (uint64_t{block.index()} * block.threads() + t) * kGroup; begin < size;
       begin += kTurns * stride) {
    uint32_t left = 0;  // bit k: group k is for the slow way
    uint64_t first = begin;
    unsigned k = 0;
    const auto some = [&](auto count) {
      constexpr unsigned kCount = decltype(count)::value;
      for (; vectors && k < kTurns && first + (kCount - 1) * stride + kGroup <= size;
           k += kCount, first += kCount * stride) {
        Codes codes[kCount];
        for_each_of<kCount>([&](unsigned i) { load(first + i * stride, codes[i]); });
        for_each_of<kCount>(
            [&](unsigned i) { left |= static_cast<uint32_t>(work(first + i * stride, codes[i])) << (k + i); });
      }
    };
    some(std::integral_constant<unsigned, kAtOnce>());
    if constexpr (kAtOnce > 1) some(std::integral_constant<unsigned, 1>());
    for (; k < kTurns && first < size; ++k, first += stride) left |= 1u << k;
    for (first = begin; left; left >>= 1, first += stride)
      if (left & 1) slow(first);
  }
}

/// What a launch over groups is told of its call.
struct GroupRun {
  uint64_t size;
  StepEnvironment environment;
  DeviceStatus* status;

  /// The step, read where random numbers are drawn; else 0. The environment stays where it is.
  SOFTAMP_PRIMITIVE uint32_t step_if(bool draws) const { return draws ? *environment.step : 0; }
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
