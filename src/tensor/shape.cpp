#include "softamp/tensor/shape.h"

#include <algorithm>
#include <stdexcept>

#include "src/text/joined.h"

namespace softamp {

Shape::Shape(std::span<const int64_t> extents) {
  if (extents.size() > static_cast<size_t>(kMaxRank))
    throw std::invalid_argument("a shape of " + std::to_string(extents.size()) + " dimensions; expected at most " +
                                std::to_string(kMaxRank));
  // The limited product leaves out extents of 0: strides of an empty tensor must not overflow either.
  int64_t product = 1;
  bool empty = false;
  for (const int64_t extent : extents) {
    if (extent < 0)
      throw std::invalid_argument("dimension " + std::to_string(extent) + " of shape " + list_text(extents) +
                                  " is negative");
    if (extent > kMaxElements / product)
      throw std::invalid_argument("shape " + list_text(extents) + " has more than 2^40 elements");
    if (extent == 0)
      empty = true;
    else
      product *= extent;
    extents_[rank_++] = extent;
  }
  elements_ = empty ? 0 : product;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Shape::text() const { return list_text(extents()); }

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  int64_t extents[Shape::kMaxRank] = {};
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1)
      throw std::invalid_argument("Incompatible shapes: " + a.text() + " vs. " + b.text());
    extents[rank - i] = x == 1 ? y : x;
  }
  return Shape(std::span<const int64_t>(extents, static_cast<size_t>(rank)));
}

}  // namespace softamp
