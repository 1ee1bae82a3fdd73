// The known word that a misspelt one most likely means.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/text/edit_distance.h"
#include "src/text/lower_case.h"

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

/// What Nearest says of the items' names. `name`: an item's [=the item itself].
template <class Items, class Name = std::identity>
std::string nearest_of(std::string_view wanted, const Items& items, const Name& name = {}) {
  Nearest nearest(wanted);
  for (const auto& item : items) nearest.offer(std::invoke(name, item));
  return nearest.text();
}

}  // namespace softamp::graph_detail
