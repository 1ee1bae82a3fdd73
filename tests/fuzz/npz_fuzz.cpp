// libFuzzer target: any bytes are an archive of arrays, of whose entries each is read, or an npy::Error.
#include "softamp/data/npz.h"
#include "tests/fuzz/require.h"

using namespace softamp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kMostBytes = 1 << 20;
  try {
    const npz::Reader reader({reinterpret_cast<const std::byte*>(data), size}, "memory", kMostBytes);
    for (const std::string& name : reader.names()) {
      require(reader.has(name) && reader.has_entry(name + ".npy"), "a name is there");
      try {
        const npy::Header header = reader.header(name);
        const Tensor tensor = reader.tensor(name, true);
        require(tensor.shape().rank() == static_cast<int>(header.shape.size()), "the array has the header's shape");
        require(tensor.bytes() <= kMostBytes, "no array is longer than what is read");
      } catch (const npy::Error&) {
      }
    }
  } catch (const npy::Error&) {
  }
  return 0;
}
