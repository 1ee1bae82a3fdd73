// Whole outputs of the command: outputs.py runs the commands of a kept file, and compares all that they give.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/program/process.h"

namespace softamp::test {

/// Thousands of processes, which would be minutes under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kOutputsAreCompared = false;
#else
inline constexpr bool kOutputsAreCompared = true;
#endif

inline void expect_kept_outputs(const std::string& verb) {
  if (!kOutputsAreCompared ||
      std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2> /dev/null") != 0)
    GTEST_SKIP() << "needs python3, of version 3.9 or later, and no sanitizer";
  const Outcome o =
      run_shell("python3 -B '" SOFTAMP_SOURCE_DIR "/tests/program/outputs/outputs.py' '" SOFTAMP_PROGRAM "' " + verb);
  EXPECT_EQ(o.code, 0) << o.out << o.err;
}

}  // namespace softamp::test
