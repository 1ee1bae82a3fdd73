// The parity suite with the CUDA engine's kernels run serially on the host.
#include "tests/backend/parity_main.h"
#include "tests/serial_grid/serial_grid.h"

int main(int argc, char** argv) {
  const softamp::serial_grid::Installed installed;
  return softamp::parity::main_of(argc, argv, 3000, 60000);
}
