// Lists, numbers in hexadecimal and tables as text.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "src/text/columns.h"
#include "src/text/hexadecimal.h"
#include "src/text/joined.h"
#include "src/text/lower_case.h"

namespace softamp {
namespace {

struct Row {
  std::string name;
  int size() const { return 7; }
};

TEST(Joined, PutsWordsBetweenItems) {
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
  EXPECT_EQ(joined(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(joined(std::vector<std::string>{"", "b", ""}), ", b, ");
  EXPECT_EQ(joined(std::array{"a", "b", "c"}, " or "), "a or b or c");
}

TEST(Joined, SaysOfEachItemWhatIsAsked) {
  const std::vector<Row> rows = {{"x"}, {"y"}};
  EXPECT_EQ(joined(rows, ", ", &Row::name), "x, y");
  EXPECT_EQ(joined(rows, "+", &Row::size), "7+7");
  EXPECT_EQ(joined(rows, "", [](const Row& r) { return "<" + r.name + ">"; }), "<x><y>");
  const std::vector<int64_t> extents = {1, -2, int64_t{1} << 40};
  EXPECT_EQ(list_text(extents), "[1,-2,1099511627776]");
  EXPECT_EQ(list_text({}), "[]");
}

TEST(Hexadecimal, HasSoManyDigitsOrMore) {
  EXPECT_EQ(hexadecimal(0, 0), "");
  EXPECT_EQ(hexadecimal(0, 1), "0");
  EXPECT_EQ(hexadecimal(0x3c, 4), "003c");
  EXPECT_EQ(hexadecimal(0x13c00, 4), "13c00");
  EXPECT_EQ(hexadecimal(~uint64_t{0}, 16), "ffffffffffffffff");
}

TEST(LowerCase, LeavesAllButAToZ) { EXPECT_EQ(lower_case("AZaz[@\xC3\x84"), "azaz[@\xC3\x84"); }

TEST(Columns, AreTwoBlanksApart) {
  EXPECT_EQ(in_columns({}), "");
  EXPECT_EQ(in_columns({{"a", "b"}, {"long", ""}, {"", "", "c"}}), "a     b\nlong\n         c\n");
  EXPECT_EQ(in_columns({{"n", "x"}, {"100", "y"}}, {0}), "  n  x\n100  y\n");
}

TEST(Columns, CountCharactersOfUtf8) {
  EXPECT_EQ(characters("\xC3\xA4\xE2\x80\x93"
                       "b"),
            3u);
  EXPECT_EQ(in_columns({{"\xC3\xA4", "x"}, {"ab", "y"}}), "\xC3\xA4   x\nab  y\n");
}

TEST(Columns, LeaveACellThatIsTooWide) {
  EXPECT_EQ(in_columns({{"a", "b"}, {"abcdef", "c"}}, {}, 3), "a    b\nabcdef  c\n");
}

}  // namespace
}  // namespace softamp
