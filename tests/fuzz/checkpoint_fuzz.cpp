// libFuzzer target: checkpoints whose checksums agree, so that what stands behind them is read. The input is the JSON
// of checkpoint.json without its first two fields; its field "entries" lists the arrays: [["name", "<f4", [2, 3]],
// ...]. Any is refused with CheckpointError, or gives a state.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "softamp/data/npy.h"
#include "src/train/checkpoint_entries.h"
#include "src/train/run/run_progress.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/require.h"

using namespace softamp;
using fuzz::Json;

namespace {

archive::Entry entry_of(const std::string& name, std::string_view bytes) {
  archive::Entry entry{name, {}};
  entry.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(entry.bytes.data(), bytes.data(), bytes.size());
  return entry;
}

/// Zeros of that type and shape.
std::string array_of(const std::string& type, const Json& shape) {
  using npy::ElementType;
  ElementType element = ElementType::kFloat32;
  for (const ElementType e : {ElementType::kFloat16, ElementType::kFloat64, ElementType::kInt32, ElementType::kBool,
                              ElementType::kUint8, ElementType::kUint16, ElementType::kUint32})
    if (type == npy::descr(e)) element = e;
  std::vector<uint64_t> extents;
  uint64_t elements = 1;
  for (const Json& extent : shape)
    if (extent.is_number_unsigned() && extents.size() < 4) {
      extents.push_back(std::min<uint64_t>(extent.get<uint64_t>(), 8));
      elements *= extents.back();
    }
  return npy::make_header(element, extents) + std::string(elements * npy::size_of(element), '\0');
}

std::vector<archive::Entry> arrays_of(const Json& json) {
  std::vector<archive::Entry> entries;
  if (!json.is_object() || !json.contains("entries")) return entries;
  for (const Json& e : json["entries"])
    if (e.is_array() && e.size() == 3 && e[0].is_string() && e[1].is_string() && entries.size() < 16)
      entries.push_back(entry_of(e[0], array_of(e[1], e[2])));
  return entries;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<archive::Entry> entries = arrays_of(Json::parse(text, nullptr, false));
  const std::string json = train_detail::with_checksum(entries, text.substr(std::min<size_t>(text.size(), 1)));
  entries.push_back(entry_of("checkpoint.json", json));
  try {
    const Checkpoint c = train_detail::checkpoint_of(entries, "input");
    require(c.state.step >= 0 && c.state.optimizer_step >= 0, "counters are not negative");
    require(c.state.tensors.size() <= 256, "replicas are within their limit");
    train_detail::RunProgress::from_json(c.progress);
  } catch (const CheckpointError& e) {
    require_named(e);
    // At the start: the words may be the input's as well.
    require(!std::string(e.what()).starts_with("input: the contents' checksum is"), "the checksum agrees");
  } catch (const std::exception& e) {  // of RunProgress
    require(*e.what() != 0, "a refusal says why");
  }
  return 0;
}
