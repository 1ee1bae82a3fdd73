// The CUDA engine on the host (device.cpp), behind the backend name "cuda" for as long as a test wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "softamp/graph/executor.h"
#include "src/backend.h"

namespace softamp::serial_grid {

/// Names of the kernels that this thread has launched, until someone clears it.
std::set<std::string>& launched();

std::unique_ptr<Executor> make_executor(Graph graph, ExecutorOptions options);

/// What tests make of the machine.
struct Machine {
  size_t memory = ~size_t{0};        ///< bytes of each device
  int64_t launches_until_lost = -1;  ///< the launch after that many (0: the next) loses its device; -1: none does
};
Machine& machine();

/// While alive, make_executor with backend "cuda" gives this engine.
class Installed {
 public:
  Installed() : before_(exchange_backend("cuda", make_executor)) {}
  ~Installed() { exchange_backend("cuda", before_); }
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;

 private:
  BackendFactory before_;
};

}  // namespace softamp::serial_grid
