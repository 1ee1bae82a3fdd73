// A plan of casts for those who only count them: names and readers of casts take as long as all the rest.
#pragma once

#include "softamp/precision/casts.h"

namespace softamp::precision_detail {

/// plan_casts, whose casts have no names, devices and readers.
CastPlan counted_casts(const OpGraph& graph, const Colouring& colours);

}  // namespace softamp::precision_detail
