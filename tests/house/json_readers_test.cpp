// JSON is parsed in one place, which has the limits: nothing else in src/ calls the parser.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/files.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// Places of calls of the parser, "file:line"; that of the reader is left out.
std::vector<std::string> calls_of_parser(const fs::path& root) {
  static const std::regex kCall(R"([Jj]son::(parse|accept|sax_parse|from_(cbor|msgpack|bson|ubjson|bjdata))\s*\()");
  std::vector<std::string> places;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = fs::relative(entry.path(), root).generic_string();
    if (!entry.is_regular_file() || name == "text/read_json.cpp") continue;
    std::istringstream text(test::read_text(entry.path().string()));
    std::string line;
    for (int number = 1; std::getline(text, line); ++number)
      if (test::contains(line, "son::") && std::regex_search(line, kCall))
        places.push_back(name + ":" + std::to_string(number));
  }
  return places;
}

TEST(JsonReaders, OneFileOfTheSourcesParses) {
  EXPECT_EQ(calls_of_parser(fs::path(SOFTAMP_SOURCE_DIR) / "src"), std::vector<std::string>{});
}

TEST(JsonReaders, ACallIsSeen) {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("a.cpp"),
                   "int x;\nauto y = Json::parse(text);\nnlohmann::json::accept (z);\nPolicy::parse(q);\n"
                   "Json::sax_parse(a, b, c);\n");
  fs::create_directory(folder.file("report"));
  test::write_text(folder.file("text/read_json.cpp"), "nlohmann::json::sax_parse(\n");
  EXPECT_EQ(calls_of_parser(folder.path()), (std::vector<std::string>{"a.cpp:2", "a.cpp:3", "a.cpp:5"}));
}

}  // namespace
}  // namespace softamp
