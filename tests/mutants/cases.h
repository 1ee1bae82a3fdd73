// A listener of GoogleTest's that says of each test which places of mutants it came to, and how long it took.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "mutant.h"

namespace mutant {

class Cases : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { tell("before"); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    tell(std::string(test.test_suite_name()) + "." + test.name() + " " + std::to_string(result.elapsed_time()) +
         (result.Failed()    ? " failed"
          : result.Skipped() ? " skipped"
                             : " passed"));
  }
};

inline const bool listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Cases);
  return true;
}();

}  // namespace mutant
