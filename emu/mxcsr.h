// The x86 floating-point environment of a task: round to nearest, no flushing (N81), restored afterwards.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace softamp::emu {

/// Sets the default MXCSR while alive, then restores control and sticky bits. oneTBB gives the caller's settings to its
/// workers, so every task makes its own.
class DefaultMxcsr {
 public:
#if defined(__SSE2__)
  DefaultMxcsr() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~DefaultMxcsr() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;

 public:
#else
  DefaultMxcsr() = default;
#endif
  DefaultMxcsr(const DefaultMxcsr&) = delete;
  DefaultMxcsr& operator=(const DefaultMxcsr&) = delete;
};

}  // namespace softamp::emu
