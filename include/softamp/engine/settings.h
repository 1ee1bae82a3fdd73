// An executor's options, as kernels take them.
#pragma once

#include "softamp/engine/op_kernel.h"
#include "softamp/graph/executor.h"

namespace softamp::engine {

/// Throws std::invalid_argument for an option out of range, naming it, its value and what was expected.
EngineSettings settings_of(const ExecutorOptions& options);

}  // namespace softamp::engine
