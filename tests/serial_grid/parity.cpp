// The parity suite with the CUDA engine's kernels run serially on the host. In the order by_slice, SOFTAMP_SLICE
// chooses one of four parts of the cases as well: eight slices are all of them in both orders (device.cpp).
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/backend/parity_main.h"
#include "tests/serial_grid/serial_grid.h"

int main(int argc, char** argv) {
  const char *const order = std::getenv("SOFTAMP_SERIAL_GRID"), *const slice = std::getenv("SOFTAMP_SLICE");
  const bool all = !order || std::string_view(order) != "by_slice" || !slice;
  const uint64_t parts = all ? 1 : 4, number = all ? 0 : std::strtoull(slice, nullptr, 10), part = number / 2 % parts;
  if (!all)
    std::printf("SOFTAMP_SLICE=%s: part %d of %d of the cases, %s\n", slice, static_cast<int>(part),
                static_cast<int>(parts), number % 2 ? "backwards" : "forwards");
  const softamp::serial_grid::Installed installed;
  return softamp::parity::main_of(argc, argv, 3000, 60000, part, parts);
}
