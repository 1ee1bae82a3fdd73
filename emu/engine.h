// The CPU executor behind graph/executor.h.
#pragma once

#include <memory>

#include "softamp/graph/executor.h"

namespace softamp::emu {

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options);

}  // namespace softamp::emu
