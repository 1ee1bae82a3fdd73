// Asks the CUDA runtime for the facts of cuda/device_check.h. For the engine, and for programs of their own that run on
// a GPU (tests/gpu, tests/backend).
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/device_check.h"

namespace softamp::cuda {

#define SOFTAMP_ROW(error, failure) \
  static_assert(cudaError##error != cudaSuccess && Failure::failure != Failure::kOther);
SOFTAMP_CUDA_ERRORS(SOFTAMP_ROW)
#undef SOFTAMP_ROW

/// Also forgets the error: else the next launch would seem to have failed.
inline RuntimeError runtime_error(cudaError_t error) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return {cudaGetErrorName(error), cudaGetErrorString(error)};
}

/// Makes device `ordinal` the thread's, and uses it for the first time if nothing forbids that.
inline DeviceFacts facts_of(int ordinal) {
  DeviceFacts f;
  f.ordinal = ordinal;
  cudaDriverGetVersion(&f.driver);
  cudaRuntimeGetVersion(&f.runtime);
  f.listing = runtime_error(cudaGetDeviceCount(&f.devices));
  if (f.listing) f.devices = 0;
  if (ordinal < 0 || ordinal >= f.devices) return f;
  cudaDeviceProp properties;
  int mode = cudaComputeModeDefault;
  f.asking = runtime_error(cudaGetDeviceProperties(&properties, ordinal));
  if (!f.asking) f.asking = runtime_error(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, ordinal));
  if (f.asking) return f;
  f.name = properties.name;
  f.major = properties.major;
  f.minor = properties.minor;
  f.mode = mode == cudaComputeModeProhibited ? ComputeMode::kProhibited
           : mode == cudaComputeModeDefault  ? ComputeMode::kShared
                                             : ComputeMode::kOneProcess;
  if (!why_unusable(f).empty()) return f;
  f.using_it = runtime_error(cudaSetDevice(ordinal));
  if (!f.using_it) f.using_it = runtime_error(cudaFree(nullptr));  // makes the context where cudaSetDevice does not
  return f;
}

}  // namespace softamp::cuda
