// ExecutorOptions as keyword arguments.
#pragma once

#include "softamp/graph/executor.h"
#include "src/graph/graph_use.h"
#include "src/python/arrays.h"

namespace softamp::python {

/// The keys, which docs/PYTHON.md lists; others throw TypeError, values out of range ValueError.
ExecutorOptions executor_options_from(nb::dict options);

/// Throws ValueError where one of the keys changes no result of a graph that uses settings in this way. `stochastic`:
/// what would make its roundings stochastic.
void refuse_idle_options(nb::dict options, const ExecutorOptions& o, const graph_detail::GraphUse& use,
                         const char* stochastic = "behaviour=softamp.behaviour(esr=True)");

}  // namespace softamp::python
