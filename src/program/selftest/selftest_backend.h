// The checks of `softamp selftest --backend cuda`: a GPU computes what the CPU does, bit for bit. A spot check of what
// tests/gpu.sh proves; it needs only the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softamp::program {

/// The result of a check. Digests are XXH3-128 of emu's values: equal on every machine.
struct BackendFinding {
  uint64_t values = 0;  ///< values compared bit for bit
  std::string digest;
  std::string problem;  ///< the first difference; empty if there is none
};

struct BackendCheck {
  std::string name;
  /// Runs on "emu" and on the other backend. Throws as make_executor and Executor::run.
  BackendFinding (*run)(const std::string& backend);
};

/// Casts in bulk, products, random graphs, and steps of training.
std::vector<BackendCheck> backend_checks();

}  // namespace softamp::program
