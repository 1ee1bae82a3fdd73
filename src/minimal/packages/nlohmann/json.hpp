// Found instead of nlohmann's header in a minimal build.
#pragma once

#include "src/minimal/json_value.h"

namespace nlohmann {
using ordered_json = softamp::minimal::Json;
using json = softamp::minimal::Json;
template <class>
using json_sax = softamp::minimal::JsonSax;
}  // namespace nlohmann
