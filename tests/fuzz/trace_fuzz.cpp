// libFuzzer target: two traces, the second after the first empty line, are refused with std::invalid_argument, or
// compared: a trace is equal to itself, and a difference is one from either side.
#include <stdexcept>
#include <string>

#include "softamp/graph/trace.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/memory_file.h"

using namespace softamp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find("\n\n"), size);
  const MemoryFile a(text.substr(0, cut)), b(cut + 2 <= size ? text.substr(cut + 2) : text);
  try {
    const TraceComparison there = compare_traces(a.path(), b.path());
    const TraceComparison back = compare_traces(b.path(), a.path());
    require(there.difference.has_value() == back.difference.has_value(), "a difference has two sides");
    require(there.tensors == back.tensors, "both sides count alike");
    if (there.difference) return 0;
    require(!compare_traces(a.path(), a.path()).difference, "a trace is equal to itself");
  } catch (const std::invalid_argument& e) {
    require(std::string(e.what()).rfind("/proc/self/fd/", 0) == 0, "an error names the file");
  }
  return 0;
}
