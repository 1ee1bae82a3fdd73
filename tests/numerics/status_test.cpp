// Flags, the sticky status with its lowest index per flag, and the status register.
#include <gtest/gtest.h>

#include "softamp/numerics/status.h"

namespace softamp {
namespace {

// tests: N30
TEST(Status, FlagBitsAreTestFloats) {
  EXPECT_EQ(kInexact, 0x01);
  EXPECT_EQ(kUnderflow, 0x02);
  EXPECT_EQ(kOverflow, 0x04);
  EXPECT_EQ(kDivideByZero, 0x08);
  EXPECT_EQ(kInvalid, 0x10);
}

// tests: N56
TEST(Status, RegisterBits) {
  EXPECT_EQ(StatusRegister::encode(kInvalid), 1u);
  EXPECT_EQ(StatusRegister::encode(kDivideByZero), 2u);
  EXPECT_EQ(StatusRegister::encode(kOverflow), 4u);
  EXPECT_EQ(StatusRegister::encode(kInexact | kUnderflow), 0u);
  for (uint32_t word = 0; word < 8; ++word) EXPECT_EQ(StatusRegister::encode(StatusRegister::decode(word)), word);
}

TEST(Status, KeepsTheLowestIndexOfEachFlag) {
  FpStatus s;
  EXPECT_EQ(s.lowest_index(kAllFlags), FpStatus::kNever);
  s.raise(kOverflow, 9);
  s.raise(kOverflow | kInvalid, 12);
  s.raise(kOverflow, 7);
  s.raise(0, 1);
  EXPECT_EQ(s.flags, kOverflow | kInvalid);
  EXPECT_EQ(s.lowest_index(kOverflow), 7u);
  EXPECT_EQ(s.lowest_index(kInvalid), 12u);
  EXPECT_EQ(s.lowest_index(kInvalid | kOverflow), 7u);
  EXPECT_EQ(s.lowest_index(kDivideByZero), FpStatus::kNever);
}

TEST(Status, MergesInAnyOrder) {
  FpStatus a, b;
  a.raise(kOverflow, 5);
  a.raise(kInexact, 0);
  b.raise(kOverflow, 3);
  b.raise(kInvalid, 8);
  FpStatus ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab.flags, kOverflow | kInexact | kInvalid);
  EXPECT_EQ(ab.lowest_index(kOverflow), 3u);
  EXPECT_EQ(ab.lowest_index(kInexact), 0u);
  EXPECT_EQ(ab.lowest_index(kInvalid), 8u);
}

}  // namespace
}  // namespace softamp
