#include "src/machine/machine_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace softamp::engine {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

uint64_t sum(uint64_t a, uint64_t b) { return a > kUnlimited - b ? kUnlimited : a + b; }

/// The number that a text begins with, after blanks.
std::optional<uint64_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

/// What a file of one number says. None: there is no such file, or it says "max", as a group without a limit does.
std::optional<uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? number_at(line) : std::nullopt;
}

/// Bytes of physical memory and of swap; no physical memory: not known.
std::pair<std::optional<uint64_t>, uint64_t> physical(const fs::path& root) {
  std::optional<uint64_t> memory;
  uint64_t swap = 0;
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);)
    for (const std::string_view name : {"MemTotal:", "SwapTotal:"}) {
      if (!line.starts_with(name)) continue;
      const std::optional<uint64_t> kilobytes = number_at(std::string_view(line).substr(name.size()));
      if (!kilobytes || *kilobytes > kUnlimited / 1024) continue;
      if (name == "MemTotal:")
        memory = *kilobytes * 1024;
      else
        swap = *kilobytes * 1024;
    }
  return {memory, swap};
}

/// Calls `see` with the folder of a group and of all above it, up to the hierarchy's own. A container may see its own
/// group as that: a path that is not there is left out.
template <class See>
void up_from(const fs::path& hierarchy, const std::string& group, const See& see) {
  fs::path folder = fs::path(group).relative_path().lexically_normal();
  for (; !folder.empty() && folder != "."; folder = folder.parent_path()) see(hierarchy / folder);
  see(hierarchy);
}

/// The least that the control groups leave to memory and swap together.
uint64_t of_groups(const fs::path& root, uint64_t swap) {
  uint64_t least = kUnlimited;
  const auto limit = [&](const fs::path& memory, const fs::path& swapped) {
    if (const std::optional<uint64_t> bytes = number_in(memory))
      least = std::min(least, sum(*bytes, std::min(swap, number_in(swapped).value_or(kUnlimited))));
  };
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "0::/a/b" of version 2, "4:cpu,memory:/a/b" of version 1
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,") {
      for (const char* mounted : {"sys/fs/cgroup", "sys/fs/cgroup/unified"})
        up_from(root / mounted, group,
                [&](const fs::path& folder) { limit(folder / "memory.max", folder / "memory.swap.max"); });
    } else if (controllers.find(",memory,") != std::string::npos) {
      up_from(root / "sys/fs/cgroup/memory", group, [&](const fs::path& folder) {
        limit(folder / "memory.limit_in_bytes", {});
        if (const auto both = number_in(folder / "memory.memsw.limit_in_bytes")) least = std::min(least, *both);
      });
    }
  }
  return least;
}

}  // namespace

std::string MachineMemory::text() const { return std::to_string(bytes) + " bytes (" + of + ")"; }

MachineMemory machine_memory(const ProcessLimits& limits, const fs::path& root) {
  MachineMemory least;
  const auto limit = [&](uint64_t bytes, const char* of) {
    if (bytes < least.bytes) least = {bytes, of};
  };
  const auto [memory, swap] = physical(root);
  if (memory) limit(sum(*memory, swap), "this machine, swap included");
  limit(of_groups(root, swap), "its control group");
  limit(limits.address_space, "ulimit -v");
  limit(limits.data, "ulimit -d");
  return least;
}

MachineMemory machine_memory() {
  const auto limit_of = [](auto resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? uint64_t{limit.rlim_cur}
                                                                                 : kUnlimited;
  };
  return machine_memory({limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA)});
}

}  // namespace softamp::engine
