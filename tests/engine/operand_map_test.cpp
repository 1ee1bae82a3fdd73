// Operands that are broadcast: the element that each element of the output reads.
#include "softamp/engine/operand_map.h"

#include <gtest/gtest.h>

namespace softamp::engine {
namespace {

/// By the axes, one after another.
uint64_t place_of(const Shape& shape, const Shape& output, int64_t index) {
  int64_t place = 0, next = 1;
  for (int a = output.rank() - 1, k = shape.rank() - 1; k >= 0; --a, --k) {
    if (shape[k] != 1) place += index % output[a] * next;
    next *= shape[k];
    index /= output[a];
  }
  return static_cast<uint64_t>(place);
}

// Every way to broadcast to these shapes: an axis is whole, of one element, or, in front of all others, not there.
TEST(OperandMap, IsWhatBroadcastingMeans) {
  for (const std::vector<int64_t>& extents :
       {std::vector<int64_t>{5}, {3, 4}, {2, 3, 4}, {2, 1, 3, 4}, {2, 3, 2, 3, 2}, {1, 1, 6}, {2, 0, 3}}) {
    const Shape output(extents);
    for (size_t lead = 0; lead <= extents.size(); ++lead)
      for (unsigned ones = 0; ones < 1u << (extents.size() - lead); ++ones) {
        std::vector<int64_t> own(extents.begin() + static_cast<std::ptrdiff_t>(lead), extents.end());
        for (size_t k = 0; k < own.size(); ++k)
          if (ones >> k & 1) own[k] = 1;
        const Shape shape(own);
        const OperandMap map(shape, output);
        for (int64_t i = 0; i < output.elements(); ++i)
          ASSERT_EQ(map.place(static_cast<uint64_t>(i)), place_of(shape, output, i))
              << shape.text() << " to " << output.text();
      }
  }
}

// Neighbouring axes of one stride are one axis of the map.
TEST(OperandMap, JoinsAxes) {
  const auto rank = [](const Shape& shape, const Shape& output) { return OperandMap(shape, output).map.rank; };
  EXPECT_EQ(rank({2, 3, 4}, {2, 3, 4}), 0);
  EXPECT_EQ(rank({3, 4}, {2, 3, 4}), 2);
  EXPECT_EQ(rank({4}, {2, 3, 4}), 2);
  EXPECT_EQ(rank({2, 3, 1}, {2, 3, 4}), 2);
  EXPECT_EQ(rank({2, 1, 4}, {2, 3, 4}), 3);
  EXPECT_EQ(rank({}, {2, 3, 4}), 1);
  EXPECT_EQ(rank({2, 1, 1, 4}, {2, 3, 1, 4}), 3);
}

}  // namespace
}  // namespace softamp::engine
