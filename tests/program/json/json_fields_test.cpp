// What programs read of the command: the fields of its JSON documents and their types, command by command, as
// json_fields.txt lists them. A field that goes, comes or changes its type is a change for whoever reads it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <sstream>

#include "src/backend.h"
#include "tests/program/process.h"

namespace softamp::test {
namespace {

using nlohmann::json;

/// The types at each path; [] stands for every index.
using Fields = std::map<std::string, std::set<std::string>>;

void collect(const json& value, const std::string& path, Fields& fields) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, below] : value.items()) collect(below, path + "/" + key, fields);
  } else if (value.is_array() && !value.empty()) {
    for (const json& below : value) collect(below, path + "[]", fields);
  } else {
    fields[path].insert(value.type_name());
  }
}

std::string text_of(const Fields& fields) {
  std::string text;
  for (const auto& [path, types] : fields) {
    text += path;
    for (const std::string& type : types) text += " " + type;
    text += "\n";
  }
  return text;
}

TEST(JsonFields, AreTheListedOnes) {
  const TemporaryFolder folder;
  std::istringstream list(read_text(SOFTAMP_SOURCE_DIR "/tests/program/json/json_fields.txt"));
  std::vector<std::pair<std::string, std::string>> expected;  // a command, and its fields
  // Lines of a build with CUDA, or of one without it, are marked.
  const std::string left_out = std::string("with") + (cuda_architectures().empty() ? "" : "out") + " CUDA: ";
  const std::string mark = std::string("with") + (cuda_architectures().empty() ? "out" : "") + " CUDA: ";
  std::string line;
  while (std::getline(list, line)) {
    if (line.starts_with(left_out)) continue;
    if (line.starts_with(mark)) line.erase(0, mark.size());
    if (line.starts_with("$ "))
      expected.emplace_back(line.substr(2), "");
    else
      expected.back().second += line + "\n";
  }
  EXPECT_GE(expected.size(), 10u);
  for (const auto& [arguments, fields] : expected) {
    std::string here = arguments;
    for (size_t at; (at = here.find('@')) != std::string::npos;) here.replace(at, 1, SOFTAMP_SOURCE_DIR "/examples");
    const Outcome o = run_shell("cd " + folder.file("") + " && '" SOFTAMP_PROGRAM "' " + here);
    ASSERT_NE(o.code, 2) << here << ": " << o.err;
    ASSERT_TRUE(json::accept(o.out)) << here << ": " << o.out;
    Fields found;
    collect(json::parse(o.out), "", found);
    EXPECT_EQ(text_of(found), fields) << here;
  }
}

}  // namespace
}  // namespace softamp::test
