// libFuzzer target: any bytes given to the .npy header reader are refused with npy::Error or understood consistently.

#include "softamp/data/npy.h"
#include "tests/fuzz/require.h"

namespace npy = softamp::npy;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  npy::Header header;
  try {
    header = npy::parse_header({reinterpret_cast<const std::byte*>(data), size}, size, "input");
  } catch (const npy::Error& e) {
    require_named(e);
    return 0;
  }
  require(header.data_offset <= size, "the data begin inside the file");
  require(header.elements == (size - header.data_offset) / npy::size_of(header.type), "the data fill the file");
  require(header.elements == npy::element_count(header.shape, npy::size_of(header.type), "input"),
          "count is the product");

  // What we would write for this array reads back as the same array.
  const std::string again = npy::make_header(header.type, header.shape);
  require(again.size() % 64 == 0, "written data are aligned");
  const uint64_t file_size = again.size() + header.elements * npy::size_of(header.type);
  const npy::Header back =
      npy::parse_header({reinterpret_cast<const std::byte*>(again.data()), again.size()}, file_size, "written");
  require(back.type == header.type && back.shape == header.shape && back.elements == header.elements &&
              back.data_offset == again.size(),
          "a written header reads back");
  return 0;
}
