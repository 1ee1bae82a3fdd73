// What the programs of this folder run on: the GPU, or, compiled with SOFTAMP_SERIAL_GRID, the same kernels on the host
// (tests/serial_grid), so that the programs themselves are tested without a GPU.
#pragma once

#if defined(SOFTAMP_SERIAL_GRID)

#include "tests/serial_grid/serial_grid.h"

namespace softamp::gpu {
using Installed = serial_grid::Installed;
}  // namespace softamp::gpu

#else

namespace softamp::gpu {
struct Installed {
  Installed() {}
};
}  // namespace softamp::gpu

#endif
