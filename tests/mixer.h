// A generator of test data that is independent of those under test, and gives the same on every machine.
#pragma once

#include <cstdint>

namespace softamp::test {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Mixer {
 public:
  explicit Mixer(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>((*this)() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t a, int64_t b) { return a + below(b - a + 1); }

 private:
  uint64_t state_;
};

}  // namespace softamp::test
