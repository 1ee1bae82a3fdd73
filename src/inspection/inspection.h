// A number taken apart: what every rounding makes of it, for people and for machines.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "src/inspection/placement.h"

namespace softamp::detail {

/// A code that is looked at, and the value it was rounded from where one was typed.
struct Inspection {
  std::string text;  ///< as typed
  FloatFormat format;
  uint64_t code;
  std::optional<Placement> placement;  ///< of a typed finite value that is not zero
  RoundingPolicy base;                 ///< overflow rule and number of random bits of the roundings shown

  bool inexact() const { return placement && !placement->representable(); }
};

/// Whether a text is a code, "0x3c00", and not a number in hexadecimal, "0x1p3".
bool is_code_text(const std::string& text);

/// Of a number that is read exactly, or the code of one. `base`: overflow rule and random bits of the roundings shown.
/// Throws std::invalid_argument.
Inspection inspection_of(const std::string& text, const FloatFormat& format, const RoundingPolicy& base);

void print_inspection(const Inspection& inspection, std::ostream& out);
nlohmann::ordered_json inspection_json(const Inspection& inspection);

}  // namespace softamp::detail
