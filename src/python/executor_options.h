// ExecutorOptions as keyword arguments.
#pragma once

#include "softamp/graph/executor.h"
#include "src/python/arrays.h"

namespace softamp::python {

/// The keys, which docs/PYTHON.md lists; others throw TypeError, values out of range ValueError.
ExecutorOptions executor_options_from(nb::dict options);

}  // namespace softamp::python
