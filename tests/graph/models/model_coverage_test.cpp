// Every operation of the table is held against the model library, or stands here with the reason why not.
#include "tests/graph/models/model_run.h"

namespace softamp::test {
namespace {

/// name -> why no model is needed.
const std::map<std::string, std::string> kWithoutModel = {};

/// The names that model tests claim (`covers`); each test checks that it ran them.
std::set<std::string> claimed() {
  std::set<std::string> names;
  for (const auto& [file, of_file] : claims())
    for (const std::string& name : of_file)
      EXPECT_TRUE(names.insert(name).second) << name << " is claimed twice: " << file;
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
