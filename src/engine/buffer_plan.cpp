#include "softamp/engine/buffer_plan.h"

#include <map>
#include <queue>
#include <set>
#include <utility>

namespace softamp::engine {
namespace {

/// The gaps of the arena below its end, by offset and by size.
class Gaps {
 public:
  void give(size_t offset, size_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before->first, before->second);
      }
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + bytes == next->first) {
      const auto [o, b] = *next;
      remove(o, b);
      bytes += b;
    }
    by_offset_[offset] = bytes;
    by_size_.emplace(bytes, offset);
  }
  /// An offset for `bytes`, from the smallest gap that holds them; `end` grows if there is none.
  size_t take(size_t bytes, size_t& end) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit != by_size_.end()) {
      const auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) give(offset + bytes, size - bytes);
      return offset;
    }
    // A gap that touches the end can be grown.
    if (!by_offset_.empty()) {
      const auto [offset, size] = *by_offset_.rbegin();
      if (offset + size == end) {
        remove(offset, size);
        end = offset + bytes;
        return offset;
      }
    }
    const size_t offset = end;
    end += bytes;
    return offset;
  }

 private:
  void remove(size_t offset, size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }
  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
};

}  // namespace

BufferPlan plan_buffers(const std::vector<BufferRequest>& requests) {
  BufferPlan plan;
  Gaps gaps;
  using Ending = std::pair<int, size_t>;  // last step, request
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> live;
  const auto rounded = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  for (size_t i = 0; i < requests.size(); ++i) {
    const BufferRequest& r = requests[i];
    while (!live.empty() && live.top().first < r.first) {
      const size_t ended = live.top().second;
      live.pop();
      gaps.give(plan.offsets[ended], rounded(requests[ended].bytes));
    }
    const size_t bytes = rounded(r.bytes ? r.bytes : 1);
    plan.offsets.push_back(gaps.take(bytes, plan.arena_bytes));
    if (r.bytes)
      live.emplace(r.last, i);
    else
      gaps.give(plan.offsets.back(), bytes);
  }
  return plan;
}

}  // namespace softamp::engine
