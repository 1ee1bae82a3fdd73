// The Cast nodes of training: layers, cells, losses, unscaling and updates add theirs through here, while a graph is
// built. Where a finished graph is cast is decided by plan_casts (precision/casts.h).
#pragma once

#include <string_view>

#include "softamp/graph/graph.h"

namespace softamp {

/// A Cast of `value`, in the builder's scope; also where it has that dtype. name [="Cast"]
// implements: N388
inline Port add_cast(GraphBuilder& b, Port value, DType to, std::string_view name = {}) {
  return b.add("Cast", {value}, {{"DstT", to}}, name);
}

/// `value` itself where it has that dtype, else its Cast.
// implements: N388
inline Port cast_to(GraphBuilder& b, Port value, DType to, std::string_view name = {}) {
  return b.type(value).dtype == to ? value : add_cast(b, value, to, name);
}

}  // namespace softamp
