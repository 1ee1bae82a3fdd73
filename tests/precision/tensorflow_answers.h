// Reads tests/precision/tensorflow_pass.txt, graphs with what TensorFlow made of them.
#pragma once

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/precision/graph_def_text.h"

namespace softamp::test {

/// A graph of tests/precision/tensorflow_pass.txt, and what TensorFlow made of it.
struct Answer {
  std::vector<std::string> fetches;
  std::string text;
  std::set<std::string> half, casts, cast_already;  // "n1.T", "n1:2>h", "n1"
};

inline Answer read_answer(std::istream& in) {
  Answer answer;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    std::istringstream words(line);
    std::string name, op;
    words >> name;
    const std::vector<std::string> rest{std::istream_iterator<std::string>(words), {}};
    if (name == "graph") answer.fetches = rest;
    if (name == "half") answer.half = {rest.begin(), rest.end()};
    if (name == "casts") answer.casts = {rest.begin(), rest.end()};
    if (name[0] != 'n') continue;
    static const std::map<char, std::string> kTypes = {{'f', "DT_FLOAT"}, {'h', "DT_HALF"}, {'i', "DT_INT32"},
                                                       {'l', "DT_INT64"}, {'b', "DT_BOOL"}, {'v', "DT_VARIANT"}};
    Inputs inputs;
    TextAttributes attributes;
    std::string device;
    for (size_t w = 1; w < rest.size(); ++w) {
      const size_t at = rest[w].find('=');
      const std::string value = at == std::string::npos ? "" : rest[w].substr(at + 1);
      if (rest[w][0] == '@') {
        device = "device: \"" + rest[w].substr(1) + "\" ";
      } else if (value.empty()) {
        inputs.push_back(rest[w]);
      } else if (value.back() == '.') {
        std::string list;
        for (const char c : value.substr(0, value.size() - 1)) list += "type: " + kTypes.at(c) + " ";
        attributes.push_back({rest[w].substr(0, at), "list { " + list + "}"});
      } else {
        const bool count = value[0] >= '0' && value[0] <= '9';
        attributes.push_back({rest[w].substr(0, at), count ? "i: " + value : "type: " + kTypes.at(value[0])});
      }
    }
    if (rest[0] == "Cast") answer.cast_already.insert(inputs.at(0));
    answer.text += node_text(name, rest[0], inputs, attributes, device);
  }
  return answer;
}

}  // namespace softamp::test
