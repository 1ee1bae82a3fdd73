// AllFinite: how many elements of each input are infinite or NaN. Counts are integers: no order matters.
#include <algorithm>

#include "cuda/element_loop.h"
#include "cuda/optimizers/optimizer.h"

namespace softamp::cuda {
namespace {

/// Counts of some tensors: blocks first_block[k] .. first_block[k + 1] - 1 are tensor k's.
// implements: N245
struct CountNotFinite {
  static constexpr int kTensors = 96, kThreads = 256;
  static constexpr uint64_t kBlockBytes = 64 * 1024;

  struct alignas(16) Word16 {
    uint32_t part[4];
  };
  struct Tensor {
    const void* codes;
    uint64_t bytes;
    uint32_t first_block;
  };
  Tensor tensor[kTensors];
  int tensors;
  unsigned bytes;     ///< of an element: 2, 4, 8
  uint32_t exponent;  ///< its bits, in both halves of a word of 16-bit elements, in the high word of 64-bit ones
  int32_t* counts;    ///< of the first of these tensors

  /// How many elements of a word have every bit of the exponent.
  SOFTAMP_INLINE uint32_t count(uint32_t word) const {
    if (bytes != 2) return (word & exponent) == exponent;
    const uint32_t missing = ~word & exponent;
    return ((missing & 0xFFFFu) == 0) + ((missing >> 16) == 0);
  }

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    int k = 0;
    while (k + 1 < tensors && tensor[k + 1].first_block <= block.index()) ++k;
    const Tensor& mine = tensor[k];
    const uint64_t begin = uint64_t{block.index() - mine.first_block} * kBlockBytes;
    const uint64_t end = begin + kBlockBytes < mine.bytes ? begin + kBlockBytes : mine.bytes;
    uint32_t* const found = block.template shared<uint32_t>(kThreads);
    block.each([&](unsigned t) {
      uint32_t n = 0;
      const auto* const words = static_cast<const Word16*>(mine.codes);
      for (uint64_t i = begin / 16 + t; i < end / 16; i += kThreads) {
        const Word16 w = words[i];
        if (bytes != 8) n += count(w.part[0]) + count(w.part[2]);
        n += count(w.part[1]) + count(w.part[3]);
      }
      // The last of a tensor are fewer than a word.
      const uint64_t at = end / 16 * 16 + t * bytes;
      if (at < end)
        n += bytes == 2 ? count(static_cast<const uint16_t*>(mine.codes)[at / 2])
                        : count(static_cast<const uint32_t*>(mine.codes)[(at + bytes) / 4 - 1]);
      found[t] = n;
    });
    for (unsigned stride = kThreads / 2; stride > 0; stride /= 2)
      block.each([&](unsigned t) {
        if (t < stride) found[t] += found[t + stride];
      });
    block.each([&](unsigned t) {
      if (t == 0 && found[0]) add(counts + k, found[0]);
    });
  }
  static SOFTAMP_HD void add(int32_t* to, uint32_t n) {
#if defined(__CUDA_ARCH__)
    atomicAdd(to, static_cast<int>(n));
#else
    *to += static_cast<int32_t>(n);
#endif
  }
};

struct AllZero {
  const int32_t* counts;
  int tensors;
  uint8_t* out;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    uint32_t* const any = block.template shared<uint32_t>(block.threads());
    block.each([&](unsigned t) {
      any[t] = 0;
      for (int k = static_cast<int>(t); k < tensors; k += static_cast<int>(block.threads())) any[t] |= counts[k] != 0;
    });
    block.each([&](unsigned t) {
      if (t != 0) return;
      uint32_t all = 0;
      for (unsigned i = 0; i < block.threads(); ++i) all |= any[i];
      *out = all == 0;
    });
  }
};

class AllFiniteKernel final : public OpKernel {
 public:
  explicit AllFiniteKernel(const OpContext& c) {
    const DType type = c.inputs[0].dtype;
    element_ = static_cast<unsigned>(size_of(type));
    exponent_ = static_cast<uint32_t>(format_of(type).infinity_code() >> (element_ == 8 ? 32 : 0));
    if (element_ == 2) exponent_ |= exponent_ << 16;
    for (const TensorType& t : c.inputs) bytes_.push_back(t.bytes());
  }

  void enqueue(const DeviceCall& call) const override {
    auto* const counts = static_cast<int32_t*>(call.out[1]);
    const int all = static_cast<int>(bytes_.size());
    call.device.fill(counts, 0, bytes_.size() * sizeof(int32_t));
    for (int first = 0; first < all; first += CountNotFinite::kTensors) {
      CountNotFinite count{};
      count.bytes = element_;
      count.exponent = exponent_;
      count.counts = counts + first;
      count.tensors = std::min(all - first, CountNotFinite::kTensors);
      uint64_t blocks = 0;
      for (int k = 0; k < count.tensors; ++k) {
        const uint64_t bytes = bytes_[static_cast<size_t>(first + k)];
        count.tensor[k] = {call.in[first + k], bytes, static_cast<uint32_t>(blocks)};
        blocks += (bytes + CountNotFinite::kBlockBytes - 1) / CountNotFinite::kBlockBytes;
      }
      call.device.launch(
          "count not finite",
          {static_cast<unsigned>(blocks), CountNotFinite::kThreads, shared_of<uint32_t>(CountNotFinite::kThreads)},
          count);
    }
    constexpr unsigned kThreads = 64;
    call.device.launch("all finite", {1, kThreads, shared_of<uint32_t>(kThreads)},
                       AllZero{counts, all, static_cast<uint8_t*>(call.out[0])});
  }

 private:
  std::vector<size_t> bytes_;
  unsigned element_;
  uint32_t exponent_;
};

}  // namespace

std::unique_ptr<OpKernel> make_all_finite(const OpContext& c, Device&) { return std::make_unique<AllFiniteKernel>(c); }

}  // namespace softamp::cuda
