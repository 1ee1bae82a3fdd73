// Every operation of the table is held against the model library, or stands here with the reason why not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "softamp/graph/operation.h"

namespace softamp::test {
namespace {

/// name -> why no model is needed.
const std::map<std::string, std::string> kWithoutModel = {};

/// The names that model tests claim in `covers({...})`; each program checks that it ran them.
std::set<std::string> claimed() {
  std::set<std::string> names;
  const std::filesystem::path folder = std::filesystem::path(SOFTAMP_SOURCE_DIR) / "tests/graph";
  const std::regex claim("covers\\(\\s*\\{([^}]*)\\}\\)"), word("\"([A-Za-z0-9]+)\"");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with("model_") || !file.ends_with("_test.cpp") || file == "model_coverage_test.cpp") continue;
    std::ifstream in(entry.path());
    std::ostringstream text;
    text << in.rdbuf();
    const std::string source = text.str();
    std::smatch list;
    if (!std::regex_search(source, list, claim)) {
      ADD_FAILURE() << file << " claims no operations";
      continue;
    }
    const std::string all = list[1];
    for (std::sregex_iterator it(all.begin(), all.end(), word), end; it != end; ++it)
      EXPECT_TRUE(names.insert((*it)[1]).second) << (*it)[1] << " is claimed twice";
  }
  return names;
}

TEST(ModelCoverage, EveryOperationHasAModel) {
  const std::set<std::string> covered = claimed();
  for (const Operation& op : operations()) {
    const bool exempt = kWithoutModel.contains(op.name);
    EXPECT_TRUE(covered.contains(op.name) || exempt) << op.name << " has no model test";
    EXPECT_FALSE(covered.contains(op.name) && exempt) << op.name << " has one";
  }
  for (const std::string& name : covered) EXPECT_NE(find_operation(name), nullptr) << name;
  for (const auto& [name, reason] : kWithoutModel) EXPECT_NE(find_operation(name), nullptr) << name;
}

}  // namespace
}  // namespace softamp::test
