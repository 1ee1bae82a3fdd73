// What tests of `softamp rewrite` share: the verb on files of a folder, and what its report says.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/program/process.h"

namespace softamp::test {

inline const std::string kTwoDenseJson = SOFTAMP_SOURCE_DIR "/examples/graphs/two_dense_layers.json";
inline const std::string kTwoDensePbtxt = SOFTAMP_SOURCE_DIR "/examples/graphs/two_dense_layers.pbtxt";

class RewriteVerb : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  /// Arguments with @ for the folder, J and P for the examples.
  std::string filled(std::string arguments) const {
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at = 0; (at = arguments.find(from, at)) != std::string::npos; at += to.size())
        arguments.replace(at, from.size(), to);
    };
    replace("@", folder_.path().string() + "/");
    replace("{J}", kTwoDenseJson);
    replace("{P}", kTwoDensePbtxt);
    return arguments;
  }
  Outcome rewrite(const std::string& arguments, const std::string& environment = "") const {
    return run_shell(environment + " '" SOFTAMP_PROGRAM "' rewrite " + filled(arguments));
  }
  Outcome success(const std::string& arguments, const std::string& environment = "") const {
    const Outcome o = rewrite(arguments, environment);
    EXPECT_EQ(o.code, 0) << arguments << "\n" << o.err;
    return o;
  }
  nlohmann::json report(const std::string& arguments, const std::string& environment = "") const {
    return json_of(success(arguments + " --report json", environment));
  }
  /// Without the program's name, and @ for the folder.
  std::string error(const std::string& arguments, const std::string& environment = "") const {
    return complaint_of("rewrite", rewrite(arguments, environment), folder_, arguments);
  }
  /// The two dense layers with 14 nodes: constants are read in place of variables, and an L2Loss, denied as Mean is,
  /// has no axes.
  std::string fourteen_nodes() const {
    std::string text;
    const auto add = [&](const std::string& name, const std::string& op, const std::string& attribute,
                         const std::vector<std::string>& inputs) {
      text += "node { name: '" + name + "' op: '" + op + "' ";
      for (const std::string& input : inputs) text += "input: '" + input + "' ";
      text += "attr { key: '" + attribute + "' value { type: DT_FLOAT } } }\n";
    };
    for (const char* name : {"x", "y"}) add(name, "Placeholder", "dtype", {});
    for (const char* name : {"W0", "b0", "W1", "b1"}) add(name, "Const", "dtype", {});
    add("MatMul0", "MatMul", "T", {"x", "W0"});
    add("BiasAdd0", "BiasAdd", "T", {"MatMul0", "b0"});
    add("Relu", "Relu", "T", {"BiasAdd0"});
    add("MatMul1", "MatMul", "T", {"Relu", "W1"});
    add("BiasAdd1", "BiasAdd", "T", {"MatMul1", "b1"});
    add("Softmax", "Softmax", "T", {"BiasAdd1"});
    add("SquaredDifference", "SquaredDifference", "T", {"Softmax", "y"});
    add("L2Loss", "L2Loss", "T", {"SquaredDifference"});
    write_text(file("fourteen.pbtxt"), text);
    return file("fourteen.pbtxt");
  }
  TemporaryFolder folder_;
};

/// Operations of the nodes that were converted.
inline std::multiset<std::string> converted(const nlohmann::json& report) {
  std::multiset<std::string> ops;
  for (const nlohmann::json& unit : report["units"])
    if (unit["before"] != unit["after"]) ops.insert(unit["op"]);
  return ops;
}

inline std::map<std::string, std::string> after_by_node(const nlohmann::json& report) {
  std::map<std::string, std::string> types;
  for (const nlohmann::json& unit : report["units"]) types[unit["node"]] = unit["after"];
  return types;
}

}  // namespace softamp::test
