// The known word that a misspelt one most likely means.
#pragma once

#include <string>
#include <string_view>

#include "src/files/printable.h"
#include "src/report/edit_distance.h"
#include "src/report/lower_case.h"

namespace softamp::graph_detail {

/// Collects the nearest of the names offered, without regard to case, the first among equals. Words of more than 200
/// characters and offers beyond the first 10,000 are not compared, to limit the time for a message.
class Nearest {
 public:
  explicit Nearest(std::string_view wanted) : wanted_(lower_case(wanted.substr(0, 200))) {}
  void offer(std::string_view name) {
    if (name.size() > 200 || ++offered_ > 10000) return;
    const std::string known = lower_case(name);
    const size_t distance = edit_distance(wanted_, known, SwappedLetters::kTwoEdits);
    if (!is_near(wanted_, known, distance) || (!best_.empty() && distance >= least_)) return;
    best_ = name;
    least_ = distance;
  }
  /// Empty if no offer was near.
  const std::string& best() const { return best_; }
  /// "; nearest: MatMul", or empty if no offer was near.
  std::string text() const { return best_.empty() ? "" : "; nearest: " + best_; }

 private:
  std::string wanted_, best_;
  size_t least_ = 0, offered_ = 0;
};

/// Text from outside made safe to print: cut after 80 bytes, but within no character; what is no text, as "\x1b".
inline std::string printable(std::string_view text) {
  size_t shown = text.size() > 80 ? 80 : text.size();
  while (shown < text.size() && shown > 76 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
  return files::printable(text.substr(0, shown)) + (text.size() > 80 ? "..." : "");
}

}  // namespace softamp::graph_detail
