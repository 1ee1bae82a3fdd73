// gtest's main for the programs of tests/: with --file=NAME_test.cpp, the tests of that file alone.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <string_view>

namespace {

/// The names of all tests that stand in the file, in the form of a filter, and that the filter given by hand lets pass.
std::string tests_of(std::string_view file) {
  const std::string end = "/" + std::string(file);
  std::string names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (std::string_view(test.file()).ends_with(end)) names += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--file=")) {
      std::cerr << argv[0] << ": '" << word << "' is not known; expected --file=NAME_test.cpp or an option of GoogleTest\n";
      return 2;
    }
    const std::string names = tests_of(word.substr(7));
    if (names.empty()) {
      std::cerr << argv[0] << ": no test stands in a file called '" << word.substr(7) << "'\n";
      return 2;
    }
    std::string& filter = testing::GTEST_FLAG(filter);
    const size_t dash = filter.find('-');
    if (filter.substr(0, dash) != "*" && !filter.substr(0, dash).empty()) continue;  // chosen by hand
    filter = names + (dash == std::string::npos ? "" : filter.substr(dash));
  }
  return RUN_ALL_TESTS();
}
