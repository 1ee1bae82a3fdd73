// The elementary functions by MPFR, and errors in units in the last place.
#pragma once

#include <cmath>

#include "tests/oracle/mpfr_number.h"

namespace oracle {

using softamp::test::FunctionRow;
using PromisedFunction = softamp::test::JudgedFunction<MpfrNumber>;

/// The functions of which docs/NUMERICS.md promises something.
inline const std::vector<PromisedFunction>& promised_functions() {
  static const std::vector<PromisedFunction> kAll = [] {
    std::vector<PromisedFunction> all = softamp::test::judged_functions<MpfrNumber>();
    std::erase_if(all, [](const PromisedFunction& f) { return f.row.ulps == 0; });
    return all;
  }();
  return kAll;
}

/// ulp of fp32 at a value.
inline double ulp32(double exact) {
  const int exponent = exact == 0 ? -200 : std::ilogb(exact);
  return std::ldexp(1.0, (exponent < -126 ? -126 : exponent > 127 ? 127 : exponent) - 23);
}

/// |y - value| in ulp of fp32 at the value.
inline double error_of(double y, const MpfrNumber& value) {
  return std::fabs((value - y).nearest()) / ulp32(value.odd());
}

}  // namespace oracle
