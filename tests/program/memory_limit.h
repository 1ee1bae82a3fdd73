// The command under `ulimit -v`: a machine with so much memory.
#pragma once

#include <string>

#include "tests/program/process.h"

namespace softamp::test {

/// Sanitizers reserve more than any such limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryCanBeLimited = false;
#else
inline constexpr bool kMemoryCanBeLimited = true;
#endif

inline Outcome run_softamp_within(int megabytes, const std::string& arguments, const std::string& input = "") {
  return run_shell("ulimit -v " + std::to_string(1024 * megabytes) + "; '" SOFTAMP_PROGRAM "' " + arguments, input);
}

}  // namespace softamp::test
