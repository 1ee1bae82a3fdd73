// The words by which Python has the exception flags.
#pragma once

#include <nanobind/nanobind.h>

#include "softamp/numerics/status.h"

namespace softamp::python {

/// By the flag's bit.
inline constexpr const char* kFlagNames[kFlagCount] = {"inexact", "underflow", "overflow", "divide_by_zero", "invalid"};

/// {"overflow": 2, ...}: of each flag that is raised its number in `first`.
inline nanobind::dict first_of_flags(uint8_t flags, const uint64_t (&first)[kFlagCount]) {
  nanobind::dict all;
  for (int b = 0; b < kFlagCount; ++b)
    if (flags >> b & 1) all[kFlagNames[b]] = nanobind::int_(first[b]);
  return all;
}

}  // namespace softamp::python
