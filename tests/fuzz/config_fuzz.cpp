// libFuzzer target: any bytes given to the reader of IpuConfig are refused with std::invalid_argument, or give a
// configuration that reads back equal after it is written.
#include <stdexcept>
#include <string>

#include "softamp/graph/ipu_config.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/require.h"

using namespace softamp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string written;
  try {
    written = IpuConfig::from_json({reinterpret_cast<const char*>(data), size}).to_json();
  } catch (const std::invalid_argument& e) {
    require(*e.what() != 0, "a refusal says why");
    return 0;
  }
  require(IpuConfig::from_json(written).to_json() == written, "a configuration reads back equal");
  return 0;
}
