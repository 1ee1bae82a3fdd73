// The host's floating-point environment, in which everything of the library is computed that is not integer arithmetic:
// to nearest, nothing flushed, nothing trapped (N81, N386). Whatever the caller has set makes no difference, and is as
// it was afterwards: control bits and sticky bits.
//
// Every function for users that computes, compares, reads or writes floating-point numbers begins with a
// DefaultEnvironment, and tests/house/environment_test.cpp knows each of them. Callbacks of the user run in it, too.
#pragma once

#include <cstdint>

#if !defined(__SSE2__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace softamp::engine {

/// Sets the registers that arithmetic depends on while alive, then restores them. A few instructions: every task of a
/// thread pool makes its own, since threads have other registers than the caller (oneTBB gives workers the settings
/// that it found first).
// implements: N81
class DefaultRegisters {
 public:
#if defined(__SSE2__)
  DefaultRegisters() {
    constexpr uint32_t kDefault = 0x1F80;
    asm volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(saved_) : "m"(kDefault) : "memory");
  }
  ~DefaultRegisters() { asm volatile("ldmxcsr %0" : : "m"(saved_) : "memory"); }
#elif defined(__aarch64__)
  DefaultRegisters() {
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(status_) : : "memory");
    if (control_ != 0) asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}) : "memory");
  }
  ~DefaultRegisters() { asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control_), "r"(status_) : "memory"); }
#else
  DefaultRegisters() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultRegisters() { std::fesetenv(&saved_); }
#endif
  DefaultRegisters(const DefaultRegisters&) = delete;
  DefaultRegisters& operator=(const DefaultRegisters&) = delete;

 private:
#if defined(__SSE2__)
  uint32_t saved_;
#elif defined(__aarch64__)
  uint64_t control_, status_;
#else
  std::fenv_t saved_;
#endif
};

/// The same for an entry point, with what only libraries read: the control word of x87, from which C's decimal
/// conversions take the rounding mode.
// implements: N81, N386
class DefaultEnvironment {
 public:
#if defined(__SSE2__)
  DefaultEnvironment() : control_(control()), flags_(flags()) {
    constexpr uint16_t kDefault = 0x037F;
    if (control_ != kDefault) set_control(kDefault);
  }
  ~DefaultEnvironment() {
    if (flags() != flags_) set_flags(flags_);
    if (control() != control_) set_control(control_);
  }
#else
  DefaultEnvironment() = default;
#endif
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;

 private:
  DefaultRegisters registers_;
#if defined(__SSE2__)
  static constexpr uint16_t kFlags = 0x3F;
  static uint16_t control() {
    uint16_t word;
    asm volatile("fnstcw %0" : "=m"(word) : : "memory");
    return word;
  }
  static void set_control(uint16_t word) { asm volatile("fldcw %0" : : "m"(word) : "memory"); }
  static uint16_t flags() {
    uint16_t word;
    asm volatile("fnstsw %0" : "=m"(word) : : "memory");
    return word & kFlags;
  }
  static void set_flags(uint16_t wanted) {
    uint16_t state[14];  // the status word is the third, each in four bytes
    asm volatile("fnstenv %0" : "=m"(state) : : "memory");
    state[2] = static_cast<uint16_t>((state[2] & ~kFlags) | wanted);
    asm volatile("fldenv %0" : : "m"(state) : "memory");
  }

  uint16_t control_, flags_;
#endif
};

namespace detail {
template <class Body>
__attribute__((noinline)) auto called(const Body& body) {
  asm volatile("" : : : "memory");
  return body();
}
}  // namespace detail

/// What `body` returns, computed in the default environment. For arithmetic on arguments and results that are single
/// numbers, which a compiler could move past a guard: it moves nothing out of a function that it does not see into.
template <class Body>
auto in_default_environment(const Body& body) {
  const DefaultEnvironment guard;
  return detail::called(body);
}

}  // namespace softamp::engine
