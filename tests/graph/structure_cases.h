// A node of an operation that moves elements, at random: for the tests of the graph and of the engine.
#pragma once

#include <random>

#include "softamp/graph/graph.h"
#include "tests/shuffle.h"

namespace softamp::test {

using Ints = std::vector<int64_t>;

inline int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

/// Adds a random node of `op` with placeholders of `dtype` as inputs; returns its output 0.
inline Port add_random(GraphBuilder& b, std::mt19937& random, const std::string& op, DType dtype) {
  Ints extents;
  for (int64_t rank = pick(random, 1, 4); rank-- > 0;)
    extents.push_back(pick(random, 0, 9) == 0 ? 0 : pick(random, 1, 7));
  const int rank = static_cast<int>(extents.size());
  const int64_t axis = pick(random, -rank, rank - 1);
  const size_t a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const auto shape = [&] { return Shape(std::span<const int64_t>(extents)); };
  if (op == "ConcatV2") {
    std::vector<Port> inputs;
    for (int64_t n = pick(random, 1, 4); n-- > 0;) {
      extents[a] = pick(random, 0, 4);
      inputs.push_back(b.placeholder("x", dtype, shape()));
    }
    return b.add(op, inputs, {{"axis", axis}});
  }
  if (op == "Pack") {
    std::vector<Port> inputs;
    for (int64_t n = pick(random, 1, 4); n-- > 0;) inputs.push_back(b.placeholder("x", dtype, shape()));
    return b.add(op, inputs, {{"axis", pick(random, -rank - 1, rank)}});
  }
  Ints first, second, third;
  Attributes attributes;
  if (op == "Unpack") {
    extents[a] = pick(random, 1, 4);
    attributes = {{"num", extents[a]}, {"axis", axis}};
  } else if (op == "Split") {
    const int64_t parts = pick(random, 1, 3);
    extents[a] = parts * pick(random, 0, 3);
    attributes = {{"num_split", parts}, {"axis", axis}};
  } else if (op == "SplitV") {
    extents[a] = 0;
    for (int64_t n = pick(random, 1, 4); n-- > 0;) extents[a] += first.emplace_back(pick(random, 0, 3));
    attributes = {{"size_splits", first}, {"axis", axis}};
  } else if (op == "Transpose") {
    for (int i = 0; i < rank; ++i) first.push_back(i);
    shuffle(first, random);
    attributes = {{"perm", first}};
  } else if (op == "Pad") {
    for (int i = 0; i < 2 * rank; ++i) first.push_back(pick(random, 0, 3));
    attributes = {{"paddings", first}, {"constant_value", dtype == DType::kBool ? 1.0 : -3.0}};
  } else if (op == "Slice") {
    for (const int64_t extent : extents) {
      first.push_back(pick(random, 0, extent));
      second.push_back(pick(random, -1, extent - first.back()));
    }
    attributes = {{"begin", first}, {"size", second}};
  } else if (op == "StridedSlice") {
    for (int64_t n = pick(random, 0, rank); n-- > 0;) {
      first.push_back(pick(random, -9, 9));
      second.push_back(pick(random, -9, 9));
      third.push_back(pick(random, 1, 4) * (random() % 2 ? 1 : -1));
    }
    attributes = {{"begin", first},
                  {"end", second},
                  {"strides", third},
                  {"begin_mask", pick(random, 0, 15)},
                  {"end_mask", pick(random, 0, 15)}};
    if (!first.empty() && extents[0] > 0 && random() % 3 == 0) {
      first[0] = pick(random, -extents[0], extents[0] - 1);
      attributes["begin"] = first;
      attributes["shrink_axis_mask"] = 1;
    }
  } else {  // Tile
    for (int i = 0; i < rank; ++i) first.push_back(pick(random, 0, 3));
    attributes = {{"multiples", first}};
  }
  return b.add(op, {b.placeholder("x", dtype, shape())}, attributes);
}

}  // namespace softamp::test
