// Extents of a tensor, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace softamp {

/// A full list of extents, outermost first: rank 0 (a scalar) to kMaxRank, each extent >= 0.
///
/// Constructors throw std::invalid_argument for a negative extent, a rank above kMaxRank, and more than 2^40 elements.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr int64_t kMaxElements = int64_t{1} << 40;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  std::span<const int64_t> extents() const { return {extents_, static_cast<size_t>(rank_)}; }
  const int64_t* begin() const { return extents_; }
  const int64_t* end() const { return extents_ + rank_; }
  /// The product of the extents; 1 for a scalar.
  int64_t elements() const { return elements_; }

  bool operator==(const Shape& other) const;

  /// "[2,3]", "[]", as TensorFlow writes shapes.
  std::string text() const;

 private:
  int rank_ = 0;
  int64_t elements_ = 1;
  int64_t extents_[kMaxRank] = {};
};

/// The shape that NumPy's broadcasting gives two shapes: aligned at the right, an extent of 1 stretches.
/// Throws std::invalid_argument "Incompatible shapes: [2,3] vs. [4]" where there is none.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace softamp
