// Reads tests/precision/tensorflow_pass.txt and tensorflow_functions.txt, graphs with what TensorFlow made of them.
#pragma once

#include <istream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/precision/graph_def_text.h"

namespace softamp::test {

/// A graph of these files, and what TensorFlow made of it.
struct Answer {
  std::vector<std::string> fetches;
  std::string text;
  std::multiset<std::string> half, casts;  ///< "n1.T", "n1:2>h"
  std::set<std::string> cast_already;      ///< "n1"
};

namespace answer_detail {

using Words = std::vector<std::string>;

inline std::string type_text(char letter) {
  static const std::map<char, std::string> kTypes = {
      {'f', "FLOAT"},    {'h', "HALF"},   {'i', "INT32"},  {'l', "INT64"}, {'b', "BOOL"},  {'v', "VARIANT"},
      {'r', "RESOURCE"}, {'s', "STRING"}, {'d', "DOUBLE"}, {'u', "UINT8"}, {'U', "UINT64"}};
  return "type: DT_" + kTypes.at(letter);
}

/// A value as text has it: f a type, ff. a list of them, 3 an int, %f0 a function, %f0%f1 a list of them, $x a text,
/// ! true.
inline std::string value_text(const std::string& name, const std::string& value) {
  if (value == "!") return "b: true";
  if (value[0] == '$') return "s: \"" + value.substr(1) + "\"";
  if (value[0] == '%') {
    std::string all;
    std::istringstream functions(value.substr(1));
    for (std::string f; std::getline(functions, f, '%');) all += "func { name: \"" + f + "\" } ";
    return name == "branches" ? "list { " + all + "}" : all;
  }
  if (value.back() == '.') {
    std::string list;
    for (const char c : value.substr(0, value.size() - 1)) list += type_text(c) + " ";
    return "list { " + list + "}";
  }
  return (value[0] >= '0' && value[0] <= '9') || value[0] == '-' ? "i: " + value : type_text(value[0]);
}

/// "node_def { ... }" or "node { ... }".
inline std::string node_of_line(const std::string& name, const Words& rest, bool in_function) {
  Inputs inputs;
  TextAttributes attributes;
  std::string device;
  for (size_t w = 1; w < rest.size(); ++w) {
    const size_t at = rest[w].find('=');
    if (rest[w][0] == '@')
      device = "device: \"" + rest[w].substr(1) + "\" ";
    else if (at == std::string::npos)
      inputs.push_back(rest[w]);
    else
      attributes.push_back({rest[w].substr(0, at), value_text(rest[w].substr(0, at), rest[w].substr(at + 1))});
  }
  const std::string text = node_text(name, rest[0], inputs, attributes, device);
  return in_function ? "node_def" + text.substr(4) : text;
}

/// The beginning of a function, which its nodes follow; it ends with "}".
inline std::string function_of_line(const Words& rest) {
  std::string signature = "name: \"" + rest[0] + "\" ", more;
  for (size_t w = 1; w < rest.size(); ++w) {
    const std::string& word = rest[w];
    if (word == "!stateful") {
      signature += "is_stateful: true ";
    } else if (word[0] == '!') {
      more += "attr { key: \"" + word.substr(1) + "\" value { b: true } } ";
    } else if (word[0] == '^') {
      signature += "control_output: \"c" + std::to_string(w) + "\" ";
      more += "control_ret { key: \"c" + std::to_string(w) + "\" value: \"" + word.substr(1) + "\" } ";
    } else {
      const size_t type = word.find('=') + 1, output = word.find('=', type);
      const std::string name = word.substr(0, type - 1);
      signature += (output == std::string::npos ? "input_arg" : "output_arg") + (" { name: \"" + name + "\" ") +
                   type_text(word[type]) + " } ";
      if (output != std::string::npos)
        more += "ret { key: \"" + name + "\" value: \"" + word.substr(output + 1) + "\" } ";
    }
  }
  return "function { signature { " + signature + "} " + more;
}

}  // namespace answer_detail

inline Answer read_answer(std::istream& in) {
  using namespace answer_detail;
  Answer answer;
  std::string library;
  bool in_function = false;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    const Words rest{std::istream_iterator<std::string>(words), {}};
    if (name == "graph") {
      answer.fetches = rest;
    } else if (name == "half") {
      answer.half = {rest.begin(), rest.end()};
    } else if (name == "casts") {
      answer.casts = {rest.begin(), rest.end()};
    } else if (name == "gradient") {
      library += "gradient { function_name: \"" + rest[0] + "\" gradient_func: \"" + rest[1] + "\" } ";
    } else if (name == "function") {
      library += (in_function ? "} " : "") + function_of_line(rest);
      in_function = true;
    } else if (line[0] == ' ') {
      library += node_of_line(name, rest, true);
    } else if (name[0] == 'n') {
      if (rest[0] == "Cast") answer.cast_already.insert(rest.at(1));
      answer.text += node_of_line(name, rest, false);
    }
  }
  if (!library.empty()) answer.text += "library { " + library + (in_function ? "} " : "") + "}\n";
  return answer;
}

}  // namespace softamp::test
