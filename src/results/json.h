// Cells and rows of tables as JSON: what there is not is null.
#pragma once

#include <nlohmann/json.hpp>

#include "src/results/table.h"

namespace softamp::results {

inline nlohmann::ordered_json json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        if constexpr (std::same_as<std::decay_t<decltype(value)>, std::monostate>)
          return nullptr;
        else
          return value;
      },
      cell.value());
}

}  // namespace softamp::results
