// The CUDA executor behind graph/executor.h, and what of tensor/chip_round.h and device_round.h runs on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "softamp/graph/executor.h"
#include "softamp/tensor/chip_round.h"
#include "softamp/tensor/device_round.h"

namespace softamp::cuda {

/// Throws DeviceError (a std::runtime_error) if no device can run it, saying why and what would work.
std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options);

/// The device that make_executor takes, as a line of text ("NVIDIA H100 80GB HBM3, compute capability 9.0, 79.1 GiB");
/// empty if there is none, and `why` then gives the reason.
std::string device_name(std::string* why = nullptr);

/// bulk::round_as of nvidia_sm100 and nvidia_sm103, with checked arguments; codes of as many bits as the format has.
void round_as(const bulk::ChipConversion& conversion, std::span<const float> in, void* codes,
              const bulk::RandomSource& random, FpStatus* status);

/// bulk::round_on_device with checked arguments.
void round_on_device(const bulk::DeviceRounding& rounding, const Semantics& semantics,
                     const bulk::BulkOptions& options);

/// The compute capabilities that this build has code for, such as "9.0"; empty without CUDA.
std::vector<std::string> architectures();

}  // namespace softamp::cuda
