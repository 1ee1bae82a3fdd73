// The executor of graph/executor.h over any engine: order, buffers, feeds, variables, queues, status, observers.
// Everything specific to a backend is in its engine.
#pragma once

#include <memory>

#include "softamp/engine/engine.h"
#include "softamp/graph/executor.h"

namespace softamp::engine {

/// See softamp::make_executor.
std::unique_ptr<Executor> make_graph_executor(Graph graph, ExecutorOptions options, std::unique_ptr<Engine> engine);

}  // namespace softamp::engine
