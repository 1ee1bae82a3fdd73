// Sorting many things by their names, which may share long beginnings.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace softamp::precision_detail {

/// Puts items into the order of their names, names[i] being that of items[i]; those with one name keep their order.
void sort_by_names(std::vector<int>& items, std::span<const std::string_view> names);

}  // namespace softamp::precision_detail
