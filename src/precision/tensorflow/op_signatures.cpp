#include "src/precision/tensorflow/op_signatures.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <unordered_map>

namespace softamp {
namespace {

using op_signature_detail::parse_line;

/// Cuts off and returns what comes before the first separator; all of it if there is none.
std::string_view cut(std::string_view& text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return head;
}

bool take_end(std::string_view& text, std::string_view end) {
  const bool there = text.ends_with(end);
  if (there) text.remove_suffix(end.size());
  return there;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty())
    if (const std::string_view word = cut(text, ' '); !word.empty()) found.push_back(word);
  return found;
}

int64_t number(std::string_view text) {
  int64_t value = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value < 0)
    throw std::logic_error("'" + std::string(text) + "' is no number");
  return value;
}

ElementType type_named(std::string_view name) {
  constexpr int kCodes = 24;
  for (int code = 1; code < kCodes; ++code)
    if (name_of(static_cast<ElementType>(code)) == name) return static_cast<ElementType>(code);
  throw std::logic_error("'" + std::string(name) + "' is no type");
}

class Line {
 public:
  OpSignature parse(std::string_view line, std::string_view* name) {
    std::string_view rest = line;
    const std::vector<std::string_view> head = words(cut(rest, '|'));
    if (head.empty()) throw std::logic_error("no name");
    *name = head.front();
    for (size_t i = 1; i < head.size(); ++i) add_head(head[i]);
    if (rest.data() == nullptr) throw std::logic_error("no inputs");
    for (const std::string_view word : words(cut(rest, '|'))) signature_.inputs.push_back(port(word));
    if (rest.data() == nullptr) throw std::logic_error("no outputs");
    for (const std::string_view word : words(rest)) signature_.outputs.push_back(port(word));
    return std::move(signature_);
  }

 private:
  void add_head(std::string_view word) {
    if (word == "@kept")
      signature_.kept = true;
    else if (word == "@state")
      signature_.stateful = true;
    else if (word == "@random")
      signature_.random = true;
    else if (word.starts_with('@'))
      throw std::logic_error("'" + std::string(word) + "' is no mark");
    else if (const size_t at = word.find('#'); at != std::string_view::npos)
      defaults_.emplace_back(word.substr(0, at), number(word.substr(at + 1)));
    else
      add_attribute(word);
  }

  void add_attribute(std::string_view word) {
    SignatureAttribute a;
    a.optional = word.find('=') != std::string_view::npos;
    std::string_view name = cut(word, '=');
    if (!word.empty()) a.fallback = type_named(word);
    std::string_view kernels = name;
    name = cut(kernels, ':');
    if (!kernels.empty() && kernels != "h" && kernels != "b" && kernels != "hb")
      throw std::logic_error("':" + std::string(kernels) + "' names no kernels");
    a.float16 = kernels.find('h') != std::string_view::npos;
    a.bfloat16 = kernels.find('b') != std::string_view::npos;
    a.list = take_end(name, "[]");
    a.name = name;
    if (a.list && a.fallback != ElementType::kUnknown) throw std::logic_error("a list's default can only be empty");
    signature_.attributes.push_back(a);
  }

  SignaturePort port(std::string_view word) const {
    SignaturePort p;
    p.reference = word.starts_with('&');
    if (p.reference) word.remove_prefix(1);
    if (word.find('*') != std::string_view::npos) {
      const std::string_view count = cut(word, '*');
      if (count.empty()) throw std::logic_error("no count before '*'");
      if (count.front() >= '0' && count.front() <= '9') {
        p.count = number(count);
      } else {
        p.count_attribute = count;
        p.count = -1;
        for (const auto& [name, value] : defaults_)
          if (name == count) p.count = value;
      }
    }
    const bool list = take_end(word, "[]");
    for (size_t a = 0; a < signature_.attributes.size(); ++a)
      if (signature_.attributes[a].name == word && signature_.attributes[a].list == list)
        p.attribute = static_cast<int>(a);
    if (p.attribute < 0) p.type = type_named(word);
    if (list && (p.attribute < 0 || !p.count_attribute.empty() || p.count != 1))
      throw std::logic_error("'" + std::string(word) + "[]' is no list of the attributes");
    return p;
  }

  OpSignature signature_;
  std::vector<std::pair<std::string_view, int64_t>> defaults_;
};

using Table = std::unordered_map<std::string_view, OpSignature>;

Table read_table() {
  Table table;
  std::string_view lines = op_signature_detail::table();
  while (!lines.empty()) {
    const std::string_view line = cut(lines, '\n');
    if (line.empty()) continue;
    std::string_view name;
    OpSignature signature = parse_line(line, &name);
    if (!table.emplace(name, std::move(signature)).second)
      throw std::logic_error("op_signatures: " + std::string(name) + " stands twice in the table");
  }
  return table;
}

const Table& signatures() {
  static const Table kTable = read_table();
  return kTable;
}

}  // namespace

OpSignature op_signature_detail::parse_line(std::string_view line, std::string_view* name) {
  try {
    return Line().parse(line, name);
  } catch (const std::logic_error& e) {
    throw std::logic_error("op_signatures: '" + std::string(line) + "': " + e.what());
  }
}

const OpSignature* op_signature(std::string_view op) {
  const auto it = signatures().find(op);
  return it == signatures().end() ? nullptr : &it->second;
}

std::vector<std::string> op_signature_names() {
  std::vector<std::string> names;
  for (const auto& [name, signature] : signatures()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace softamp
