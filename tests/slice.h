// What is too long for every run is done in parts, and SOFTAMP_SLICE chooses the part (tests/slice.sh). The ctest
// entries of such tests have the label slice, by which tests/slices.sh walks all parts.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/mixer.h"

namespace softamp::test {

/// One part of a test's cases; all of them without SOFTAMP_SLICE. It says which.
class Slice {
 public:
  explicit Slice(uint64_t parts) {
    const char* const slice = std::getenv("SOFTAMP_SLICE");
    if (!slice || !*slice) return;
    parts_ = parts;
    part_ = std::strtoull(slice, nullptr, 10) % parts;
    std::printf("SOFTAMP_SLICE=%s: part %d of %d of the cases\n", slice, static_cast<int>(part_),
                static_cast<int>(parts_));
  }
  /// Whether this is the part of that number, where each has one case.
  bool is(uint64_t part) const { return parts_ == 1 || part_ == part; }
  /// Whether the next case is in it. Cases are dealt at random, since what they are is often a matter of their number.
  bool takes() { return deal_() % parts_ == part_; }

 private:
  uint64_t parts_ = 1, part_ = 0;
  Mixer deal_{4};
};

}  // namespace softamp::test
