// Documents that say whether they are as they were written.
#include "src/files/checked_json.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "src/text/read_json.h"
#include "tests/refusal.h"

namespace softamp {
namespace {

TEST(CheckedJson, EveryChangedByteIsSeen) {
  for (const std::string object : {"{\"a\": [1, 2.5], \"b\": \"}\"}", "{\n  \"a\": 1\n}\n"}) {
    const std::string text = with_checksum(object);
    EXPECT_NO_THROW(verify_checksum(text));
    const auto read = read_json(text, "");
    EXPECT_EQ(read.at("a"), read_json(object, "").at("a"));
    EXPECT_EQ(read.at("checksum").get<std::string>().size(), 64u);
    for (size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] ^= 1;
      EXPECT_THROW(verify_checksum(changed), std::invalid_argument) << i;
    }
    EXPECT_THROW(verify_checksum(text.substr(0, text.size() - 1)), std::invalid_argument);
    EXPECT_THROW(verify_checksum(object), std::invalid_argument);
  }
  EXPECT_EQ(test::refusal<std::invalid_argument>([] { verify_checksum("{}"); }), "its last member is no checksum");
}

}  // namespace
}  // namespace softamp
