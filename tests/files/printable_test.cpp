#include "src/files/printable.h"

#include <gtest/gtest.h>

namespace softamp::files {
namespace {

TEST(Printable, TextStaysAndWhatATerminalObeysDoesNot) {
  for (const char* text : {"", "a b'c\"{}$`\\", "caf\u00e9 \u2014 \U0001F600", "\u00a0"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\x1b[2J\x07\x7f"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\u009b2J"), "\\xc2\\x9b2J");
}

TEST(Printable, BytesThatAreNoText) {
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xc3"
                      "A"),
            "\\xc3"
            "A");
}

TEST(Printable, LinesCanBeKept) {
  EXPECT_EQ(printable("a\n\x1b", true), "a\n\\x1b");
  EXPECT_EQ(in_quotes("a\nb"), "'a\\nb'");
}

}  // namespace
}  // namespace softamp::files
