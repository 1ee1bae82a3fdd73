// What errors of libraries say to people.
#include "src/text/reason.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <vector>

#include "src/text/newer_file.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

template <class Act>
std::string reason(Act&& act) {
  try {
    act();
  } catch (const std::exception& e) {
    return reason_of(e);
  }
  return "";
}

TEST(Reason, OfLibrariesInWordsForPeople) {
  EXPECT_EQ(reason([] { throw std::bad_alloc(); }), "there is not enough memory");
  EXPECT_EQ(reason([] { throw std::bad_array_new_length(); }), "there is not enough memory");
  EXPECT_EQ(reason([] { std::vector<int>().reserve(std::vector<int>().max_size() + 1); }),
            "there is not enough memory");
  EXPECT_EQ(reason([] { (void)read_json("{}").at("step"); }), "key 'step' not found");
  EXPECT_EQ(reason([] { (void)read_json("{}").get<double>(); }), "type must be number, but is object");
  EXPECT_EQ(reason([] { (void)std::filesystem::file_size("/no/such/file"); }),
            "'/no/such/file': No such file or directory");
}

TEST(Reason, OursAreAsTheyAre) {
  EXPECT_EQ(reason([] { throw std::runtime_error("a: b] c"); }), "a: b] c");
  struct NoMemory : std::bad_alloc {
    const char* what() const noexcept override { return "no memory for float64 [3]"; }
  };
  EXPECT_EQ(reason([] { throw NoMemory(); }), "no memory for float64 [3]");
}

TEST(NewerFile, IsOneWithAGreaterNumber) {
  const auto text = [](const char* json) { return newer_file(read_json(json), "softamp_log", 2); };
  EXPECT_EQ(text(R"({"softamp_log": 3})"),
            "its \"softamp_log\" is 3: it is of a newer version of softamp than this one, which reads 2");
  for (const char* other : {R"({"softamp_log": 2})", R"({"softamp_log": -3})", R"({"softamp_log": "3"})",
                            R"({"softamp_log": 3.5})", "{}", "[3]", "3"})
    EXPECT_EQ(text(other), "") << other;
}

}  // namespace
}  // namespace softamp
