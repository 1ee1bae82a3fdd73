// The checks of `softamp selftest --backend cuda`: a GPU computes what the CPU does, bit for bit. A spot check of what
// tests/gpu.sh proves, and without anything but the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softamp::program {

/// What a check has compared. Digests are XXH3-128 of emu's values: equal on every machine.
struct BackendFinding {
  uint64_t values = 0;  ///< compared; each with its bits
  std::string digest;
  std::string problem;  ///< the first difference; empty where there is none
};

struct BackendCheck {
  std::string name;
  /// Runs on "emu" and on the other backend. Throws as make_executor and Executor::run.
  BackendFinding (*run)(const std::string& backend);
};

/// Casts in bulk, products, random graphs, and steps of training.
std::vector<BackendCheck> backend_checks();

}  // namespace softamp::program
