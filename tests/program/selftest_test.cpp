// `softamp selftest` passes on this machine, says what it checked, and notices when the code under it is wrong
// (the planted bugs of tests/planted name this test).
#include "tests/program/process.h"

#include "softamp/tensor/bulk.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using softamp::test::Outcome;
using softamp::test::run_softamp;

TEST(Selftest, EveryCheckPassesAndIsNamed) {
  const Outcome o = run_softamp("selftest");
  EXPECT_EQ(o.code, 0) << o.out;
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out.find("FAIL"), std::string::npos);
  for (const char* name :
       {"Philox4x32", "xoroshiro128aox", "stochastic rounding", "65536 halves", "added 10000 times", "exceptions"})
    EXPECT_NE(o.out.find(name), std::string::npos) << name;
  EXPECT_NE(o.out.find("11 of 11 checks passed"), std::string::npos) << o.out;
}

TEST(Selftest, Json) {
  const nlohmann::json json = softamp::test::json_of("selftest --json");
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["checks"].size(), 11u);
  for (const auto& check : json["checks"]) EXPECT_EQ(check["passed"], true) << check;
  const std::string sets = json["instruction_sets"];
  EXPECT_EQ(sets.rfind("portable", 0), 0u);
  const std::string best = softamp::bulk::name(softamp::bulk::best_instruction_set());
  ASSERT_GE(sets.size(), best.size());
  EXPECT_EQ(sets.substr(sets.size() - best.size()), best) << "the best set that the machine has is among those checked";
}
