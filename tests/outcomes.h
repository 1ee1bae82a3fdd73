// What many actions end in, as a text that is short enough to keep: the first outcome of each kind, and a digest of
// all.
#pragma once

#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "src/files/sha256.h"

namespace softamp::test {

class Outcomes {
 public:
  /// act() returns its outcome, or throws an error whose words are it.
  template <class Act>
  void add(const std::string& name, const Act& act) {
    std::string outcome;
    bool kept = false;
    try {
      outcome = act();
    } catch (const std::invalid_argument& error) {
      outcome = error.what();
      kept = is_own(outcome) && kinds_.insert(kind_of(outcome)).second;
    }
    ++count_;
    all_ += outcome + "  <- " + name + "\n";
    if (kept) first_ += "  " + outcome + "  <- " + name + "\n";
  }

  /// "96 outcomes, 0f1e2d3c": of those since the last call.
  std::string digest() {
    Sha256 digest;
    digest.add(all_.data() + told_, all_.size() - told_);
    told_ = all_.size();
    return std::to_string(std::exchange(count_, 0)) + " outcomes, " + digest.hex().substr(0, 8) + "\n";
  }
  /// The first refusal of each kind: what differs in numbers, names, shapes and dtypes is of one.
  const std::string& refusals() const { return first_; }
  std::string text() { return digest() + first_; }
  const std::string& all() const { return all_; }

 private:
  static std::string kind_of(const std::string& outcome) {
    static const std::regex kParts(
        R"(found .*|identifier: [^;]*|is \S+; |\w* ?'[^']*'|\(\w+\)|\[[^\]]*\]|\b(b?float|int)\d+|\bbool\b|-?\d+)");
    return std::regex_replace(outcome, kParts, "#");
  }
  /// What the table alone refuses is the same for all operations, and stands in the digest.
  static bool is_own(const std::string& outcome) {
    for (const char* part : {" Op has type ", "not in list of allowed", "not in the list of", " input; expected ",
                             " inputs; expected ", "is ''; expected "})
      if (outcome.find(part) != std::string::npos) return false;
    return true;
  }

  std::set<std::string> kinds_;
  std::string first_, all_;
  size_t count_ = 0, told_ = 0;
};

}  // namespace softamp::test
