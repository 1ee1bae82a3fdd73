// softamp.Format: a format as an object, with its limits.
#pragma once

#include <string>

#include "softamp/numerics/format.h"

namespace softamp::python {

struct Format {
  FloatFormat format;
};

}  // namespace softamp::python
