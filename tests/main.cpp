// The main program of a folder's tests. With --file=NAME_test.cpp it runs the tests of that source file alone, those of
// them that --gtest_filter takes; without it, all.
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

/// Whether gtest's `pattern` ('*' any text, '?' any character) is all of `name`.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) && matches(pattern.substr(1), name.substr(1));
}

/// Whether one of the patterns, with ':' between them, is all of `name`.
bool one_matches(std::string_view patterns, std::string_view name) {
  while (true) {
    const size_t colon = patterns.find(':');
    if (matches(patterns.substr(0, colon), name)) return true;
    if (colon == std::string_view::npos) return false;
    patterns.remove_prefix(colon + 1);
  }
}

/// Whether gtest's `filter` takes `name`: a pattern before its '-' matches, none behind it does.
bool takes(std::string_view filter, std::string_view name) {
  const size_t dash = filter.find('-');
  const std::string_view wanted = filter.substr(0, dash);
  if (!one_matches(wanted.empty() ? "*" : wanted, name)) return false;
  return dash == std::string_view::npos || !one_matches(filter.substr(dash + 1), name);
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
    const std::string given = GTEST_FLAG_GET(filter);
    std::string taken;
    for (const std::string& name : names)
      if (takes(given, name)) taken += (taken.empty() ? "" : ":") + name;
    GTEST_FLAG_SET(filter, taken.empty() ? "-*" : taken);
  }
  return RUN_ALL_TESTS();
}
