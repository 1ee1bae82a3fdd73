// libFuzzer target: any bytes given to the safetensors reader are refused with safetensors::Error or understood
// consistently; a header without its data is tried with the data that it promises.
#include "softamp/data/safetensors.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/require.h"

#include <algorithm>
#include <vector>

namespace st = softamp::safetensors;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The tensors lie one behind the other, and fill what is behind the header.
void check_layout(const st::Header& header, uint64_t file_size) {
  uint64_t end = 0;
  for (const st::Entry& e : header.tensors) {
    require(e.begin == end && e.end >= e.begin, "a tensor begins where the one before ends");
    const uint64_t bits = static_cast<uint64_t>(st::bits_of(e.type));
    require(e.bytes() * 8 % bits == 0 && e.bytes() * 8 / bits == e.elements, "its bytes are those of its elements");
    end = e.end;
  }
  require(header.data_offset + end == file_size, "the data fill the file");
}

/// What we would write for these tensors reads back as the same tensors.
void write_and_read(const st::Header& header) {
  const st::Header again = st::arrange(header.tensors, header.metadata, "input");
  const std::string text = st::header_bytes(again);
  require(text.size() == again.data_offset && text.size() % 8 == 0, "written data are aligned");
  const uint64_t data = again.tensors.empty() ? 0 : again.tensors.back().end;
  const st::Header back = st::parse_header(bytes_of(text), text.size() + data, "written");
  require(back.metadata == header.metadata && back.tensors.size() == header.tensors.size(), "nothing is lost");
  check_layout(back, text.size() + data);
  // Tensors without elements may lie anywhere, so they are told apart by their names.
  const auto by_name = [](std::vector<st::Entry> tensors) {
    std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return tensors;
  };
  const std::vector<st::Entry> ours = by_name(back.tensors), theirs = by_name(header.tensors);
  for (size_t i = 0; i < ours.size(); ++i)
    require(ours[i].name == theirs[i].name && ours[i].type == theirs[i].type && ours[i].shape == theirs[i].shape,
            "a written header reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const bool whole : {true, false}) {
    // Of a text alone, the length is made to fit.
    std::string file = text;
    if (!whole) {
      file.clear();
      for (int i = 0; i < 8; ++i) file += static_cast<char>(size >> (8 * i) & 0xFF);
      file += text;
    }
    try {
      const st::Header header = st::parse_header(bytes_of(file), file.size(), "input");
      check_layout(header, file.size());
      write_and_read(header);
      const MemoryFile memory(file);
      const st::Reader reader(memory.path().string());
      for (const st::Entry& e : header.tensors) {
        std::vector<std::byte> all(e.bytes());
        reader.read(e.name, 0, all);
        const auto begin = bytes_of(file).begin() + static_cast<ptrdiff_t>(header.data_offset + e.begin);
        require(std::equal(all.begin(), all.end(), begin), "the bytes of a tensor are those of the file");
      }
    } catch (const st::Error& e) {
      require_named(e);
    }
  }
  return 0;
}
