// How far a word is from another, for messages that name the nearest known one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace softamp {

/// What two neighbouring letters in each other's places cost.
enum class SwappedLetters : uint8_t {
  kTwoEdits,  ///< Levenshtein's distance
  kOneEdit,   ///< "optimal string alignment"
};

/// The least number of letters inserted, deleted or replaced, or swapped as `swapped` says; bytes are letters.
size_t edit_distance(std::string_view a, std::string_view b, SwappedLetters swapped);

/// Whether a known word at this distance is worth proposing for the one that was given: at most every third letter is
/// another, or one word begins with the other.
bool is_near(std::string_view given, std::string_view known, size_t distance);

}  // namespace softamp
