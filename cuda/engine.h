// The CUDA executor behind graph/executor.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"

namespace softamp::cuda {

/// Throws DeviceError (a std::runtime_error) if no device can run it, saying why and what would work.
std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options);

/// The device that make_executor takes, as a line of text ("NVIDIA H100 80GB HBM3, compute capability 9.0, 79.1 GiB");
/// empty if there is none, and `why` then gives the reason.
std::string device_name(std::string* why = nullptr);

/// The compute capabilities that this build has code for, such as "9.0"; empty without CUDA.
std::vector<std::string> architectures();

}  // namespace softamp::cuda
