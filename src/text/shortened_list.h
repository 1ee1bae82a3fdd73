// The first items of a list, as messages give it: "'a', 'b' and 3 more".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace softamp::files {

class ShortenedList {
 public:
  explicit ShortenedList(size_t most) : most_(most) {}

  void add(std::string_view item) {
    if (++count_ <= most_) text_ += (count_ == 1 ? "" : ", ") + std::string(item);
  }
  /// Whether the next item will be in the text: items that take time to write need not be written otherwise.
  bool has_room() const { return count_ < most_; }
  size_t count() const { return count_; }
  std::string text() const {
    return count_ > most_ ? text_ + " and " + std::to_string(count_ - most_) + " more" : text_;
  }

 private:
  const size_t most_;
  size_t count_ = 0;
  std::string text_;
};

}  // namespace softamp::files
