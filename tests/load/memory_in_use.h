// How much memory this process has asked for, and how often a load is repeated.
#pragma once

#include <gtest/gtest.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <string>

namespace softamp::test {

/// `daily` in every run of the tests, `nightly` under that label (SOFTAMP_LOAD=nightly).
inline int64_t times(int64_t daily, int64_t nightly) {
  const char* load = std::getenv("SOFTAMP_LOAD");
  return load != nullptr && std::string(load) == "nightly" ? nightly : daily;
}

/// Bytes that are allocated and not given back. Not what the system has given to the process: that also moves with
/// free memory in between. 0 where it cannot be asked for: without glibc, and where a sanitizer has its own allocator.
inline int64_t memory_in_use() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

/// Runs `step` so often, and demands that it leaves no memory behind once the first `warm_up` have run. What is kept in
/// pools moves a little to and fro; anything that a step leaves behind comes to more than `slack` bytes.
template <class Step>
void expect_no_growth(int64_t steps, int64_t warm_up, const Step& step, int64_t slack = 32 << 10) {
  ASSERT_GT((steps - warm_up) * 64, slack) << "a loss of 64 bytes a step would not be seen";
  for (int64_t i = 0; i < warm_up; ++i) step(i);
  const int64_t before = memory_in_use();
  for (int64_t i = warm_up; i < steps; ++i) step(i);
  const int64_t grown = memory_in_use() - before;
  EXPECT_LE(grown, slack) << grown / (steps - warm_up) << " bytes a step";
  testing::Test::RecordProperty("steps", std::to_string(steps));
  testing::Test::RecordProperty("bytes_grown", std::to_string(grown));
}

}  // namespace softamp::test
