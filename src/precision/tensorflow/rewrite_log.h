// Files that TensorFlow's pass leaves in its log folder: the graph before and after, and the lists.
#pragma once

#include <string>
#include <vector>

#include "softamp/precision/casts.h"
#include "softamp/precision/op_lists.h"

namespace softamp::precision_detail {

/// A line per node: "name = Op(input, other:1, name-0-CastToFp16) T=float16 device='/gpu:0'", with the types and casts
/// of a plan, if there is one; casts follow their producers.
std::string picture_text(const OpGraph& graph, const CastPlan* plan = nullptr);

/// graphdef_preop.txt. `messages` gets what TensorFlow would log, or a warning where a file cannot be written.
void log_before(const std::string& folder, const OpGraph& graph, std::vector<std::string>& messages);
/// graphdef_AutoMixedPrecision.txt and paintbuckets_AutoMixedPrecision.txt.
void log_after(const std::string& folder, const OpGraph& graph, const CastPlan& plan, const OpLists& lists,
               std::vector<std::string>& messages);

}  // namespace softamp::precision_detail
