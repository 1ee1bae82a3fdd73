// Files of ours that a later softamp wrote: what to say of them, so that nobody takes them for damaged.
#pragma once

#include <string>

namespace softamp {

/// What is wrong with a file whose number of format is greater than `ours`: "its \"softamp_log\" is 2: it is of a newer
/// version of softamp than this one, which reads 1"; empty for any other file. Json: a value of nlohmann's.
template <class Json>
std::string newer_file(const Json& file, const char* key, int ours) {
  if (!file.is_object()) return {};
  const auto found = file.find(key);
  if (found == file.end() || !found->is_number_integer() || !(*found > ours)) return {};
  return "its \"" + std::string(key) + "\" is " + found->dump() +
         ": it is of a newer version of softamp than this one, which reads " + std::to_string(ours);
}

}  // namespace softamp
