#include "src/files/printable.h"

#include <gtest/gtest.h>

#include <sstream>

#include "src/files/printable_stream.h"

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

TEST(Printable, WhatOtherReadersCallNoCharacter) {
  EXPECT_EQ(printable("\xe0\x80\x80 \xf0\x80\x80\x80"), "\\xe0\\x80\\x80 \\xf0\\x80\\x80\\x80");  // longer than needed
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");                                        // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");                               // above U+10FFFF
  EXPECT_EQ(printable("\uffff"), "\\xef\\xbf\\xbf");
}

TEST(Printable, JsonStaysTheSameDocument) {
  EXPECT_EQ(printable_json("{\n\"a\x7f\": \"\u009b \u00e9\"}"), "{\n\"a\\u007f\": \"\\u009b \u00e9\"}");
}

TEST(PrintableStream, EscapesWhatIsWrittenPieceByPiece) {
  std::ostringstream out;
  std::streambuf* const before = out.rdbuf();
  {
    const PrintableStream stream(out);
    out << "a\x1b[2J\n\tb "
        << "\xc3" << std::flush << "\xa9" << '\x7f' << "\xe2\x82";
  }
  EXPECT_EQ(out.rdbuf(), before);
  EXPECT_EQ(out.str(), "a\\x1b[2J\n\tb \u00e9\\x7f\\xe2\\x82");
}

TEST(Printable, LinesCanBeKept) {
  EXPECT_EQ(printable("a\n\x1b", true), "a\n\\x1b");
  EXPECT_EQ(in_quotes("a\nb"), "'a\\nb'");
}

}  // namespace
}  // namespace softamp::files
