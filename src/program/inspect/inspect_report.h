// What `softamp inspect` says about a number: for people and for machines.
#pragma once

#include "src/program/inspect/placement.h"
#include "src/program/options.h"

#include <iosfwd>
#include <optional>
#include <string>

namespace softamp::program {

/// A code that is looked at, and the value it was rounded from where one was typed.
struct Inspection {
  std::string text;  ///< as typed
  FloatFormat format;
  uint64_t code;
  std::optional<Placement> placement;  ///< of a typed finite value that is not zero
  RoundingPolicy base;                 ///< overflow rule and number of random bits of the roundings shown

  bool inexact() const { return placement && !placement->representable(); }
};

void print_inspection(const Inspection& inspection, std::ostream& out);
Json inspection_json(const Inspection& inspection);

}  // namespace softamp::program
