// A list that holds its first few items in itself. A picture of a graph has five lists a node, nearly all of one to
// three items: as std::vector each was a block on the heap, and a pass went there and back for every port.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace softamp {

/// Used as a std::vector of at most 2^32 - 1 items, of which N lie in the list itself. Unlike a vector's, its items
/// move when the list does: moving, as growing, makes iterators and references invalid.
template <class T, size_t N>
class ShortList {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  ShortList() noexcept {}
  ShortList(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  /// From a std::vector, so that lists may be made and compared as vectors are.
  ShortList(const std::vector<T>& items) { append(items.begin(), items.end()); }
  ShortList(const ShortList& other) { append(other.begin(), other.end()); }
  ShortList(ShortList&& other) noexcept { take(other); }
  ShortList& operator=(const ShortList& other) {
    if (this == &other) return *this;
    clear();
    append(other.begin(), other.end());
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  ~ShortList() { drop(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? there_ : here(); }
  const T* data() const { return const_cast<ShortList*>(this)->data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t items) {
    if (items > capacity_) grow(items);
  }
  void push_back(T item) {
    if (size_ == capacity_) grow(size_t{2} * capacity_);
    std::construct_at(data() + size_, std::move(item));
    ++size_;
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void assign(size_t items, const T& item) {
    const T kept = item;  // it may be one of these
    clear();
    resize(items, kept);
  }
  void resize(size_t items, const T& item) {
    if (items < size_) {
      std::destroy(begin() + items, end());
    } else if (items > size_) {
      const T kept = item;
      reserve(items);
      std::uninitialized_fill(end(), begin() + items, kept);
    }
    size_ = static_cast<uint32_t>(items);
  }

  friend bool operator==(const ShortList& a, const ShortList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T>);

  T* here() { return reinterpret_cast<T*>(bytes_); }

  template <class Iterator>
  void append(Iterator first, Iterator last) {
    const auto items = static_cast<size_t>(std::distance(first, last));
    reserve(size_ + items);
    std::uninitialized_copy(first, last, end());
    size_ += static_cast<uint32_t>(items);
  }
  void grow(size_t items) {
    T* const larger = std::allocator<T>().allocate(items);
    std::uninitialized_move(begin(), end(), larger);
    const uint32_t size = size_;
    drop();
    there_ = larger;
    size_ = size;
    capacity_ = static_cast<uint32_t>(items);
  }
  /// Leaves no items, and no block.
  void drop() {
    clear();
    if (capacity_ > N) std::allocator<T>().deallocate(there_, capacity_);
    capacity_ = N;
  }
  /// What the other holds, to an empty list without a block.
  void take(ShortList& other) noexcept {
    if (other.capacity_ > N) {
      there_ = other.there_;
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    } else {
      std::uninitialized_move(other.begin(), other.end(), here());
      size_ = other.size_;
      other.clear();
    }
  }

  uint32_t size_ = 0, capacity_ = N;
  union {
    T* there_;
    alignas(T) std::byte bytes_[N * sizeof(T)];
  };
};

}  // namespace softamp
