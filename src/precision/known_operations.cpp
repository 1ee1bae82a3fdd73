#include "src/precision/known_operations.h"

#include <set>
#include <vector>

#include "softamp/graph/operation.h"
#include "softamp/precision/recipe.h"
#include "src/precision/tensorflow/op_signatures.h"
#include "src/text/edit_distance.h"
#include "src/text/lower_case.h"

namespace softamp::precision_detail {
namespace {

struct Known {
  std::string name, lower;
};

const std::vector<Known>& all_known() {
  static const std::vector<Known> kAll = [] {
    std::set<std::string> names;
    for (const std::string& name : op_signature_names()) names.insert(name);
    for (const Operation& operation : operations()) names.insert(std::string(operation.name));
    for (const Recipe& recipe : {Recipe::full(), Recipe::basic()})
      for (const auto* list : {&recipe.allow, &recipe.conditional, &recipe.strict})
        names.insert(list->begin(), list->end());
    std::vector<Known> all;
    for (const std::string& name : names) all.push_back({name, lower_case(name)});
    return all;
  }();
  return kAll;
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

std::string meant_operation(std::string_view name) {
  constexpr size_t kLongest = 100, kLetters = 6;  // a second edit in words of so many letters
  for (const char* maker : {"Habana", "Horovod", "Hpu"})
    if (name.starts_with(maker)) return "";
  if (name.size() > kLongest) return "";
  const std::string lower = lower_case(name), bare = without_digits(lower);
  const size_t most = name.size() < kLetters ? 1 : 2;
  const std::vector<Known>& all = all_known();
  const Known* best = nullptr;
  size_t least = most + 1;
  for (const Known& known : all) {
    if (known.name == name) return "";
    if (known.lower.size() > lower.size() + most || lower.size() > known.lower.size() + most) continue;
    const size_t distance = edit_distance(lower, known.lower, SwappedLetters::kOneEdit);
    if (distance >= least || (distance > 0 && without_digits(known.lower) == bare)) continue;
    best = &known;
    least = distance;
  }
  return best ? best->name : "";
}

}  // namespace softamp::precision_detail
