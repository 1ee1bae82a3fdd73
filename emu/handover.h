// Tells ThreadSanitizer what it cannot see: oneTBB, a library that is not instrumented, passes work to other threads
// and back in order. Without that sanitizer these functions do nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define SOFTAMP_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SOFTAMP_THREAD_SANITIZER 1
#endif
#endif
#if defined(SOFTAMP_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace softamp::emu {

/// Everything before `give` is visible after a later `take`. There is one pair for all: a worker must take before it
/// reads anything, even a reference.
#if defined(SOFTAMP_THREAD_SANITIZER)
inline char handover_token = 0;
inline void give() { __tsan_release(&handover_token); }
inline void take() { __tsan_acquire(&handover_token); }
#else
inline void give() {}
inline void take() {}
#endif

}  // namespace softamp::emu
