// How much memory this process can get at all: the one place that asks the machine. What needs more is refused before
// it begins, with its figures; what needs less may still find the memory taken, and ends when it asks for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace softamp::engine {

/// A limit and whose it is.
struct MachineMemory {
  uint64_t bytes = UINT64_MAX;  ///< [=no limit is known]
  std::string of;               ///< "this machine, swap included", "its control group", "ulimit -v", "ulimit -d"
  /// "17179869184 bytes (this machine, swap included)"
  std::string text() const;
};

/// Limits of the process, as getrlimit gives them (RLIMIT_AS, RLIMIT_DATA).
struct ProcessLimits {
  uint64_t address_space = UINT64_MAX, data = UINT64_MAX;
};

/// The least of: physical memory and swap (/proc/meminfo); what the process's control groups, of either version, and
/// those above them may use; the limits. A file that is not there, or says something else, is no limit.
/// root: where /proc and /sys lie, for tests.
MachineMemory machine_memory(const ProcessLimits& limits, const std::filesystem::path& root = "/");
/// The same of this process, asked at every call.
MachineMemory machine_memory();

}  // namespace softamp::engine
