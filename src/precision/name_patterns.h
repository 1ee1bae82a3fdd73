// Regular expressions on the names of nodes: many at once, in time and memory that are bounded for any pattern (RE2).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/recipe.h"

namespace softamp::precision_detail {

/// Most patterns of a recipe, and bytes of one pattern.
inline constexpr size_t kMostPatterns = 1000, kLongestPattern = 10000;

/// What is wrong with a pattern: "the pattern '(a' does not compile: missing ): (a"; empty if nothing is. Constructs
/// that RE2 does not have, back-references and look-around, are named.
std::string pattern_fault(const std::string& pattern);

/// The patterns of one list of exceptions, compiled together.
class NamePatterns {
 public:
  /// Throws std::invalid_argument, naming `list`, number and fault, if a pattern does not compile.
  NamePatterns(std::span<const RecipeException> exceptions, RegexMode mode, const char* list);
  ~NamePatterns();
  NamePatterns(const NamePatterns&) = delete;
  NamePatterns& operator=(const NamePatterns&) = delete;

  /// The number of the first exception that this node's name and type fit; -1: none.
  int first_match(std::string_view name, std::string_view op) const;

 private:
  class Batch;
  void compile(size_t begin, size_t end);

  std::span<const RecipeException> exceptions_;
  RegexMode mode_;
  std::vector<std::unique_ptr<Batch>> batches_;  // in the order of the patterns
};

}  // namespace softamp::precision_detail
