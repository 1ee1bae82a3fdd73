// libFuzzer target: patterns of recipes on names. The first line is a name; then, alternately, patterns and types. Any
// pattern is refused by both of its readers alike, or compiled; of several the first that fits alone is found.
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/precision/name_patterns.h"
#include "tests/fuzz/require.h"

using namespace softamp;
using namespace softamp::precision_detail;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  std::string name;
  std::getline(text, name);
  std::vector<RecipeException> all;
  bool faulty = false;
  for (RecipeException e; all.size() < 20 && std::getline(text, e.pattern);) {
    std::getline(text, e.type);
    faulty = faulty || !pattern_fault(e.pattern).empty();
    all.push_back(e);
  }
  const RegexMode mode = size % 2 ? RegexMode::kFullMatch : RegexMode::kSearch;
  try {
    const NamePatterns together(all, mode, "list");
    require(!faulty, "a faulty pattern is refused");
    int first = -1;
    for (size_t i = 0; i < all.size() && first < 0; ++i)
      if (NamePatterns(std::span(all).subspan(i, 1), mode, "list").first_match(name, "MatMul") == 0)
        first = static_cast<int>(i);
    require(together.first_match(name, "MatMul") == first, "together they find what each finds alone");
  } catch (const std::invalid_argument& e) {
    require(faulty, "only a faulty pattern is refused");
    require(std::string(e.what()).rfind("list[", 0) == 0, "an error names the list");
  }
  return 0;
}
