// Files of ours that a later softamp wrote: what to say of them, so that nobody takes them for damaged.
#pragma once

#include <cstdint>
#include <string>

#include "src/text/read_json.h"

namespace softamp {

/// What is wrong with a file whose number of format is greater than `ours`: "its \"softamp_log\" is 2: it is of a newer
/// version of softamp than this one, which reads 1"; empty for any other file. Json: a value of nlohmann's.
template <class Json>
std::string newer_file(const Json& file, const char* key, int ours) {
  if (!file.is_object()) return {};
  const auto found = file.find(key);
  if (found == file.end()) return {};
  if (const auto format = whole_number_in<uint64_t>(*found); !format || std::cmp_less_equal(*format, ours)) return {};
  return "its \"" + std::string(key) + "\" is " + found->dump() +
         ": it is of a newer version of softamp than this one, which reads " + std::to_string(ours);
}

}  // namespace softamp
