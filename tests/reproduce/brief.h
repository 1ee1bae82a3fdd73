// The brief form of an experiment as tests ask for it, and what it found as one text.
#pragma once

#include <cstdint>
#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

inline Request brief_request(uint64_t seed = 0) {
  Request request;
  request.brief = true;
  request.seed = seed;
  return request;
}

/// Settings, tables and checks.
inline std::string whole_text(const Outcome& o) {
  std::string all = o.settings.dump();
  for (const Table& t : o.tables)
    for (const auto& row : t.rows)
      for (const Json& cell : row) all += cell.dump() + ",";
  for (const Check& c : o.checks) all += c.what + c.ours;
  return all;
}

}  // namespace softamp::reproduce
