// Lists as parameters: what a std::span<const T> takes, and braces.
#pragma once

#include <initializer_list>
#include <span>

namespace softamp {

/// A view of elements that live elsewhere: run({{"x", x}}, {"loss", "logits"}). What braces hold lives until the end of
/// the call, so that this is for parameters alone.
template <class T>
class ListView : public std::span<const T> {
 public:
  using std::span<const T>::span;
  constexpr ListView(std::span<const T> elements) noexcept : std::span<const T>(elements) {}
  constexpr ListView(std::initializer_list<T> elements) noexcept
      : std::span<const T>(elements.begin(), elements.size()) {}
};

}  // namespace softamp
