// The known word that a misspelt one most likely means.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::graph_detail {

/// Levenshtein's distance, letters compared without regard to case.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Collects the nearest of the names offered, the first among equals. Words of more than 200 characters and offers
/// beyond the first 10,000 are not compared, to limit the time for a message.
class Nearest {
 public:
  explicit Nearest(std::string_view wanted) : wanted_(wanted.substr(0, 200)) {}
  void offer(std::string_view name) {
    if (name.size() > 200 || ++offered_ > 10000) return;
    const size_t distance = edit_distance(wanted_, name);
    if (!best_.empty() && distance >= least_) return;
    best_ = name;
    least_ = distance;
  }
  /// "; nearest: MatMul", or empty if there was no offer.
  std::string text() const { return best_.empty() ? "" : "; nearest: " + best_; }

 private:
  std::string wanted_, best_;
  size_t least_ = 0, offered_ = 0;
};

/// Text from outside made safe to print: cut after 80 characters, unprintable ones as '?'.
inline std::string printable(std::string_view text) {
  std::string safe(text.substr(0, 80));
  for (char& c : safe)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text.size() > 80 ? safe + "..." : safe;
}

}  // namespace softamp::graph_detail
