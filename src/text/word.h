// Words of closed lists. Every door reads them here: without regard to case, '_' as '-'.
#pragma once

#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace softamp {

constexpr char plain(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c; }
constexpr bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (plain(a[i]) != plain(b[i])) return false;
  return true;
}

/// The item that the word names; null where it names none. `name`: an item's word [=the item itself].
template <class Items, class Name = std::identity>
constexpr auto find_word(const Items& items, std::string_view word, const Name& name = {}) {
  for (const auto& item : items)
    if (same_word(std::invoke(name, item), word)) return &item;
  return static_cast<decltype(&*std::begin(items))>(nullptr);
}

/// The word as the list spells it; a word that the list does not have stays as it is.
template <class Items, class Name = std::identity>
std::string our_word(const Items& items, std::string_view word, const Name& name = {}) {
  const auto* const found = find_word(items, word, name);
  return std::string(found ? std::string_view(std::invoke(name, *found)) : word);
}

}  // namespace softamp
