// `softamp inspect` of a number in a format of P3109's.
#pragma once

#include "src/program/options.h"

#include "softamp/numerics/decimal.h"
#include "softamp/numerics/p3109.h"

#include <iosfwd>
#include <optional>
#include <string>

namespace softamp::program {

struct P3109Inspection {
  std::string text;  ///< as typed
  p3109::Format format;
  int bits = 13;                       ///< of the stochastic roundings
  std::optional<uint64_t> code;        ///< where a code was typed
  std::optional<ParsedNumber> number;  ///< where a number was
};

void print_p3109(const P3109Inspection& inspection, std::ostream& out);
Json p3109_json(const P3109Inspection& inspection);

}  // namespace softamp::program
