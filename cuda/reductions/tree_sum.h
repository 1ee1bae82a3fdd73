// Sums in the order of N140 (kernel/reductions.h), by many threads: the prescribed order is itself a tree.
//
// First launch: the 32 lanes of a block of 1024 elements of an output, eight of them to a thread, or, where outputs lie
// nearer in memory than an output's elements, a lane of eight outputs to a thread: so both read vectors. A thread folds
// its lanes in registers, with its next elements on their way; then lanes meet in shared memory. If an output has only
// one block, this is all. Otherwise the sums of blocks go to scratch memory, and further launches of the same kernel
// join up to 256 of them each, level by level: 256 neighbours from a multiple of 256 on are a subtree. The last launch
// finishes outputs.
//
// Flags are rare. The fast way looks for none: it notices what may raise some, and sums that are not finite, at its
// end, and leaves them to the slow way, which takes one element after another and puts flags into shared memory.
//
// `Source` gives the summands:
//   using Value                       trivially copyable; what partial sums are
//   static constexpr unsigned kLeastBlocks      of 128 threads that a multiprocessor shall have registers for
//   uint64_t base(uint64_t output) const        where the output's elements lie
//   using Codes                       eight elements, taken from the first on
//   void load(const Eight&, uint64_t k, Codes&) const                          those of a step that begins at element k
//   auto at(uint64_t output) const    what the terms of an output share
//   Value term(at, Codes&, uint64_t output, uint64_t k, uint32_t& flags) const     the next of the codes: element k
//   Value add(Value a, Value b, uint64_t p, uint64_t output, uint32_t& flags) const      the `+` of address p
//   Value empty() const               the sum of nothing
//   static constexpr unsigned kAhead  steps whose elements are on their way; 0: there is no fast way, else
//     using Ahead                     eight elements, read in vectors
//     void load_vectors(const Eight&, uint64_t k, Ahead&) const
//     Fast fast(const Eight&, uint64_t k) const         eight sums of nothing, before a first step at element k
//     void fold(Fast&, const Eight&, const Ahead&, uint64_t k) const
//     bool settled(const Fast&) const                   whether they are sums that raise no flags
//     Value sum(const Fast&, unsigned j) const
//   `Finish` stores the sum: void operator()(uint64_t output, Value, uint32_t flags) const. Flags are OR-ed;
//   their meaning is up to Source and Finish.
#pragma once

#include <algorithm>

#include "cuda/code_queue.h"
#include "cuda/op_kernel.h"
#include "softamp/kernel/reductions.h"

namespace softamp::cuda {

constexpr uint64_t kTreeBlock = 1024;
constexpr unsigned kTreeLanes = 32, kTreeJoin = 256, kTreeThreads = 128;

/// a + b, its flags into `flags`: the `+` of sums in fp32 and binary64.
template <class Value>
SOFTAMP_HD inline Value add_telling(Value a, Value b, uint32_t& flags) {
  kernel::Steps steps;
  const Value sum = steps.add(a, b);
  flags |= steps.flags;
  return sum;
}

/// The same of halves' codes, rounded at `index` of a site.
SOFTAMP_HD inline uint32_t half_add(uint32_t a, uint32_t b, const StepEnvironment& e, uint32_t site, uint64_t index,
                                    uint32_t& flags) {
  constexpr FloatFormat kHalf = FloatFormat::fp16();
  const Rounded r = fp::add(kHalf, a, b, e.environment.semantics, draw_word(e, kHalf, site, index));
  flags |= r.flags;
  return static_cast<uint32_t>(r.code);
}

/// What order_key gives of a number.
SOFTAMP_PRIMITIVE int32_t key_of_finite(float x) {
  const int32_t bits = static_cast<int32_t>(bits_of(x));
  return bits ^ (bits >> 31 & 0x7FFFFFFF);
}

/// In 32 bits if possible: a third of the instructions.
SOFTAMP_PRIMITIVE uint64_t quotient_of(uint64_t a, uint64_t b) {
  return (a | b) >> 32 == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

/// Which sums. `columns`: elements k of eight outputs from a multiple of eight on lie side by side, and nearer to each
/// other than elements k and k + 1.
struct TreeShape {
  uint64_t outputs = 0, count = 0;
  bool columns = false;

  uint64_t blocks() const { return count <= kTreeBlock ? 1 : (count + kTreeBlock - 1) / kTreeBlock; }
};

/// The elements of a step of one thread.
struct Eight {
  uint64_t output, base;  ///< of the first; what Source::base says of it
  bool columns;           ///< elements k of outputs `output` .. `output` + 7; else elements k .. k + 7 of `output`
  unsigned count;         ///< how many of them there are; the source sets the others to 0
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

/// Whether a Reader's elements can be read in vectors of eight that begin at multiples of eight and of `stride`.
inline bool fit_vectors(const Reader& r, uint64_t stride) {
  return aligned_groups(r.data, static_cast<unsigned>(size_of(r.type))) && stride % (r.is_wide() ? 4 : 8) == 0 &&
         r.usual;
}

}  // namespace detail

/// One launch: pieces of outputs, which are blocks of 1024 elements or chunks of up to 256 partial sums, become a sum
/// each. `sums` pieces at a time, of `lanes` each; both are powers of two, and a thread has eight of all these lanes.
template <class Source, class Finish>
struct TreeSum {
  static constexpr unsigned kMostThreads = kTreeThreads, kLeastBlocks = Source::kLeastBlocks;
  using Value = typename Source::Value;

  Source source;
  Finish finish;
  uint64_t outputs, count, pieces;         ///< count: elements or partial sums of an output
  uint64_t span;                           ///< blocks to a partial sum that is joined; 0: elements are summed
  unsigned lanes, levels, sums, sum_bits;  ///< levels, sum_bits: log2 of lanes and sums
  bool columns, vectors;
  TreePartials<Value> from, to;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    const Shared all{block.template shared<Value>(lanes * (sums + 1)),
                     block.template shared<uint32_t>(lanes * (sums + 1)), block.template shared<uint32_t>(sums)};
    block.each([&](unsigned t) {
      if (span)
        gather(all, block.index(), block.threads(), t);
      else
        fold(all, block.index(), t);
    });
    for (unsigned level = 0; level < levels; ++level) {
      const unsigned pairs = lanes >> (level + 1), stride = span ? 1u << level : pairs;
      block.each([&](unsigned t) {
        for (unsigned i = t; i < pairs * sums; i += block.threads()) {
          const unsigned sum = i & (sums - 1), lane = (i >> sum_bits) * (span ? 2 * stride : 1);
          if (lane + stride >= all.present[sum]) continue;
          const unsigned left = slot(lane, sum), right = slot(lane + stride, sum);
          const Place p = place(block.index(), sum);
          const uint64_t address =
              span ? (p.piece * kTreeJoin + lane + stride) * span * kTreeBlock : p.piece * kTreeBlock + lane + stride;
          uint32_t seen = all.flags[left] | all.flags[right];
          all.values[left] = source.add(all.values[left], all.values[right], address, p.output, seen);
          all.flags[left] = seen;
        }
      });
    }
    block.each([&](unsigned t) {
      for (unsigned sum = t; sum < sums; sum += block.threads()) {
        const Place p = place(block.index(), sum);
        if (p.output >= outputs) continue;
        const bool some = all.present[sum] != 0;
        const Value value = some ? all.values[sum] : source.empty();
        const uint32_t seen = some ? all.flags[sum] : 0;
        if (pieces == 1) {
          finish(p.output, value, seen);
        } else {
          to.values[p.output * pieces + p.piece] = value;
          to.flags[p.output * pieces + p.piece] = seen;
        }
      }
    });
  }

 private:
  struct Shared {
    Value* values;
    uint32_t *flags, *present;  ///< present: lanes of a sum that have elements, its first ones
  };
  struct Place {
    uint64_t output, piece;  ///< output: `outputs` and more for sums that do not exist
  };

  /// Where a lane of a sum is in shared memory: eight lanes, or a lane of eight sums, of each thread of a warp are in
  /// 32 banks.
  SOFTAMP_PRIMITIVE unsigned slot(unsigned lane, unsigned sum) const { return lane * (sums + 1) + sum; }

  SOFTAMP_PRIMITIVE Place place(unsigned index, unsigned sum) const {
    if (!columns) {
      const uint64_t i = uint64_t{index} * sums + sum, output = quotient_of(i, pieces);
      return {output, i - output * pieces};
    }
    const uint64_t i = uint64_t{index} * (sums / kGroup) + sum / kGroup, groups = (outputs + kGroup - 1) / kGroup;
    const uint64_t piece = quotient_of(i, groups);
    return {piece < pieces ? (i - piece * groups) * kGroup + sum % kGroup : outputs, piece};
  }

  /// Partial sums, from scratch memory.
  SOFTAMP_PRIMITIVE void gather(const Shared& all, unsigned index, unsigned threads, unsigned t) const {
    for (unsigned i = t; i < lanes * sums; i += threads) {
      const unsigned sum = i >> levels, lane = i & (lanes - 1);
      const Place p = place(index, sum);
      const uint64_t first = p.piece * kTreeJoin, left = p.output < outputs ? count - first : 0;
      const unsigned present = left < lanes ? static_cast<unsigned>(left) : lanes;
      if (lane == 0) all.present[sum] = present;
      if (lane >= present) continue;
      all.values[slot(lane, sum)] = from.values[p.output * count + first + lane];
      all.flags[slot(lane, sum)] = from.flags[p.output * count + first + lane];
    }
  }

  /// Eight lanes, from elements.
  SOFTAMP_PRIMITIVE void fold(const Shared& all, unsigned index, unsigned t) const {
    const unsigned across = columns ? sums / kGroup : lanes / kGroup;
    const unsigned first_lane = columns ? t / across : t % across * kGroup;
    const unsigned first_sum = columns ? t % across * kGroup : t / across;
    const unsigned next = columns ? 1 : sums + 1;
    const unsigned first_slot = slot(first_lane, first_sum);
    for_group([&](unsigned j) { all.flags[first_slot + j * next] = 0; });

    const Place p = place(index, first_sum);
    const uint64_t begin = p.piece * kTreeBlock + first_lane, end = p.output >= outputs ? 0
                                                                    : (p.piece + 1) * kTreeBlock < count
                                                                        ? (p.piece + 1) * kTreeBlock
                                                                        : count;
    if (first_lane == 0)
      for_group([&](unsigned j) {
        const bool exists = columns ? p.output + j < outputs : j == 0;
        const uint64_t left = begin < end && exists ? end - begin : 0;
        if (columns || j == 0) all.present[first_sum + j] = left < lanes ? static_cast<unsigned>(left) : lanes;
      });
    if (begin >= end) return;

    Eight eight{p.output, source.base(p.output), columns, kGroup};
    if (columns && outputs - p.output < kGroup) eight.count = static_cast<unsigned>(outputs - p.output);
    const unsigned steps = static_cast<unsigned>(end - begin + kTreeLanes - 1) / kTreeLanes;
    Value sum[kGroup] = {};
    unsigned done = 0;
    if constexpr (Source::kAhead > 0)
      if (vectors) {
        // Steps of eight elements: all but perhaps the last.
        const unsigned whole = columns                ? steps
                               : end - begin < kGroup ? 0
                                                      : static_cast<unsigned>(end - begin - kGroup) / kTreeLanes + 1;
        if (fold_vectors(eight, begin, whole, sum)) done = whole;
      }
    const unsigned from_here = done;
    decltype(source.at(0)) at{};
    for (; done < steps; ++done) {
      const uint64_t k = begin + uint64_t{done} * kTreeLanes;
      if (!columns) eight.count = end - k < kGroup ? static_cast<unsigned>(end - k) : kGroup;
      typename Source::Codes codes;
      source.load(eight, k, codes);
#if defined(__CUDACC__)
#pragma unroll 1
#endif
      for (unsigned j = 0; j < kGroup; ++j) {
        Value next_sum = sum[0];
        if (j < eight.count) {
          const uint64_t output = p.output + (columns ? j : 0), element = k + (columns ? 0 : j);
          uint32_t seen = 0;
          if (columns || (done == from_here && j == 0)) at = source.at(output);
          const Value term = source.term(at, codes, output, element, seen);
          next_sum = done == 0 ? term : source.add(next_sum, term, element, output, seen);
          if (seen) all.flags[first_slot + j * next] |= seen;
        }
        for_each_of<kGroup - 1>([&](unsigned i) { sum[i] = sum[i + 1]; });
        sum[kGroup - 1] = next_sum;
      }
    }
    for_group([&](unsigned j) { all.values[first_slot + j * next] = sum[j]; });
  }

  /// `whole` steps of eight elements from element k on; false: nothing is done, since something is rare.
  SOFTAMP_PRIMITIVE bool fold_vectors(const Eight& eight, uint64_t k, unsigned whole, Value (&sum)[kGroup]) const {
    constexpr unsigned kAhead = Source::kAhead;
    auto fast = source.fast(eight, k);
    typename Source::Ahead ahead[kAhead] = {};
    for (unsigned step = 0; step < whole + kAhead; step += kAhead)
      for_each_of<kAhead>([&](unsigned i) {
        const uint64_t next = k + uint64_t{step + i} * kTreeLanes;
        if (step > 0 && step + i - kAhead < whole) source.fold(fast, eight, ahead[i], next - kAhead * kTreeLanes);
        if (step + i < whole) source.load_vectors(eight, next, ahead[i]);
      });
    if (whole == 0 || !source.settled(fast)) return false;
    for_group([&](unsigned j) { sum[j] = source.sum(fast, j); });
    return true;
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

/// Puts all sums of `shape` into the queue. `scratch`: tree_scratch_bytes, aligned to 256. `vectors`: whether the
/// source's eight elements can be read in vectors; in columns, outputs are then a multiple of eight.
template <class Source, class Finish>
void launch_tree_sum(const DeviceCall& call, const char* name, const TreeShape& shape, bool vectors, void* scratch,
                     const Source& source, const Finish& finish) {
  using Value = typename Source::Value;
  if (shape.outputs == 0) return;
  const detail::TreeScratch<Value> memory(shape, scratch);
  const uint64_t few = 2ull * static_cast<unsigned>(call.device.properties().multiprocessors);
  TreeSum<Source, Finish> kernel{source, finish,        shape.outputs, shape.count, shape.blocks(), 0, 1, 0, 1,
                                 0,      shape.columns, vectors,       {},          memory.first};
  const auto launch = [&](unsigned most_lanes) {
    const unsigned least = kernel.columns ? 1 : kGroup;
    kernel.lanes = std::max(detail::least_power(kernel.count, most_lanes), least);
    for (kernel.levels = 0; 1u << kernel.levels < kernel.lanes;) ++kernel.levels;
    const uint64_t all =
        kernel.pieces * (kernel.columns ? (kernel.outputs + kGroup - 1) / kGroup * kGroup : kernel.outputs);
    const unsigned least_sums = kernel.columns ? kGroup : 1;
    const auto threads = [&] { return kernel.lanes * kernel.sums / kGroup; };
    const auto blocks = [&] { return (all + kernel.sums - 1) / kernel.sums; };
    kernel.sums = std::max(detail::least_power(all, kTreeThreads * kGroup / kernel.lanes), least_sums);
    while (kernel.sums > least_sums && threads() > 32 && blocks() < few) kernel.sums /= 2;  // for more multiprocessors
    for (kernel.sum_bits = 0; 1u << kernel.sum_bits < kernel.sums;) ++kernel.sum_bits;
    const unsigned slots = kernel.lanes * (kernel.sums + 1);
    call.device.launch(name,
                       {static_cast<unsigned>(blocks()), threads(),
                        shared_of<Value>(slots) + shared_of<uint32_t>(slots) + shared_of<uint32_t>(kernel.sums)},
                       kernel);
  };
  launch(kTreeLanes);
  TreePartials<Value> next = memory.second;
  for (kernel.span = 1; kernel.pieces > 1; kernel.span *= kTreeJoin) {
    kernel.columns = false;
    kernel.count = kernel.pieces;
    kernel.pieces = (kernel.count + kTreeJoin - 1) / kTreeJoin;
    kernel.from = kernel.to;
    kernel.to = next;
    launch(kTreeJoin);
    next = kernel.from;
  }
}

}  // namespace softamp::cuda
