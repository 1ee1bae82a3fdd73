// Instead of src/precision/name_patterns.cpp: without RE2, a list that has patterns is refused.
#include <stdexcept>

#include "src/precision/name_patterns.h"

namespace softamp::precision_detail {

std::string pattern_fault(const std::string&) {
  return "this build (SOFTAMP_MINIMAL=ON) has no regular expressions; expected a list without patterns";
}

class NamePatterns::Batch {};

NamePatterns::NamePatterns(std::span<const RecipeException> exceptions, RegexMode mode, const char* list)
    : exceptions_(exceptions), mode_(mode) {
  if (!exceptions.empty()) throw std::invalid_argument(std::string(list) + ": " + pattern_fault({}));
}
NamePatterns::~NamePatterns() = default;
int NamePatterns::first_match(std::string_view, std::string_view) const { return -1; }

}  // namespace softamp::precision_detail
