// Chooses the engine that runs a graph. No other file knows both engines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"

namespace softamp {

using BackendFactory = std::unique_ptr<Executor> (*)(Graph, ExecutorOptions);

/// Replaces the factory of a backend; returns the one before. For tests: not while executors are made.
BackendFactory exchange_backend(const std::string& name, BackendFactory factory);

/// What this build's CUDA engine was compiled for, compute capabilities such as "9.0"; empty in a build without CUDA.
std::vector<std::string> cuda_architectures();

}  // namespace softamp
