// Sums of many elements from those of their blocks, joined in the order of kernel/reductions.h as they come: for
// operations whose blocks are made one after another.
#pragma once

#include <algorithm>
#include <cstdint>

namespace softamp::emu {

constexpr uint64_t kSumBlock = 1024;  ///< elements of a block

/// Two sums at a time.
class BlockSums {
 public:
  void add(const float* sums) {
    float now[2] = {sums[0], sums[1]};
    int l = 0;
    for (; blocks_ >> l & 1; ++l) join(level_[l], now);
    level_[l][0] = now[0], level_[l][1] = now[1];
    ++blocks_;
  }
  void total(float* sums) const {
    sums[0] = sums[1] = 0;
    bool some = false;
    for (int l = 0; blocks_ >> l != 0; ++l) {
      if (!(blocks_ >> l & 1)) continue;
      if (some)
        join(level_[l], sums);
      else
        sums[0] = level_[l][0], sums[1] = level_[l][1];
      some = true;
    }
  }

 private:
  static void join(const float* left, float* right) {
    for (int s = 0; s < 2; ++s) right[s] = left[s] + right[s];
  }
  uint64_t blocks_ = 0;
  float level_[40][2];
};

/// Calls block(first, n, to) for the blocks of `count` elements; sums[0], sums[1] = what they wrote, summed in order.
template <class Block>
void sum_blocks(uint64_t count, float* sums, const Block& block) {
  BlockSums tree;
  for (uint64_t first = 0; first < count; first += kSumBlock) {
    float some[2] = {0, 0};
    block(first, std::min(kSumBlock, count - first), some);
    tree.add(some);
  }
  tree.total(sums);
}

}  // namespace softamp::emu
