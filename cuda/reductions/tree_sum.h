// Sums in the order of N140 (kernel/reductions.h), by many threads: the prescribed order is itself a tree.
//
// First launch: 32 threads, the lanes, for a block of 1024 elements of an output; they meet in shared memory. If an
// output has only one block, this is all. Otherwise the sums of blocks go to scratch memory, and further launches join
// up to 256 of them each, level by level: 256 neighbours from a multiple of 256 on are a subtree. The last launch
// finishes outputs.
//
// `Source` gives the summands:
//   using Value                                            trivially copyable; what partial sums are
//   auto at(uint64_t output) const                         a cursor, made once a thread:
//     Value term(uint64_t k, uint32_t& flags)                  element k of the output
//   Value add(Value a, Value b, uint64_t p, uint64_t output, uint32_t& flags) const      the `+` of address p
//   Value empty() const                                    the sum of nothing
//   `Finish` stores the sum: void operator()(uint64_t output, Value, uint32_t flags) const. Flags are OR-ed;
//   their meaning is up to Source and Finish.
#pragma once

#include <algorithm>

#include "cuda/op_kernel.h"
#include "softamp/kernel/reductions.h"

namespace softamp::cuda {

constexpr uint64_t kTreeBlock = 1024;
constexpr unsigned kTreeLanes = 32, kTreeJoin = 256;

/// a + b, its flags into `flags`: the `+` of sums in fp32 and binary64.
template <class Value>
SOFTAMP_HD inline Value add_telling(Value a, Value b, uint32_t& flags) {
  kernel::Steps steps;
  const Value sum = steps.add(a, b);
  flags |= steps.flags;
  return sum;
}

/// Which sums: `neighbours`: outputs o and o + 1 lie nearer in memory than elements k and k + 1.
struct TreeShape {
  uint64_t outputs = 0, count = 0;
  bool neighbours = false;

  uint64_t blocks() const { return count <= kTreeBlock ? 1 : (count + kTreeBlock - 1) / kTreeBlock; }
};

/// Partial sums of all outputs, `blocks` to each, one after the other.
template <class Value>
struct TreePartials {
  Value* values = nullptr;
  uint32_t* flags = nullptr;
};

namespace detail {

SOFTAMP_HD inline unsigned least_power(uint64_t n, unsigned most) {
  unsigned p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}

}  // namespace detail

/// The first launch.
template <class Source, class Finish>
struct TreeBlocks {
  static constexpr unsigned kMostThreads = 512, kLeastBlocks = 2;
  using Value = typename Source::Value;

  Source source;
  Finish finish;
  uint64_t outputs, count, blocks;
  unsigned lanes, width;  ///< threads to a sum (a power of two, fewer than 32 for fewer elements); sums at a time
  bool neighbours;
  TreePartials<Value> to;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    Value* const values = block.template shared<Value>(lanes * width);
    uint32_t* const flags = block.template shared<uint32_t>(lanes * width);
    block.each([&](unsigned t) {
      const Place p = place(block.index(), t);
      if (p.output >= outputs || p.lane >= p.present) return;
      const auto cursor = source.at(p.output);
      uint32_t seen = 0;
      Value sum = cursor.term(p.first + p.lane, seen);
      for (uint64_t k = p.first + p.lane + kTreeLanes; k < p.end; k += kTreeLanes)
        sum = source.add(sum, cursor.term(k, seen), k, p.output, seen);
      values[t] = sum;
      flags[t] = seen;
    });
    for (unsigned stride = lanes / 2; stride > 0; stride /= 2)
      block.each([&](unsigned t) {
        const Place p = place(block.index(), t);
        if (p.output >= outputs || p.lane >= stride || p.lane + stride >= p.present) return;
        const unsigned right = t + stride * (neighbours ? width : 1);
        uint32_t seen = flags[t] | flags[right];
        values[t] = source.add(values[t], values[right], p.first + p.lane + stride, p.output, seen);
        flags[t] = seen;
      });
    block.each([&](unsigned t) {
      const Place p = place(block.index(), t);
      if (p.output >= outputs || p.lane != 0) return;
      const Value sum = p.present ? values[t] : source.empty();
      const uint32_t seen = p.present ? flags[t] : 0;
      if (blocks == 1) {
        finish(p.output, sum, seen);
        return;
      }
      const uint64_t i = p.output * blocks + p.first / kTreeBlock;
      to.values[i] = sum;
      to.flags[i] = seen;
    });
  }

 private:
  struct Place {
    uint64_t output, first, end;  ///< elements first .. end - 1
    unsigned lane, present;       ///< lanes 0 .. present - 1 have elements
  };
  SOFTAMP_HD Place place(unsigned index, unsigned t) const {
    const uint64_t sum = uint64_t{index} * width + (neighbours ? t % width : t / lanes);
    Place p;
    p.lane = neighbours ? t / width : t % lanes;
    p.output = blocks == 1 ? sum : neighbours ? sum % outputs : sum / blocks;
    const uint64_t b = blocks == 1 ? 0 : neighbours ? sum / outputs : sum % blocks;
    if (b >= blocks) p.output = outputs;  // more threads than sums
    p.first = b * kTreeBlock;
    p.end = p.first + kTreeBlock < count ? p.first + kTreeBlock : count;
    p.present = p.end - p.first < lanes ? static_cast<unsigned>(p.end - p.first) : lanes;
    return p;
  }
};

/// A further launch: `count` partial sums of an output, each of `span` blocks, become chunks' sums.
template <class Source, class Finish>
struct TreeJoin {
  using Value = typename Source::Value;

  Source source;
  Finish finish;
  uint64_t outputs, count, chunks, span;
  unsigned lanes, width;  ///< threads to a chunk, a power of two; chunks at a time
  TreePartials<Value> from, to;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    Value* const values = block.template shared<Value>(lanes * width);
    uint32_t* const flags = block.template shared<uint32_t>(lanes * width);
    block.each([&](unsigned t) {
      const Place p = place(block.index(), t);
      if (p.output >= outputs || p.lane >= p.present) return;
      const uint64_t i = p.output * count + p.first + p.lane;
      values[t] = from.values[i];
      flags[t] = from.flags[i];
    });
    for (unsigned stride = 1; stride < lanes; stride *= 2)
      block.each([&](unsigned t) {
        const Place p = place(block.index(), t);
        if (p.output >= outputs || p.lane % (2 * stride) != 0 || p.lane + stride >= p.present) return;
        uint32_t seen = flags[t] | flags[t + stride];
        values[t] =
            source.add(values[t], values[t + stride], (p.first + p.lane + stride) * span * kTreeBlock, p.output, seen);
        flags[t] = seen;
      });
    block.each([&](unsigned t) {
      const Place p = place(block.index(), t);
      if (p.output >= outputs || p.lane != 0) return;
      if (chunks == 1) {
        finish(p.output, values[t], flags[t]);
        return;
      }
      const uint64_t i = p.output * chunks + p.first / kTreeJoin;
      to.values[i] = values[t];
      to.flags[i] = flags[t];
    });
  }

 private:
  struct Place {
    uint64_t output, first;
    unsigned lane, present;
  };
  SOFTAMP_HD Place place(unsigned index, unsigned t) const {
    const uint64_t chunk = uint64_t{index} * width + t / lanes;
    Place p;
    p.lane = t % lanes;
    p.output = chunk / chunks;
    p.first = chunk % chunks * kTreeJoin;
    p.present = count - p.first < lanes ? static_cast<unsigned>(count - p.first) : lanes;
    return p;
  }
};

namespace detail {

/// Two sets of partials in scratch memory.
template <class Value>
struct TreeScratch {
  TreePartials<Value> first, second;
  size_t bytes = 0;

  TreeScratch(const TreeShape& shape, void* scratch) {
    const uint64_t blocks = shape.blocks();
    if (blocks == 1) return;
    const uint64_t n = shape.outputs * blocks, m = shape.outputs * ((blocks + kTreeJoin - 1) / kTreeJoin);
    first.values = place<Value>(scratch, n);
    second.values = place<Value>(scratch, m);
    first.flags = place<uint32_t>(scratch, n);
    second.flags = place<uint32_t>(scratch, m);
  }

 private:
  template <class T>
  T* place(void* scratch, uint64_t n) {
    T* const at = reinterpret_cast<T*>(static_cast<char*>(scratch) + bytes);
    bytes += (n * sizeof(T) + 255) / 256 * 256;
    return at;
  }
};

}  // namespace detail

/// Bytes of scratch memory, a multiple of 256, that sums of `Value` take.
template <class Value>
size_t tree_scratch_bytes(const TreeShape& shape) {
  return detail::TreeScratch<Value>(shape, nullptr).bytes;
}

/// Puts all sums of `shape` into the queue. `scratch`: tree_scratch_bytes, aligned to 256.
template <class Source, class Finish>
void launch_tree_sum(const DeviceCall& call, const char* name, const TreeShape& shape, void* scratch,
                     const Source& source, const Finish& finish) {
  using Value = typename Source::Value;
  if (shape.outputs == 0) return;
  const detail::TreeScratch<Value> memory(shape, scratch);
  const auto launch = [&](auto kernel, uint64_t sums, unsigned threads) {
    kernel.width = std::min(threads / kernel.lanes, detail::least_power(sums, threads));
    const unsigned all = kernel.lanes * kernel.width;
    const Grid grid{static_cast<unsigned>((sums + kernel.width - 1) / kernel.width), all,
                    shared_of<Value>(all) + shared_of<uint32_t>(all)};
    call.device.launch(name, grid, kernel);
  };
  uint64_t left = shape.blocks();
  // 512 threads: memory delivers 16 neighbours of 16 bits at a time.
  launch(TreeBlocks<Source, Finish>{source, finish, shape.outputs, shape.count, left,
                                    detail::least_power(shape.count, kTreeLanes), 1, shape.neighbours, memory.first},
         shape.outputs * left, shape.neighbours ? TreeBlocks<Source, Finish>::kMostThreads : 256);
  TreePartials<Value> from = memory.first, to = memory.second;
  for (uint64_t span = 1; left > 1; span *= kTreeJoin) {
    const uint64_t chunks = (left + kTreeJoin - 1) / kTreeJoin;
    launch(TreeJoin<Source, Finish>{source, finish, shape.outputs, left, chunks, span,
                                    detail::least_power(left, kTreeJoin), 1, from, to},
           shape.outputs * chunks, kTreeJoin);
    std::swap(from, to);
    left = chunks;
  }
}

}  // namespace softamp::cuda
