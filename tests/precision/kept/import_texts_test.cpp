// Each operation of a GraphDef that can be imported, and graphs that differ from its example in one place: what is
// made of them, or the whole message. The examples are the lines of import.txt, nodes with ';' between them:
//
//   x f[2,3]      a placeholder; types: f h d i l u b (float32, float16, float64, int32, int64, uint8, bool)
//   c =i 1 2      a constant, a vector; =i. 5 is a scalar
//   y Op x c k=v  an operation, its inputs and attributes: 3, true, 0.5, 'text, @f (a type), <2,3> (a shape), [1,2],
//                 &function
#include <algorithm>
#include <set>
#include <sstream>

#include "softamp/graph/graph_json.h"
#include "softamp/precision/graph_def_import.h"

#include "tests/kept_text.h"
#include "tests/outcomes.h"
#include "tests/precision/graph_def_text.h"

namespace softamp::test::import_texts {
namespace {

using Words = std::vector<std::string>;
using Numbers = std::vector<int64_t>;

/// Functions of one float32, and of a loop's number of rounds and one.
std::string functions_text() {
  using Ports = std::vector<std::pair<std::string, std::string>>;
  const Ports x = {{"x", "FLOAT"}}, round = {{"i", "INT32"}, {"x", "FLOAT"}};
  const std::string three =
      "node { name: \"c\" op: \"Const\" attr { key: \"dtype\" value { type: DT_INT32 } } attr { key: \"value\" value { "
      "tensor { dtype: DT_INT32 int_val: 3 tensor_shape {} } } } } ";
  return library_text(
      function_text("twice", x, {{"r", "FLOAT"}}, float_node("s", "AddV2", {"x", "x"}), {{"r", "s:z:0"}}) +
      function_text("negative", x, {{"r", "FLOAT"}}, float_node("n", "Neg", {"x"}), {{"r", "n:y:0"}}) +
      function_text("pair", x, {{"r", "FLOAT"}, {"s", "FLOAT"}}, float_node("n", "Neg", {"x"}),
                    {{"r", "n:y:0"}, {"s", "x"}}) +
      function_text("less", round, {{"r", "BOOL"}}, three + node_text("l", "Less", {"i", "c:output:0"}),
                    {{"r", "l:z:0"}}) +
      function_text("step", round, {{"r", "INT32"}, {"s", "FLOAT"}},
                    three + node_text("a", "AddV2", {"i", "c:output:0"}) + float_node("n", "Neg", {"x"}),
                    {{"r", "a:z:0"}, {"s", "n:y:0"}}));
}

const std::map<char, std::string> kTypes = {{'f', "FLOAT"}, {'h', "HALF"},  {'d', "DOUBLE"}, {'i', "INT32"},
                                            {'l', "INT64"}, {'u', "UINT8"}, {'b', "BOOL"}};

Words split(const std::string& text, char mark) {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, mark);)
    if (!word.empty()) words.push_back(word);
  return words;
}

Numbers numbers_of(const Words& words, size_t first = 0) {
  Numbers all;
  for (size_t i = first; i < words.size(); ++i) all.push_back(std::stoll(words[i]));
  return all;
}
Numbers inside(const std::string& brackets) { return numbers_of(split(brackets.substr(1, brackets.size() - 2), ',')); }
std::string listed(const Numbers& numbers, const char* mark = ",") {
  std::string all;
  for (const int64_t n : numbers) all += (all.empty() ? "" : mark) + std::to_string(n);
  return all;
}

/// A line of import_cases.h.
struct Line {
  std::string name;
  char type = 0;  ///< of a placeholder or constant
  bool constant = false, scalar = false;
  Numbers numbers;  ///< the constant's; the placeholder's extents
  std::string op;
  Words inputs;
  std::vector<std::pair<std::string, std::string>> attributes;

  explicit Line(const std::string& text) {
    const Words words = split(text, ' ');
    name = words.at(0);
    const std::string& kind = words.at(1);
    constant = kind[0] == '=';
    if (constant) {
      type = kind.at(1);
      scalar = kind.ends_with('.');
      numbers = numbers_of(words, 2);
    } else if (kind[1] == '[') {
      type = kind[0];
      numbers = inside(kind.substr(1));
    } else {
      op = kind;
      for (size_t i = 2; i < words.size(); ++i)
        if (const size_t at = words[i].find('='); at == std::string::npos)
          inputs.push_back(words[i]);
        else
          attributes.emplace_back(words[i].substr(0, at), words[i].substr(at + 1));
    }
  }

  std::string shape() const {
    std::string text;
    for (const int64_t n : constant ? (scalar ? Numbers{} : Numbers{static_cast<int64_t>(numbers.size())}) : numbers)
      text += " dim { size: " + std::to_string(n) + " }";
    return text;
  }
  std::string node() const {
    if (!op.empty()) {
      TextAttributes all;
      for (const auto& [key, value] : attributes) all.emplace_back(key, value_text(value));
      return node_text(name, op, inputs, all);
    }
    const std::string dt = kTypes.at(type);
    if (!constant)
      return node_text(name, "Placeholder", {}, {{"dtype", "type: DT_" + dt}, {"shape", "shape {" + shape() + " }"}});
    std::string values;
    const std::map<char, std::string> fields = {
        {'f', "float_val"}, {'h', "half_val"}, {'d', "double_val"}, {'l', "int64_val"}, {'b', "bool_val"}};
    for (const int64_t n : numbers)
      values +=
          " " + (fields.contains(type) ? fields.at(type) : "int_val") + ": " + std::to_string(type == 'b' ? n != 0 : n);
    return node_text(name, "Const", {},
                     {{"dtype", "type: DT_" + dt},
                      {"value", "tensor { dtype: DT_" + dt + " tensor_shape {" + shape() + " }" + values + " }"}});
  }
  static std::string value_text(const std::string& value) {
    std::string all;
    switch (value[0]) {
      case '@': return "type: DT_" + kTypes.at(value.at(1));
      case '&': return func_value(value.substr(1));
      case '\'': return "s: \"" + value.substr(1) + "\"";
      case '<':
        for (const int64_t n : inside(value)) all += " dim { size: " + std::to_string(n) + " }";
        return "shape {" + all + " }";
      case '[':
        if (value.find('&') != std::string::npos) {
          for (const std::string& f : split(value.substr(1, value.size() - 2), ','))
            all += " func { name: \"" + f.substr(1) + "\" }";
        } else {
          for (const int64_t n : inside(value)) all += " i: " + std::to_string(n);
        }
        return "list {" + all + " }";
      default: break;
    }
    if (value == "true" || value == "false") return "b: " + value;
    return (value.find('.') == std::string::npos ? "i: " : "f: ") + value;
  }
};
using Case = std::vector<Line>;

/// Lists near to this one.
std::vector<Numbers> near(const Numbers& numbers, const Numbers& others) {
  std::vector<Numbers> all;
  for (size_t i = 0; i < numbers.size(); ++i)
    for (const int64_t n : others) {
      all.push_back(numbers);
      all.back()[i] = n;
    }
  for (size_t i = 0; i < numbers.size(); ++i)
    for (const int64_t step : {-1, 1}) {
      all.push_back(numbers);
      all.back()[i] += step;
    }
  for (const int64_t n : {1, 2}) {
    all.push_back(numbers);
    all.back().push_back(n);
    all.push_back(numbers);
    all.back().insert(all.back().begin(), n);
  }
  if (!numbers.empty()) {
    all.emplace_back(numbers.begin() + 1, numbers.end());
    all.emplace_back(numbers.begin(), numbers.end() - 1);
  }
  return all;
}

Words near(const std::string& value) {
  Words all;
  switch (value[0]) {
    case '@':
      for (const auto& [letter, name] : kTypes) all.push_back(std::string("@") + letter);
      return all;
    case '\'': return {"'", "'NHWC", "'NCHW", "'SAME", "'VALID", "'EXPLICIT", "'word"};
    case '&': return {"&twice", "&negative", "&less", "&step", "&pair", "&word"};
    case '<':
      for (const Numbers& n : near(inside(value), {0, 7})) all.push_back("<" + listed(n) + ">");
      return all;
    case '[':
      if (value.find('&') != std::string::npos) return {"[&twice]", "[&word,&twice]", "[1]"};
      for (const Numbers& n : near(inside(value), {-1, 0, 9})) all.push_back("[" + listed(n) + "]");
      return all;
    default: break;
  }
  if (value == "true") return {"false"};
  if (value == "false") return {"true"};
  if (value.find('.') != std::string::npos) return {"0.0", "2.0", "-1.0"};
  const int64_t n = std::stoll(value);
  for (const int64_t other : {n - 1, n + 1, -n, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{-9}, int64_t{65536}})
    all.push_back(std::to_string(other));
  return all;
}

std::string file_of(const Case& lines) {
  std::string text;
  for (const Line& line : lines) text += line.node();
  return text.find("func {") == std::string::npos ? text : text + functions_text();
}

std::string outcome_of(const Case& lines, const std::string& fetch) {
  const ImportedGraph found = import_graph(graph_of(file_of(lines)), {{fetch}, {}, {}, {}});
  std::string said = graph_json(found.graph);
  for (const auto& [name, port] : found.ports) said += name + " " + port + "\n";
  for (const auto& [node, value] : found.initial_values) said += node + " " + value + "\n" + graph_json(found.initial);
  for (const auto& [name, why] : found.without_value) said += name + ": " + why + "\n";
  return said;
}

class Changes {
 public:
  Changes(const std::string& text, Outcomes& outcomes) : text_(text), outcomes_(outcomes) {
    for (const std::string& line : split(text, ';')) lines_.emplace_back(line);
    fetch_ = lines_.back().name;
  }

  void all() {
    add("");
    for (const int port : {1, 2, 3}) {
      fetch_ = lines_.back().name + ":" + std::to_string(port);
      add("fetch " + fetch_);
    }
    fetch_ = lines_.back().name;
    for (Line& line : lines_) {
      if (line.op.empty())
        data(line);
      else
        operation(line);
    }
  }
  const Case& lines() const { return lines_; }
  void add(const std::string& change) {
    outcomes_.add(text_ + " | " + change, [&] { return outcome_of(lines_, fetch_); });
  }

 private:
  void with(Line& line, Line changed, const std::string& change) {
    std::swap(line, changed);
    add(line.name + " " + change);
    std::swap(line, changed);
  }

  void data(Line& line) {
    for (const auto& [letter, name] : kTypes) {
      Line changed = line;
      changed.type = letter;
      with(line, changed, name);
    }
    const Numbers others = line.constant ? Numbers{-9, -1, 0, 1, 65536} : Numbers{0, 1, 7};
    for (const Numbers& n : near(line.numbers, others)) {
      Line changed = line;
      changed.numbers = n;
      with(line, changed, listed(n));
    }
    if (!line.constant) return;
    Line fed = line;
    fed.constant = false;
    fed.numbers = line.scalar ? Numbers{} : Numbers{static_cast<int64_t>(line.numbers.size())};
    with(line, fed, "fed");
    Line other = line;
    other.scalar = !other.scalar;
    if (line.numbers.size() == 1) with(line, other, "of another rank");
    for (size_t i = 0; i < line.numbers.size(); ++i)
      for (const int64_t n : {INT64_MAX, INT64_MIN, int64_t{1} << 31, (int64_t{1} << 53) + 1}) {
        Line wide = line;
        wide.type = 'l';
        wide.numbers[i] = n;
        with(line, wide, "wide " + listed(wide.numbers));
      }
  }

  void operation(Line& line) {
    const size_t count = line.inputs.size();
    for (size_t i = 0; i < count; ++i) {
      Line less = line, more = line, swapped = line;
      less.inputs.erase(less.inputs.begin() + static_cast<std::ptrdiff_t>(i));
      with(line, less, "without input " + std::to_string(i));
      more.inputs.push_back(line.inputs[i]);
      with(line, more, "with input " + std::to_string(i) + " again");
      std::swap(swapped.inputs[0], swapped.inputs[i]);
      if (i > 0) with(line, swapped, "swapped " + std::to_string(i));
    }
    for (size_t a = 0; a < line.attributes.size(); ++a) {
      Line less = line;
      less.attributes.erase(less.attributes.begin() + static_cast<std::ptrdiff_t>(a));
      with(line, less, "without " + line.attributes[a].first);
      for (const std::string& value : near(line.attributes[a].second)) {
        Line changed = line;
        changed.attributes[a].second = value;
        with(line, changed, line.attributes[a].first + "=" + value);
      }
    }
  }

  std::string text_, fetch_;
  Outcomes& outcomes_;
  Case lines_;
};

TEST(GraphDefImports, WithOneChange) {
  Outcomes outcomes;
  std::string text;
  std::set<std::string> seen;
  for (const std::string& line : lines_of(read_text(SOFTAMP_SOURCE_DIR "/tests/precision/kept/import.txt"))) {
    const size_t end = line.find(": ");
    if (line.starts_with(' ') || line.starts_with("others") || end == std::string::npos) continue;
    const std::string example = line.substr(0, end);
    Changes changes(example, outcomes);
    changes.all();
    for (const Line& node : changes.lines()) seen.insert(node.op);
    text += example + ": " + outcomes.digest();
  }
  EXPECT_GT(seen.size(), 100u);
  for (const std::string& op : importable_operations()) {
    if (seen.contains(op)) continue;
    for (const char* inputs : {"", " x", " x z"}) {
      const std::string example = "x f[2,3];z f[2,3];y " + op + inputs;
      Changes(example, outcomes).add("");
    }
  }
  text += "others: " + outcomes.digest();
  expect_kept("precision/kept/import.txt", text + outcomes.refusals(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::import_texts
