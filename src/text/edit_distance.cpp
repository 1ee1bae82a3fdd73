#include "src/text/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace softamp {

size_t edit_distance(std::string_view a, std::string_view b, SwappedLetters swapped) {
  // Rows of the table of distances: of a's first i - 2, i - 1 and i letters to all beginnings of b.
  std::vector<size_t> second_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    second_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (swapped == SwappedLetters::kOneEdit && i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], second_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

bool is_near(std::string_view given, std::string_view known, size_t distance) {
  const size_t longer = std::max(given.size(), known.size()), shorter = std::min(given.size(), known.size());
  if (shorter >= 2 && (given.starts_with(known) || known.starts_with(given))) return true;
  return distance < longer ? distance <= std::max<size_t>(longer, 3) / 3 : distance == 0;
}

}  // namespace softamp
