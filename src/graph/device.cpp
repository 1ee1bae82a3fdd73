#include "softamp/graph/device.h"

namespace softamp {

std::string MemoryReport::text() const {
  std::string out = "the program needs " + std::to_string(peak) + " bytes at '" + at + "'";
  if (capacity > 0) out += "; the device has " + std::to_string(capacity);
  out += ". Largest tensors then:";
  for (const Entry& e : largest) out += "\n  " + std::to_string(e.bytes) + " bytes  " + e.tensor;
  return out;
}

}  // namespace softamp
