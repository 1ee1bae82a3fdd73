// Attributes that convolutions and pooling share: lists of four, [1, h, w, 1].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"

namespace softamp::graph_detail {

/// "[1,2,2,1]".
inline std::string list_text(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + std::to_string(values[i]);
  return text + "]";
}

/// ksize, strides or dilations: refuses all except [1, h, w, 1] with h and w in 1 .. 2^24.
inline void check_steps(const InferenceContext& c, const char* name) {
  constexpr int64_t kMost = int64_t{1} << 24;
  const std::vector<int64_t>& v = c.get_ints(name);
  const bool fits = v.size() == 4 && v[0] == 1 && v[3] == 1 && v[1] >= 1 && v[1] <= kMost && v[2] >= 1 && v[2] <= kMost;
  if (!fits)
    c.fail(std::string("attribute ") + name + " is " + list_text(v) + "; expected [1,h,w,1] with h and w in 1..2^24");
}

}  // namespace softamp::graph_detail
