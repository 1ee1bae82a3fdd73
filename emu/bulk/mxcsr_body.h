// Flags from the hardware: MXCSR's sticky bits after a kernel's rounding instructions; on other machines the same bits
// by way of the C library.
#pragma once

#if !defined(__SSE2__)
#include <cfenv>
#endif

#include "emu/bulk/plan.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

/// While alive, computing does not change MXCSR.
class Unseen {
#if defined(__SSE2__)
 public:
  Unseen() : saved_(_mm_getcsr()) {}
  ~Unseen() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
 public:
  Unseen() { std::fegetexceptflag(&saved_, FE_ALL_EXCEPT); }
  ~Unseen() { std::fesetexceptflag(&saved_, FE_ALL_EXCEPT); }

 private:
  std::fexcept_t saved_;
#endif
};

#if defined(__SSE2__)
/// While alive, all that has no rounding of its own is rounded toward zero. What computes meanwhile must be in a
/// function that is not inlined: the compiler may move arithmetic across the change.
class TowardZero {
 public:
  TowardZero() { _mm_setcsr(0x7F80); }

 private:
  Unseen before_;
};
#endif

/// Runs `body`, a call that is not inlined, and adds those flags of `collected` (inexact, underflow) that MXCSR gathers
/// meanwhile, if they are wanted. The task's MXCSR is the default one (DefaultRegisters), and x86 finds tininess after
/// rounding, as `ieee` does. Arm finds it before: there inexact alone can be collected.
template <class Body>
SOFTAMP_LANES uint8_t with_mxcsr(const RoundPlan& p, uint8_t wanted, uint8_t collected, const Body& body) {
#if defined(__SSE2__)
  constexpr unsigned kDefault = 0x1F80, kUnderflowBit = 0x10, kInexactBit = 0x20;
  if (!(wanted & collected)) return body();
  _mm_setcsr(kDefault);
  uint8_t flags = body();
  const unsigned sticky = _mm_getcsr();
  if (sticky & kInexactBit) flags = static_cast<uint8_t>(flags | (p.on_inexact & collected));
  if (sticky & kUnderflowBit) flags = static_cast<uint8_t>(flags | (p.on_underflow & collected));
  return flags;
#else
  if (!(wanted & collected)) return body();
  std::feclearexcept(FE_ALL_EXCEPT);
  uint8_t flags = body();
  if (std::fetestexcept(FE_INEXACT)) flags = static_cast<uint8_t>(flags | (p.on_inexact & collected));
  return flags;
#endif
}

}  // namespace
}  // namespace softamp::emu
