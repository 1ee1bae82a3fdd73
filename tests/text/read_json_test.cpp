// The one reader of JSON: its values, its limits from both sides, and where it says that a fault is.
#include "src/text/read_json.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/refusal.h"

namespace softamp {
namespace {

std::string json_refusal(std::string_view text, const JsonLimits& limits = {}, size_t first_line = 1) {
  return test::refusal<JsonError>([&] { (void)read_json(text, "f.json", limits, first_line); });
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ReadJson, ValuesAreThoseOfTheParser) {
  const char* const texts[] = {
      R"({"b": [1, -2, 3.5, 1e-3, 18446744073709551615, -9223372036854775808], "a": {"c": {}, "d": [[]]}, "": null})",
      "[true, false, null, \"\\u00e9\\n\\\"\"]",
      "\xef\xbb\xbf{\"a\": 1}",
      " 7 ",
      "\"text\"",
      "[]",
      "{}"};
  for (const char* text : texts) {
    EXPECT_EQ(read_json(text), nlohmann::ordered_json::parse(text)) << text;
    EXPECT_EQ(read_json(text).dump(), nlohmann::ordered_json::parse(text).dump()) << "the order of fields, " << text;
    EXPECT_EQ(read_json<nlohmann::json>(text), nlohmann::json::parse(text)) << text;
  }
  EXPECT_TRUE(read_json("5").is_number_unsigned());
  EXPECT_TRUE(read_json("-5").is_number_integer());
}

// nlohmann's conversion gives a number for each of these; that of 1e300 is undefined behaviour.
TEST(ReadJson, WholeNumbersAreWholeAndWithinTheirRange) {
  for (const char* text :
       {"1e300", "-1e300", "1.5", "1.0", "1e0", "18446744073709551616", "true", "null", "\"1\"", "[1]"}) {
    EXPECT_FALSE(whole_number_in<int>(read_json(text))) << text;
    EXPECT_FALSE(whole_number_in<int64_t>(read_json(text))) << text;
    EXPECT_FALSE(whole_number_in<uint64_t>(read_json(text))) << text;
  }
  const auto beyond = read_json("9223372036854775808"), greatest = read_json("9223372036854775807");
  EXPECT_FALSE(whole_number_in<int64_t>(beyond));
  EXPECT_EQ(whole_number_in<uint64_t>(beyond), uint64_t{1} << 63);
  EXPECT_EQ(whole_number_in<int64_t>(greatest), INT64_MAX);
  EXPECT_EQ(whole_number_in<uint64_t>(read_json("18446744073709551615")), UINT64_MAX);
  EXPECT_EQ(whole_number_in<int64_t>(read_json("-9223372036854775808")), INT64_MIN);
  EXPECT_FALSE(whole_number_in<int>(greatest));
  EXPECT_EQ(whole_number_in<int>(read_json("-1")), -1);
  EXPECT_FALSE(whole_number_in<uint64_t>(read_json("-1")));
  EXPECT_FALSE(whole_number_in<int64_t>(read_json("-1"), 0));
  EXPECT_EQ(whole_number_in<int>(read_json("7"), 0, 7), 7);
  EXPECT_FALSE(whole_number_in<int>(read_json("8"), 0, 7));
  EXPECT_EQ(whole_number_in<int>(nlohmann::json(7)), 7) << "one that was not read, and has a sign";
}

TEST(ReadJson, DepthHasALimit) {
  EXPECT_EQ(json_refusal(nested(64)), "");
  EXPECT_EQ(json_refusal(nested(65)), "f.json: line 1, column 65: nested deeper than 64");
  EXPECT_EQ(json_refusal(nested(3), {100, 3}), "");
  EXPECT_EQ(json_refusal("[\n {\"a\":\n  [[]]}]", {100, 3}), "f.json: line 3, column 4: nested deeper than 3");
  EXPECT_EQ(json_refusal("[[[]], [[]]]", {100, 3}), "") << "what is closed counts no more";
  // What used to end in an overflow of the stack, closed or not.
  EXPECT_EQ(json_refusal(nested(1000000)), "f.json: line 1, column 65: nested deeper than 64");
  EXPECT_EQ(json_refusal(std::string(1000000, '[')), "f.json: line 1, column 65: nested deeper than 64");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(json_refusal(objects), "f.json: line 1, column 321: nested deeper than 64");
}

TEST(ReadJson, SizeHasALimit) {
  EXPECT_EQ(json_refusal("[1, 2, 3]", {9}), "");
  EXPECT_EQ(json_refusal("[1, 2, 34]", {9}), "f.json: 10 bytes; expected at most 9");
}

TEST(ReadJson, FaultsHaveTheirPlaces) {
  for (const auto& [text, place] :
       {std::pair("", "line 1, column 1"), {" \n ", "line 2, column 2"}, {"\xef\xbb\xbf", "line 1, column 1"}})
    EXPECT_EQ(json_refusal(text), "f.json: " + std::string(place) +
                                      ": expected a value: {, [, a text in quotes, a number, true, false or null, "
                                      "found the end of the text");
  // What follows the place is the parser's sentence, each version's own.
  EXPECT_TRUE(json_refusal("{\"a\": 1,\n \"b\" 2}").starts_with("f.json: line 2, column 6: "));
  EXPECT_EQ(json_refusal("[\"\xc3\xa9\", nul]").substr(0, 26), "f.json: line 1, column 10:")
      << "columns are characters";
  EXPECT_EQ(json_refusal("[1, 2", {}, 7).substr(0, 25), "f.json: line 7, column 6:") << "a line of a file of lines";
  EXPECT_EQ(json_refusal("[1,\n -1e999]"), "f.json: line 2, column 2: the number -1e999 is beyond binary64");
  EXPECT_EQ(json_refusal(std::string("{}\n\0", 4)), "f.json: line 2, column 1: a byte 0; expected text");
  EXPECT_EQ(json_refusal("{\"a\": 1,\n \"\\\"\\\\\": 2,\n  \"\\\"\\\\\": 3}"),
            "f.json: line 3, column 3: the field '\"\\' stands twice in an object; first at line 2, column 2");
  EXPECT_EQ(json_refusal("[{\"a\": 1}, {\"a\": 2}]"), "") << "fields of two objects";
  // In an object of any number of fields, with another one inside it.
  for (int fields = 1; fields < 40; ++fields)
    for (int twice = 0; twice < fields; ++twice) {
      std::string text = "{\"inner\": {\"f0\": 1}";
      for (int f = 0; f < fields; ++f) text += ", \"f" + std::to_string(f) + "\": {\"inner\": 1}";
      ASSERT_EQ(json_refusal(text + "}"), "") << fields;
      const std::string name = "f" + std::to_string(twice);
      ASSERT_NE(json_refusal(text + ", \"" + name + "\": 1}").find("the field '" + name + "' stands twice"),
                std::string::npos)
          << fields << ' ' << twice;
    }
  EXPECT_EQ(json_refusal("{\xe2\x80\x9c"
                         "a\": 1}"),
            "f.json: line 1, column 2: \xe2\x80\x9c is a typographic quotation mark; expected \"");
  EXPECT_EQ(json_refusal(" \"a\": 1}"), "f.json: line 1, column 2: expected '{' before the first key");
  EXPECT_EQ(test::refusal<JsonError>([] { (void)read_json("[", ""); }).substr(0, 18), "line 1, column 2: ")
      << "without a place";
  for (const char* bad : {"", "[", "{", "[1e999]", "{\"a\":1,\"a\":2}", "\xff"})
    EXPECT_EQ(json_refusal(bad).find("json.exception"), std::string::npos) << bad;
}

TEST(ReadJson, OrDiscard) {
  EXPECT_TRUE(read_json_or_discard("[").is_discarded());
  EXPECT_TRUE(read_json_or_discard(nested(65)).is_discarded());
  EXPECT_EQ(read_json_or_discard("[1]"), nlohmann::ordered_json::array({1}));
}

// nlohmann's ordered objects search all fields for each new one: minutes for this text.
TEST(ReadJson, AWideObjectTakesLinearTime) {
  std::string text = "{";
  const int count = 200000;
  for (int i = 0; i < count; ++i) text += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(read_json(text + "}").size(), static_cast<size_t>(count));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace softamp
