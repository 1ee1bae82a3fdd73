#include "cuda/structure/structure_index.h"

#include <algorithm>
#include <stdexcept>

#include "cuda/structure/copy_box.h"
#include "softamp/engine/index_node.h"

namespace softamp::cuda {
namespace {

/// Checks the indices that an operation reads, on the device; records the first wrong one with its value.
// implements: N303
struct CheckPlaces {
  const int32_t* places;
  int64_t count, least, limit;  ///< right: least .. limit - 1
  uint64_t* refusal;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const int64_t stride = int64_t{block.blocks()} * block.threads();
      for (int64_t i = int64_t{block.index()} * block.threads() + t; i < count; i += stride) {
        const int32_t place = places[i];
        if (place >= least && place < limit) continue;
        note_refusal(refusal, static_cast<uint64_t>(i) << 32 | static_cast<uint32_t>(place));
        break;
      }
    });
  }
};

/// A node whose input 1 holds indices.
template <class Node>
class PlacedKernel : public OpKernel {
 public:
  bool checks() const override { return true; }
  void refuse(uint64_t noted) const override {
    n_.fail(static_cast<int64_t>(noted >> 32), static_cast<int32_t>(static_cast<uint32_t>(noted)));
  }

 protected:
  PlacedKernel(const OpContext& c, int64_t places) : n_(c), places_(places) {
    if (places >> 31)
      throw std::invalid_argument(c.node.op + " '" + c.node.name + "': " + std::to_string(places) +
                                  " indices; the backend cuda takes 2^31 - 1 at most, the backend emu more");
  }
  void check(const DeviceCall& call, int64_t least, int64_t limit) const {
    call.device.launch("check places", loop_grid(call.device, static_cast<uint64_t>(places_)),
                       CheckPlaces{static_cast<const int32_t*>(call.in[1]), places_, least, limit, call.refusal});
  }

  Node n_;
  int64_t places_;
};

/// Rows of `row` words. A row whose index is out of range is not written: the step ends with an error anyway.
template <class Word>
struct Gather {
  const Word* in;
  const int32_t* index;
  Word* out;
  int64_t extent;
  uint64_t words;
  Division row, indices;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_word(block, words, [&](auto i) {
      auto rest = i;
      const auto word = row.split(rest), place = indices.split(rest);
      const int64_t at = index[place];
      if (at < 0 || at >= extent) return;
      const uint64_t from = static_cast<uint64_t>(rest) * static_cast<uint64_t>(extent) + static_cast<uint64_t>(at);
      out[i] = in[from * row.divisor + word];
    });
  }
};

class GatherKernel final : public PlacedKernel<engine::GatherNode> {
 public:
  GatherKernel(const OpContext& c, Device&) : PlacedKernel(c, c.inputs[1].shape.elements()) {}

  void enqueue(const DeviceCall& call) const override {
    check(call, 0, n_.extent);
    const size_t all = n_.row | 16, word = all & (0 - all);  // the largest that divides rows
    switch (word) {
      case 1: return gather<uint8_t>(call);
      case 2: return gather<uint16_t>(call);
      case 4: return gather<uint32_t>(call);
      case 8: return gather<uint64_t>(call);
      default: gather<Word16>(call);
    }
  }

 private:
  template <class Word>
  void gather(const DeviceCall& call) const {
    const uint64_t row = n_.row / sizeof(Word), words = static_cast<uint64_t>(n_.outer * n_.indices) * row;
    if (words == 0) return;
    call.device.launch("gather", loop_grid(call.device, words),
                       Gather<Word>{static_cast<const Word*>(call.in[0]), static_cast<const int32_t*>(call.in[1]),
                                    static_cast<Word*>(call.out[0]), n_.extent, words, Division(row),
                                    Division(static_cast<uint64_t>(n_.indices))});
  }
};

struct OneHot {
  const int32_t* index;
  void* out;
  unsigned bytes;
  uint64_t on, off;
  Division inner, depth;

  template <class Index>
  SOFTAMP_INLINE uint64_t value(Index i) const {
    const Index column = inner.split(i), place = depth.split(i);
    const int64_t at = index[static_cast<uint64_t>(i) * inner.divisor + column];
    return at >= 0 && static_cast<uint64_t>(at) == place ? on : off;
  }
  SOFTAMP_HD uint8_t operator()(uint64_t i) const {
    store_element(out, bytes, i, i >> 32 ? value<uint64_t>(i) : value<uint32_t>(static_cast<uint32_t>(i)));
    return 0;
  }
};

class OneHotKernel final : public OpKernel {
 public:
  OneHotKernel(const OpContext& c, Device&) : n_(c) {}

  void enqueue(const DeviceCall& call) const override {
    const auto size = static_cast<uint64_t>(n_.outer * n_.depth * n_.inner);
    if (size == 0) return;
    launch_elements(
        call, "one hot", size,
        OneHot{static_cast<const int32_t*>(call.in[0]), call.out[0], static_cast<unsigned>(n_.element), n_.on, n_.off,
               Division(static_cast<uint64_t>(n_.inner)), Division(static_cast<uint64_t>(n_.depth))});
  }

 private:
  engine::OneHotNode n_;
};

struct SegmentSum {
  const void* data;
  const int32_t* ids;
  void* out;
  FloatFormat format;
  bool integer;
  int64_t positions;
  Division columns;
  StepEnvironment environment;

  SOFTAMP_HD uint8_t operator()(uint64_t i) const {
    const unsigned bytes = integer ? 4 : static_cast<unsigned>(format.storage_bits() / 8);
    uint64_t rest = i;
    const auto column = static_cast<int64_t>(columns.split(rest));
    const auto segment = static_cast<int32_t>(rest);
    const auto code_at = [&](int64_t p, int64_t c) {
      return load_element(data, bytes, static_cast<uint64_t>(p) * columns.divisor + static_cast<uint64_t>(c));
    };
    if (integer) {
      uint32_t sum = 0;
      for (int64_t p = 0; p < positions; ++p)
        if (ids[p] == segment) sum += static_cast<uint32_t>(code_at(p, column));
      store_element(out, bytes, i, sum);
      return 0;
    }
    const Rounded r = kernel::segment_sum(format, code_at, ids, positions, segment, column, i, environment.now());
    store_element(out, bytes, i, r.code);
    return r.flags;
  }
};

class SegmentSumKernel final : public PlacedKernel<engine::SegmentSumNode> {
 public:
  SegmentSumKernel(const OpContext& c, Device&) : PlacedKernel(c, c.inputs[1].shape.elements()) {}
  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }

  void enqueue(const DeviceCall& call) const override {
    check(call, INT32_MIN, n_.segments);
    const auto size = static_cast<uint64_t>(n_.segments * n_.columns);
    if (size == 0) return;
    const bool integer = n_.dtype == DType::kInt32;
    launch_elements(call, "segment sum", size,
                    SegmentSum{call.in[0], static_cast<const int32_t*>(call.in[1]), call.out[0],
                               integer ? FloatFormat::fp32() : format_of(n_.dtype), integer, n_.positions,
                               Division(static_cast<uint64_t>(n_.columns)), call.environment});
  }
};

}  // namespace

std::unique_ptr<OpKernel> make_gather(const OpContext& c, Device& device) {
  return std::make_unique<GatherKernel>(c, device);
}
std::unique_ptr<OpKernel> make_one_hot(const OpContext& c, Device& device) {
  return std::make_unique<OneHotKernel>(c, device);
}
std::unique_ptr<OpKernel> make_segment_sum(const OpContext& c, Device& device) {
  return std::make_unique<SegmentSumKernel>(c, device);
}

}  // namespace softamp::cuda
