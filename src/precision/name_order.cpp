#include "src/precision/name_order.h"

#include <algorithm>
#include <cstdint>

namespace softamp::precision_detail {
namespace {

constexpr size_t kStep = 7;  // characters of a key
constexpr size_t kFew = 24;  // sorted by whole comparisons

struct Keyed {
  uint64_t key;
  uint32_t place;  // in the list of names
};

/// Seven characters from `depth` on and how many there are (8: more than seven), so that keys are ordered as the rests
/// of the names are, as far as they reach.
uint64_t key_of(std::string_view name, size_t depth) {
  uint64_t key = 0;
  const size_t left = name.size() > depth ? name.size() - depth : 0, n = std::min(left, kStep);
  for (size_t i = 0; i < n; ++i) key |= uint64_t{static_cast<unsigned char>(name[depth + i])} << (56 - 8 * i);
  return key | std::min(left, kStep + 1);
}

/// Sorts a stretch whose names are equal up to `depth`. Keys lie beside one another: a comparison of two names would
/// read both from wherever they are.
void sort_from(std::span<Keyed> part, size_t depth, std::span<const std::string_view> names) {
  while (part.size() > kFew) {
    uint64_t differ = 0;
    for (Keyed& k : part) {
      k.key = key_of(names[k.place], depth);
      differ |= k.key ^ part[0].key;
    }
    const bool more = (part[0].key & 0xFF) > kStep;
    depth += kStep;
    if (differ == 0 && more) continue;
    std::sort(part.begin(), part.end(),
              [](const Keyed& a, const Keyed& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; });
    for (size_t first = 0, end; first < part.size(); first = end) {
      for (end = first + 1; end < part.size() && part[end].key == part[first].key;) ++end;
      if (end - first > 1 && (part[first].key & 0xFF) > kStep)
        sort_from(part.subspan(first, end - first), depth, names);
    }
    return;
  }
  std::sort(part.begin(), part.end(), [&](const Keyed& a, const Keyed& b) {
    const int order = names[a.place].compare(names[b.place]);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

}  // namespace

void sort_by_names(std::vector<int>& items, std::span<const std::string_view> names) {
  std::vector<Keyed> order;
  order.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) order.push_back({0, static_cast<uint32_t>(i)});
  sort_from(order, 0, names);
  std::vector<int> sorted;
  sorted.reserve(items.size());
  for (const Keyed& k : order) sorted.push_back(items[k.place]);
  items = std::move(sorted);
}

}  // namespace softamp::precision_detail
