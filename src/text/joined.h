// Lists in messages: "a, b, c", "[1,2]".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace softamp {

/// The items with `between` between them. `text`: what is said of an item, a text or a whole number [=the item itself].
template <class Items, class Text = std::identity>
std::string joined(const Items& items, std::string_view between = ", ", const Text& text = {}) {
  std::string all;
  bool first = true;
  for (const auto& item : items) {
    if (!first) all += between;
    first = false;
    const auto& said = std::invoke(text, item);
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(said)>>)
      all += std::to_string(said);
    else
      all += said;
  }
  return all;
}

/// "[1,2,2,1]".
inline std::string list_text(std::span<const int64_t> numbers) { return "[" + joined(numbers, ",") + "]"; }

}  // namespace softamp
