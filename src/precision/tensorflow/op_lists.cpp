#include "softamp/precision/op_lists.h"

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "src/text/comma_list.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/word.h"

namespace softamp {
namespace {

/// A list, its name, the one it had before, and how the files of TensorFlow title it; in the order of those files.
struct ListNames {
  OpClass op_class;
  OpLists::Names OpLists::*names;
  const char *name, *old_name, *title;
};
constexpr std::array kLists = {
    ListNames{OpClass::kAllow, &OpLists::allow, "allow", "white", "AllowList"},
    ListNames{OpClass::kDeny, &OpLists::deny, "deny", "black", "DenyList"},
    ListNames{OpClass::kInfer, &OpLists::infer, "infer", "gray", "InferList"},
    ListNames{OpClass::kClear, &OpLists::clear, "clear", "clear", "ClearList"},
};

std::string upper(std::string_view text) {
  std::string s(text);
  for (char& c : s)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return s;
}

/// The names between commas, without blanks around them.
template <class Take>
void for_each_name(const char* text, Take&& take) {
  for (const std::string& name : split_at_commas(text ? text : "")) {
    const size_t first = name.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    take(name.substr(first, name.find_last_not_of(" \t") + 1 - first));
  }
}

void update_from_environment(OpLists::Names& names, const char* list) {
  const std::string variable = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_" + upper(list) + "LIST";
  for_each_name(std::getenv((variable + "_ADD").c_str()), [&](std::string name) { names.insert(std::move(name)); });
  for_each_name(std::getenv((variable + "_REMOVE").c_str()), [&](const std::string& name) { names.erase(name); });
}

}  // namespace

const char* name_of(OpClass c) {
  for (const ListNames& list : kLists)
    if (list.op_class == c) return list.name;
  return "unlisted";
}

OpClass OpLists::class_of(std::string_view op) const {
  for (const ListNames& list : kLists)
    if ((this->*list.names).contains(op)) return list.op_class;
  return OpClass::kUnlisted;
}

OpLists::Names& OpLists::list(std::string_view asked) {
  std::string_view stem = asked;
  constexpr std::string_view kList = "list";
  if (stem.size() > kList.size() && same_word(stem.substr(stem.size() - kList.size()), kList))
    stem.remove_suffix(kList.size());
  graph_detail::Nearest nearest(stem);
  for (const ListNames& list : kLists) {
    if (same_word(stem, list.name) || same_word(stem, list.old_name)) return this->*list.names;
    nearest.offer(list.name);
    nearest.offer(list.old_name);
  }
  throw std::invalid_argument("op lists: there is no list '" + files::excerpt(asked) + "'" + nearest.text() +
                              "; expected allow, infer, deny or clear (or white, gray, black)");
}

void OpLists::validate() const {
  std::string conflicts;
  for (size_t i = 0; i < kLists.size(); ++i)
    for (const std::string& op : this->*kLists[i].names)
      for (size_t j = i + 1; j < kLists.size(); ++j)
        if ((this->*kLists[j].names).contains(op))
          conflicts += (conflicts.empty() ? ": '" : ", '") + files::excerpt(op) + "' is in " + kLists[i].name +
                       " and " + kLists[j].name;
  if (!conflicts.empty())
    throw std::invalid_argument("Op lists have conflicting entries" + conflicts + "; expected each in one list");
}

OpLists OpLists::with_environment() const {
  OpLists lists = *this;
  for (const ListNames& list : kLists) {
    update_from_environment(lists.*list.names, list.name);
    if (list.name != std::string_view(list.old_name)) update_from_environment(lists.*list.names, list.old_name);
  }
  lists.validate();
  return lists;
}

std::string OpLists::paint_buckets() const {
  std::string text;
  for (const ListNames& list : kLists) {
    text += (text.empty() ? "" : "\n") + std::string(list.title) + ":\n";
    for (const std::string& op : this->*list.names) text += op + "\n";
  }
  return text;
}

}  // namespace softamp
