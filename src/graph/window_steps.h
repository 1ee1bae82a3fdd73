// Attributes that convolutions and pooling share: lists of four, [1, h, w, 1].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"
#include "src/text/joined.h"

namespace softamp::graph_detail {

/// ksize, strides or dilations: refuses all except [1, h, w, 1] with h and w in 1 .. 2^24.
inline void check_steps(const InferenceContext& c, const char* name) {
  constexpr int64_t kMost = int64_t{1} << 24;
  const std::vector<int64_t>& v = c.get_ints(name);
  const bool fits = v.size() == 4 && v[0] == 1 && v[3] == 1 && v[1] >= 1 && v[1] <= kMost && v[2] >= 1 && v[2] <= kMost;
  if (!fits)
    c.fail(std::string("attribute ") + name + " is " + list_text(v) + "; expected [1,h,w,1] with h and w in 1..2^24");
}

}  // namespace softamp::graph_detail
