// A plan of casts for those who only count them: names of casts take as long as all the rest.
#pragma once

#include "softamp/precision/casts.h"

namespace softamp::precision_detail {

/// plan_casts without names.
CastPlan unnamed_casts(const OpGraph& graph, const Colouring& colours);

}  // namespace softamp::precision_detail
