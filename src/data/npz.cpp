#include "src/data/npz.h"

#include <algorithm>

#include "softamp/data/npy.h"
#include "src/data/archive.h"
#include "src/tensor/npy_types.h"

namespace softamp {

std::map<std::string, Tensor> load_npz(const std::filesystem::path& file) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 32;
  const std::vector<archive::Entry> entries = archive::read_zip(file, kMostBytes);
  const bool checkpoint =
      std::any_of(entries.begin(), entries.end(), [](const archive::Entry& e) { return e.name == "checkpoint.json"; });
  // Where replicas differ, those of the first.
  const bool one = std::any_of(entries.begin(), entries.end(),
                               [](const archive::Entry& e) { return e.name.starts_with("variables/"); });
  const std::string folder = !checkpoint ? "" : one ? "variables/" : "0/";
  std::map<std::string, Tensor> tensors;
  for (const archive::Entry& entry : entries) {
    const std::string place = file.string() + ": entry '" + entry.name + "'";
    if (checkpoint && !entry.name.starts_with(folder)) continue;
    if (!entry.name.ends_with(".npy")) throw npy::Error(place + ": expected an array, NAME.npy");
    std::string name = entry.name.substr(folder.size(), entry.name.size() - folder.size() - 4);
    if (!tensors.emplace(name, parse_npy(entry.bytes, place, true)).second) throw npy::Error(place + " is there twice");
  }
  return tensors;
}

}  // namespace softamp
