#include "src/data/npz_tensors.h"

#include <algorithm>

#include "softamp/data/npz.h"

namespace softamp {

std::map<std::string, Tensor> load_npz(const std::filesystem::path& file) {
  const npz::Reader reader(file);
  const std::vector<std::string>& names = reader.names();
  const bool one = std::any_of(names.begin(), names.end(), [](const auto& n) { return n.starts_with("variables/"); });
  // Where the replicas of a checkpoint differ, those of the first.
  const std::string folder = !reader.has_entry("checkpoint.json") ? "" : one ? "variables/" : "0/";
  std::map<std::string, Tensor> tensors;
  for (const std::string& name : names)
    if (name.starts_with(folder)) {
      // TensorFlow calls output 0 of "w" "w:0", too.
      const size_t end = name.ends_with(":0") ? name.size() - 2 : name.size();
      tensors.emplace(name.substr(folder.size(), end - folder.size()), reader.tensor(name, true));
    }
  return tensors;
}

}  // namespace softamp
