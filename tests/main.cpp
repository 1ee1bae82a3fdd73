// The main program of a folder's tests. With --file=NAME_test.cpp it runs the tests of that source file alone, unless
// --gtest_filter says which tests; without either, all.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Whether `path` ends in the file name `name`.
bool names_file(std::string_view path, std::string_view name) {
  if (!path.ends_with(name)) return false;
  return path.size() == name.size() || path[path.size() - name.size() - 1] == '/';
}

/// The full names "Suite.Test" of the tests in that source file.
std::vector<std::string> tests_in(std::string_view file) {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t)
      if (const testing::TestInfo& test = *suite.GetTestInfo(t); names_file(test.file(), file))
        names.push_back(std::string(suite.name()) + "." + test.name());
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);  // takes its own options out of argv; parameterized tests exist from here on
  constexpr std::string_view kFile = "--file=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFile) || i > 1) {
      std::fprintf(stderr, "%s: argument '%s': expected one --file=NAME_test.cpp and options of gtest\n", argv[0],
                   argv[i]);
      return 2;
    }
    const std::string file(argument.substr(kFile.size()));
    const std::vector<std::string> names = tests_in(file);
    if (names.empty()) {
      std::fprintf(stderr, "%s: --file=%s: expected a source file that has tests in this program\n", argv[0],
                   file.c_str());
      return 2;
    }
    if (GTEST_FLAG_GET(filter) != "*") continue;
    std::string filter;
    for (const std::string& name : names) filter += name + ":";
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
