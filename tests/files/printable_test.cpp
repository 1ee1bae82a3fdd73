#include "src/text/printable.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <sstream>
#include <utility>

#include "src/text/printable_stream.h"

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
  using Texts = PrintableStream::Texts;
  for (const auto& [texts, expected] :
       {std::pair{Texts::kMessages, "a\\x1b[2J\n\\tb \u00e9\\x7f\\r\n\\r\\r\n\\xe2\\x82"},
        {Texts::kTables, "a\\x1b[2J\n\tb \u00e9\\x7f\r\n\\r\r\n\\xe2\\x82"}}) {
    std::ostringstream out;
    std::streambuf* const before = out.rdbuf();
    {
      const PrintableStream stream(out, -1, texts);
      out << "a\x1b[2J\n\tb "
          << "\xc3" << std::flush << "\xa9" << '\x7f' << '\r' << "\n\r\r\n"
          << "\xe2\x82";
    }
    EXPECT_EQ(out.rdbuf(), before);
    EXPECT_EQ(out.str(), expected);
  }
}

TEST(PrintableStream, ATextOfBytesIsEscapedForATerminalAlone) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_NE(terminal, -1);
  for (const auto& [descriptor, expected] : {std::pair{-1, "a\x1b\xff"}, {terminal, "a\\x1b\\xff"}}) {
    std::ostringstream out;
    const PrintableStream stream(out, descriptor, PrintableStream::Texts::kTables);
    write_bytes(out, "a\x1b\xff");  // 0xff begins no character that would be waited for
    EXPECT_EQ(out.str(), expected);
  }
  ::close(terminal);
  std::ostringstream plain;
  write_bytes(plain, "a\xff");
  EXPECT_EQ(plain.str(), "a\xff");
}

TEST(Printable, AnExcerptIsCutWithinNoCharacter) {
  const std::string long_text(79, 'x');
  EXPECT_EQ(excerpt("a\x1b"), "a\\x1b");
  EXPECT_EQ(excerpt(long_text + "y"), long_text + "y");
  EXPECT_EQ(excerpt(long_text + "yz"), long_text + "y...");
  EXPECT_EQ(excerpt(long_text + "\u00e4"), long_text + "...");
}

TEST(Printable, LinesCanBeKept) {
  EXPECT_EQ(printable("a\n\x1b", true), "a\n\\x1b");
  EXPECT_EQ(in_quotes("a\nb"), "'a\\nb'");
}

}  // namespace
}  // namespace softamp::files
