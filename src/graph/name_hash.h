// The hash under which a graph finds its nodes. No result depends on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace softamp::graph_detail {

inline uint32_t hash_of(std::string_view name) {
  const uint64_t hash = std::hash<std::string_view>{}(name);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace softamp::graph_detail
