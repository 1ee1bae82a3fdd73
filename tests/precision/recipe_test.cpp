// Recipes as texts: lists, spellings, patterns, errors with their places, files, the environment.
#include "softamp/precision/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>

#include "softamp/data/images.h"
#include "softamp/numerics/half.h"
#include "src/precision/json_tokens.h"
#include "src/precision/name_patterns.h"
#include "tests/files.h"
#include "tests/graph/executor_check.h"
#include "tests/precision/random_dag.h"
#include "tests/precision/recipe_nets.h"

namespace softamp::test {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

std::string recipe_refusal(std::string_view text) {
  return refusal<std::invalid_argument>([&] { Recipe::parse(text, "r.json"); });
}

/// {allow, conditional, strict, non_convertible, convertible}
std::vector<size_t> counts(const Recipe& r) {
  return {r.allow.size(), r.conditional.size(), r.strict.size(), r.non_convertible.size(), r.convertible.size()};
}

fs::path recipe_file(const std::string& name) {
  return data_folder().value_or(fs::path(SOFTAMP_SOURCE_DIR) / "../shared/data") / "recipes" / name;
}

/// Sets a variable of the environment for a while.
class EnvironmentGuard {
 public:
  EnvironmentGuard(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~EnvironmentGuard() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

// MIXED_PRECISION H01: what bfloat16 is.
// tests: H01
TEST(BFloat16Format, RoundsToNearestEvenOnce) {
  static_assert(kBf16.exponent_bits == 8 && kBf16.precision == 8);  // seven bits are stored
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 x = BFloat16::from_bits(static_cast<uint16_t>(bits));
    if (isnan(x))
      EXPECT_TRUE(std::isnan(static_cast<float>(x)) && isnan(BFloat16(static_cast<float>(x))));
    else
      EXPECT_EQ(BFloat16(static_cast<float>(x)).bits(), bits);
  }
  for (uint32_t bits = 0; bits < 0x7F7F; ++bits) {  // the upper half of a float32 code: midpoints end in 8000
    const auto float32 = [&](uint32_t low) { return static_cast<float>(fp::to_double(kFp32, bits << 16 | low)); };
    ASSERT_EQ(BFloat16(float32(0x7FFF)).bits(), bits);
    ASSERT_EQ(BFloat16(float32(0x8000)).bits(), bits + (bits & 1));
    ASSERT_EQ(BFloat16(float32(0x8001)).bits(), bits + 1);
  }
  EXPECT_TRUE(isinf(BFloat16(std::numeric_limits<float>::max())));
}

// MIXED_PRECISION H14: what is built in is what the files hold.
// tests: H14
TEST(BuiltIn, FullAndBasic) {
  EXPECT_EQ(counts(Recipe::full()), (std::vector<size_t>{75, 63, 5, 1, 1}));
  EXPECT_EQ(counts(Recipe::basic()), (std::vector<size_t>{9, 4, 0, 1, 1}));
  EXPECT_EQ(Recipe::basic().allow,
            (Strings{"BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput",
                     "HabanaConv2DWithPadding", "HabanaConv2DWithPaddingBackpropFilter",
                     "HabanaConv2DWithPaddingBackpropInput", "MatMul"}));
  EXPECT_EQ(Recipe::full().strict, (Strings{"Add", "AddN", "AddV2", "BiasAddGrad", "Sub"}));
  for (const Recipe& r : {Recipe::full(), Recipe::basic()}) {
    EXPECT_EQ(r.non_convertible, (std::vector<RecipeException>{{".*KEEP_FP32_PRECISION.*", ""}}));
    EXPECT_EQ(r.convertible, (std::vector<RecipeException>{{".*FORCE_BF16_PRECISION.*", ""}}));
    EXPECT_TRUE(Recipe::parse(r.to_json()).warnings.empty()) << "an operation stands twice";
  }
  EXPECT_FALSE(Recipe::full() == Recipe::basic());
}

// MIXED_PRECISION H12, H14, H17: the four files.
// tests: H12, H14, H17
TEST(RealRecipes, ParseAndCount) {
  if (!fs::exists(recipe_file("full_1.3.0.json"))) GTEST_SKIP() << "no recipes at " << recipe_file("");
  EXPECT_EQ(Recipe::load(recipe_file("full_1.3.0.json")), Recipe::full());
  EXPECT_EQ(Recipe::load(recipe_file("basic_1.3.0.json")), Recipe::basic());
  const Recipe bert = Recipe::load(recipe_file("bert_1.7.1.json"));
  EXPECT_EQ(bert, Recipe::parse(bert_json()));
  EXPECT_EQ(bert.name, "bert_1.7.1");
  EXPECT_EQ(counts(bert), (std::vector<size_t>{30, 10, 0, 1, 5}));
  EXPECT_EQ(counts(Recipe::load(recipe_file("unet_1.2.0.json"))), (std::vector<size_t>{26, 40, 0, 1, 1}));
  // What is written is laid out as these files are.
  EXPECT_EQ(Recipe::full().to_json(), read_text(recipe_file("full_1.3.0.json").string()) + "\n");
}

// tests: H12, H13, X11
TEST(Keys, ThreeSpellingsOneRecipe) {
  const char* tail = R"("non_convertible_exceptions": [["a.*", "Mul"]], "convertible_exceptions": [["b", ""]]})";
  Recipe expected;
  expected.allow = {"MatMul", "Conv2D"};
  expected.conditional = {"Relu"};
  expected.strict = {"AddV2"};
  expected.non_convertible = {{"a.*", "Mul"}};
  expected.convertible = {{"b", ""}};
  for (const char* allow : {"allow_list", "allowlist", "whitelist"})  // TUTORIAL X11
    for (const char* conditional : {"conditional_list", "graylist"})
      for (const char* strict : {"strict_conditional_list", "input_only_exceptions"}) {
        const std::string text = std::string("{\"") + allow + R"(": ["MatMul", "Conv2D"], ")" + conditional +
                                 R"(": ["Relu"], ")" + strict + R"(": ["AddV2"], )" + tail;
        EXPECT_EQ(Recipe::parse(text), expected) << text;
      }
  EXPECT_EQ(Recipe::parse("{}"), Recipe()) << "a missing key is an empty list";
  EXPECT_EQ(Recipe::parse("\xef\xbb\xbf {\"allowlist\": []}"), Recipe()) << "a byte order mark";
}

// tests: H12, H13
TEST(Keys, FaultsAreNamedWithTheirPlaces) {
  EXPECT_EQ(recipe_refusal("{\n  \"conditonal_list\": []}"),
            "r.json: line 2, column 3: unknown key 'conditonal_list'; nearest: conditional_list");
  EXPECT_EQ(recipe_refusal("{\"allowlist\": [],\n \"whitelist\": []}"),
            "r.json: line 2, column 2: the key 'whitelist' is another spelling of 'allowlist' at line 1, column 2");
  EXPECT_EQ(recipe_refusal("{\"graylist\": [], \"graylist\": []}"),
            "r.json: line 1, column 18: the field 'graylist' stands twice in an object; first at line 1, column 2");
  EXPECT_EQ(recipe_refusal("[]"),
            "r.json: line 1, column 1: expected an object of lists, {\"allowlist\": [...], ...}; found a list");
  EXPECT_EQ(recipe_refusal(" 3.5"),
            "r.json: line 1, column 2: expected an object of lists, {\"allowlist\": [...], ...}; found 3.5");
  EXPECT_EQ(recipe_refusal(R"({"allowlist": "MatMul"})"),
            "r.json: line 1, column 15: 'allowlist': expected a list of operation types, found 'MatMul'");
  EXPECT_EQ(recipe_refusal(R"({"whitelist": ["é", 7]})"),
            "r.json: line 1, column 21: 'whitelist': expected an operation type in quotes, found 7");
  EXPECT_EQ(recipe_refusal(R"({"whitelist": [""]})"),
            "r.json: line 1, column 16: 'whitelist': expected an operation type in quotes, found ''");
  EXPECT_EQ(recipe_refusal(R"({"graylist": [["Mul"]]})"),
            "r.json: line 1, column 15: 'graylist': expected an operation type in quotes, found a list");
  const std::string pair = "'convertible_exceptions': expected a pair [pattern, operation type or \"\"], found ";
  const auto exceptions = [](const std::string& list) {
    return recipe_refusal("{\"convertible_exceptions\":\n" + list + "}");
  };
  EXPECT_EQ(exceptions(R"(["a"])"), "r.json: line 2, column 2: " + pair + "'a'");
  EXPECT_EQ(exceptions(R"([["a"]])"), "r.json: line 2, column 2: " + pair + "a list of 1");
  EXPECT_EQ(exceptions(R"([["a", "", "b"]])"), "r.json: line 2, column 2: " + pair + "a list of 3");
  EXPECT_EQ(exceptions(R"([["a", "Mul"], ["a", null]])"),
            "r.json: line 2, column 16: " + pair + "a list with null in it");
  EXPECT_EQ(exceptions(R"([{"a": "b"}])"), "r.json: line 2, column 2: " + pair + "an object");
  EXPECT_EQ(exceptions("{}"),
            "r.json: line 2, column 1: 'convertible_exceptions': expected a list of pairs [pattern, operation type], "
            "found an object");
  EXPECT_EQ(recipe_refusal(R"({"regex_mode": "both"})"),
            "r.json: line 1, column 16: 'regex_mode': expected \"full\" or \"search\", found 'both'");
}

// MIXED_PRECISION H12: the lenient mode beside the strict one.
// tests: H12
TEST(Keys, UnknownOnesAreLeftOutIfLenient) {
  const std::string text =
      "{\"comment\": {\"by\": [\"a\", {\"b\": []}], \"allowlist\": [3]},\n \"allow_lst\": [\"Relu\"],\n"
      " \"allowlist\": [\"MatMul\"], \"version\": 3, \"note\": \"x\", \"graylist\": [\"Mul\"], \"end\": null}";
  EXPECT_EQ(recipe_refusal(text), "r.json: line 1, column 2: unknown key 'comment'");
  const Recipe r = Recipe::parse(text, "r.json", RecipeReading::kLenient);
  EXPECT_EQ(r.allow, Strings{"MatMul"});
  EXPECT_EQ(r.conditional, Strings{"Mul"});
  EXPECT_TRUE(r.strict.empty() && r.convertible.empty() && r.non_convertible.empty());
  const std::string left = "; it is left out";
  EXPECT_EQ(r.warnings, (Strings{"r.json: line 1, column 2: unknown key 'comment'" + left,
                                 "r.json: line 2, column 2: unknown key 'allow_lst'; nearest: allow_list" + left,
                                 "r.json: line 3, column 27: unknown key 'version'" + left,
                                 "r.json: line 3, column 41: unknown key 'note'" + left,
                                 "r.json: line 3, column 75: unknown key 'end'" + left}));
  // All other faults are faults in both.
  for (const char* bad : {"{\"allowlist\": 3}", "{\"allowlist\": [], \"whitelist\": []}", "{\"x\": [}", "[]",
                          "{\"regex_mode\": \"both\"}"})
    EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::parse(bad, "r.json", RecipeReading::kLenient); }),
              recipe_refusal(bad));
}

// TUTORIAL X11: what the page's own example does, and other texts that are not JSON.
// tests: X11
TEST(Json, FaultsOfTextsAreNamedWithTheirPlaces) {
  EXPECT_EQ(recipe_refusal("{\n  “allowlist\": []\n}"),
            "r.json: line 2, column 3: “ is a typographic quotation mark; expected \"");
  EXPECT_EQ(recipe_refusal("{\n  \"allowlist”: [\"MatMul\"]\n}"),
            "r.json: line 2, column 13: ” is a typographic quotation mark; expected \"");
  EXPECT_EQ(recipe_refusal("{\n  \"allowlist\": [\"MatMul”]\n}"),
            "r.json: line 2, column 24: ” is a typographic quotation mark; expected \"");
  EXPECT_EQ(recipe_refusal("\n \"allowlist\": [\"MatMul\"] }"),
            "r.json: line 2, column 2: expected '{' before the first key");
  const auto at = [](const char* text) { return recipe_refusal(text).substr(0, 26); };  // what follows is the parser's
  EXPECT_EQ(at("{\"allowlist\": [\"MatMul\"]\n"), "r.json: line 2, column 1: ");
  EXPECT_EQ(at("{\"allowlist\": [\"MatMul\",]}"), "r.json: line 1, column 25:");
  EXPECT_EQ(at("{\"allowlist\":\n  [\"MatMul\" \"Conv2D\"]}"), "r.json: line 2, column 20:");
  EXPECT_EQ(at(""), "r.json: line 1, column 1: ");
  EXPECT_EQ(at("{} {"), "r.json: line 1, column 4: ");
  EXPECT_EQ(recipe_refusal("{\"allowlist\": [1e999]}"),
            "r.json: line 1, column 16: the number 1e999 is beyond binary64");
  EXPECT_EQ(recipe_refusal("{\"allowlist\": [\"\xff\"]}").substr(0, 26), "r.json: line 1, column 17:");
  EXPECT_EQ(recipe_refusal(std::string(9, '[')), "r.json: line 1, column 9: nested deeper than 8");
  EXPECT_EQ(recipe_refusal("{\"allowlist\": [" + std::string(5 << 20, ' ') + "]}"),
            "r.json: 5242897 bytes; expected at most 4194304");
  const std::string quoted =
      "{\"allowlist\": [\"a \\\" , [ \\\\\", \"\\u00e9\"], \"oops\": 1}";  // places behind escapes
  EXPECT_EQ(recipe_refusal(quoted).substr(0, 45), "r.json: line 1, column 42: unknown key 'oops'");
}

// tests: H12
TEST(Json, EveryCutOfATextIsRefusedOrWhole) {
  const std::string text = bert_json();
  for (size_t length = 0; length < text.size(); ++length)
    ASSERT_NE(recipe_refusal(text.substr(0, length)).find(length == 0 ? "line 1, column 1" : ", column "),
              std::string::npos)
        << length;
  // One byte changed: refused with its place, or read; never anything else.
  Dice dice(3);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    changed[static_cast<size_t>(dice.below(static_cast<int>(text.size())))] = "{}[]\",:\\0a(*\n"[dice.below(13)];
    const std::string refused = recipe_refusal(changed);
    EXPECT_TRUE(refused.empty() || refused.starts_with("r.json: line ")) << refused;
  }
}

// tests: H12
TEST(Lists, DuplicatesAreToleratedWithAWarning) {
  const Recipe r = Recipe::parse(R"({"whitelist": ["Mul", "Add",
   "Mul"], "graylist": ["Sub", "Add"],
  "input_only_exceptions": ["Sub", "Add"], "convertible_exceptions": [["a", ""], ["a", "B"], ["a", ""]]})",
                                 "r");
  EXPECT_EQ(r.allow, (Strings{"Mul", "Add"}));
  EXPECT_EQ(r.convertible.size(), 2u);
  EXPECT_EQ(r.warnings,
            (Strings{"r: line 2, column 4: 'whitelist': Mul stands twice",
                     "r: line 3, column 95: 'convertible_exceptions': the pattern 'a' stands twice",
                     "r: line 3, column 29: Sub is in the lists strict conditional and conditional; strict conditional "
                     "counts",
                     "r: line 3, column 36: Add is in the lists allow and strict conditional and conditional; allow "
                     "counts"}));
  std::string many = "{\"whitelist\": [\"A\"";
  for (int i = 0; i < 1000; ++i) many += ", \"A\"";
  EXPECT_EQ(Recipe::parse(many + "]}").warnings.size(), 51u);
}

// tests: H11, X12
TEST(Patterns, FullMatchAndType) {
  using precision_detail::NamePatterns;
  const std::vector<RecipeException> list = {{"layer_[0-9]+", "Mul"}, {"layer_1", ""}, {"b|layer_[0-9]+/x", ""}};
  const NamePatterns full(list, RegexMode::kFullMatch, "list"), search(list, RegexMode::kSearch, "list");
  EXPECT_EQ(full.first_match("layer_11", "Mul"), 0);
  EXPECT_EQ(full.first_match("layer_11", "Add"), -1);
  EXPECT_EQ(full.first_match("layer_x", "Mul"), -1);
  EXPECT_EQ(full.first_match("net/layer_11", "Mul"), -1);  // TUTORIAL X12
  EXPECT_EQ(full.first_match("layer_11/Mul", "Mul"), -1);
  EXPECT_EQ(full.first_match("layer_1", "Add"), 1);
  EXPECT_EQ(full.first_match("layer_1", "Mul"), 0) << "the first of the list";
  EXPECT_EQ(full.first_match("layer_7/x", "Add"), 2);
  EXPECT_EQ(full.first_match("bc", ""), -1) << "both ends of each alternative";
  EXPECT_EQ(search.first_match("net/layer_11/Mul", "Mul"), 0);
  EXPECT_EQ(search.first_match("net/layer_11/Mul", "Add"), 1);
  EXPECT_EQ(search.first_match("abc", "Add"), 2);
  EXPECT_EQ(NamePatterns({}, RegexMode::kSearch, "list").first_match("a", "b"), -1);
  EXPECT_EQ(Recipe::parse("{}").regex, RegexMode::kFullMatch);
  EXPECT_EQ(Recipe::parse(R"({"regex_mode": "full"})").regex, RegexMode::kFullMatch);
  EXPECT_EQ(Recipe::parse(R"({"regex_mode": "search"})").regex, RegexMode::kSearch);
}

// tests: H17
TEST(Patterns, BertsFitEveryLayer) {
  const Recipe bert = Recipe::parse(bert_json());
  const precision_detail::NamePatterns patterns(bert.convertible, bert.regex, "convertible");
  for (int layer = 0; layer < 24; ++layer) {
    const std::string self = "bert/encoder/layer_" + std::to_string(layer) + "/attention/self/";
    EXPECT_EQ(patterns.first_match(self + "add", "AddV2"), 0);
    EXPECT_EQ(patterns.first_match(self + "Mul", "Mul"), 1);
    EXPECT_EQ(patterns.first_match(self + "Mul", "AddV2"), -1);
    EXPECT_EQ(patterns.first_match(self + "Mul_1", "Mul"), -1);
    EXPECT_EQ(patterns.first_match("gradients/" + self + "Mul", "Mul"), -1);
  }
  EXPECT_EQ(patterns.first_match("bert/encoder/layer_x/attention/self/Mul", "Mul"), -1);
}

// tests: H11
TEST(Patterns, WhatDoesNotCompileIsNamed) {
  const auto fault = [](const std::string& pattern) {
    return recipe_refusal("{\"non_convertible_exceptions\": [[\"" + pattern + "\", \"\"]]}");
  };
  const std::string begin = "r.json: line 1, column 34: 'non_convertible_exceptions': the pattern ";
  EXPECT_EQ(fault("layer_("), begin + "'layer_(' does not compile: missing ): layer_(");
  EXPECT_EQ(fault("[z-a]"), begin + "'[z-a]' does not compile: invalid character class range: z-a");
  EXPECT_EQ(fault("*a"), begin + "'*a' does not compile: no argument for repetition operator: *");
  EXPECT_EQ(fault("a{1001}"), begin + "'a{1001}' does not compile: invalid repetition size: {1001}");
  const std::string none = "; RE2's grammar, which takes linear time, has none";
  EXPECT_EQ(fault("(a+)\\\\1"), begin + "'(a+)\\1' has the back-reference '\\1'" + none);
  EXPECT_EQ(fault("(?P<n>a)(?P=n)"), begin + "'(?P<n>a)(?P=n)' has the back-reference '(?P='" + none);
  EXPECT_EQ(fault("a(?=b)"), begin + "'a(?=b)' has the look-ahead '(?='" + none);
  EXPECT_EQ(fault("a(?!b)"), begin + "'a(?!b)' has the look-ahead '(?!'" + none);
  EXPECT_EQ(fault("(?<=a)b"), begin + "'(?<=a)b' has the look-behind or group '(?<'" + none);
  EXPECT_EQ(
      fault(std::string(10001, 'a')),
      "r.json: line 1, column 34: 'non_convertible_exceptions': a pattern of 10001 bytes; expected at most 10000");
  EXPECT_NE(fault("((((a{100}){100}){100}){100})"), "") << "grows beyond all memory";
  EXPECT_NE(fault("(\\\\pL{500}){2}").find("pattern too large"), std::string::npos);
  std::string many = "{\"convertible_exceptions\": [[\"0\", \"\"]";
  for (int i = 1; i <= 1000; ++i) many += ",\n[\"" + std::to_string(i) + "\", \"\"]";
  EXPECT_EQ(recipe_refusal(many + "]}"),
            "r.json: line 1001, column 1: 'convertible_exceptions': more than 1000 patterns");
  // By hand, without a text:
  Recipe r;
  r.convertible = {{"a", ""}, {"(", "Mul"}};
  EXPECT_EQ(refusal<std::invalid_argument>([&] { colour_recipe(dense_net_picture(), r); }),
            "convertible_exceptions[1]: the pattern '(' does not compile: missing ): (");
}

// Patterns against the standard library's regular expressions, which work by other means.
// tests: H11
TEST(Patterns, EqualTheStandardLibrarys) {
  const Strings pieces = {"a", "b", "ab", ".", ".*", "[ab]", "a*", "b+", "a?", "(a|bb)", "(ab)*", "b{2}", "[^a]"};
  Dice dice(1);
  for (int round = 0; round < 150; ++round) {
    std::vector<RecipeException> list;
    for (int i = 0, n = 1 + dice.below(5); i < n; ++i) {
      std::string pattern;
      for (int k = 0, m = 1 + dice.below(4); k < m; ++k)
        pattern += pieces[static_cast<size_t>(dice.below(static_cast<int>(pieces.size())))];
      if (dice.chance(20)) pattern += "|" + pieces[static_cast<size_t>(dice.below(3))];
      list.push_back({pattern, dice.chance(30) ? "Mul" : ""});
    }
    for (const RegexMode mode : {RegexMode::kFullMatch, RegexMode::kSearch}) {
      const precision_detail::NamePatterns patterns(list, mode, "list");
      for (int k = 0; k < 20; ++k) {
        std::string name;
        for (int c = dice.below(8); c > 0; --c) name += "abc"[dice.below(3)];
        const std::string op = dice.chance(50) ? "Mul" : "Add";
        int expected = -1;
        for (size_t i = 0; i < list.size() && expected < 0; ++i) {
          const std::regex re(list[i].pattern);
          const bool fits = mode == RegexMode::kFullMatch ? std::regex_match(name, re) : std::regex_search(name, re);
          if (fits && (list[i].type.empty() || list[i].type == op)) expected = static_cast<int>(i);
        }
        ASSERT_EQ(patterns.first_match(name, op), expected) << name << " " << list[0].pattern;
      }
    }
  }
}

// Patterns that take exponential time by backtracking, and automata beyond their memory.
// tests: H11
TEST(Patterns, NoneExplodes) {
  std::vector<RecipeException> list = {{"(a*)*b", ""}, {"(a|a)*b", ""}, {"(.*)(.*)(.*)(.*)(.*)x", ""}};
  for (int i = 0; i < 8; ++i) list.push_back({".*a.{" + std::to_string(200 + i) + "}", ""});  // 2^200 states if whole
  const precision_detail::NamePatterns patterns(list, RegexMode::kFullMatch, "list");
  Dice dice(2);
  std::string name;
  for (int i = 0; i < 1500; ++i) name += "ac"[dice.below(2)];
  const size_t from_end = 200;
  int expected = -1;
  for (size_t i = 0; i < 8 && expected < 0; ++i)
    if (name[name.size() - 1 - from_end - i] == 'a') expected = static_cast<int>(3 + i);
  EXPECT_EQ(patterns.first_match(name, ""), expected);
  EXPECT_EQ(patterns.first_match(std::string(5000, 'a') + "b", ""), 0);
  // Too large for one automaton: taken apart.
  std::vector<RecipeException> large;
  for (int i = 0; i < 60; ++i) large.push_back({"(\\pL{9}|\\d{3}){2}_" + std::to_string(i), ""});
  const precision_detail::NamePatterns parts(large, RegexMode::kFullMatch, "list");
  for (int i = 0; i < 60; ++i) EXPECT_EQ(parts.first_match("123abcdefghi_" + std::to_string(i), "Mul"), i);
  EXPECT_EQ(parts.first_match("123abcdefgh_1", "Mul"), -1);
}

// MIXED_PRECISION H12, H15: what is written is read back.
// tests: H15
TEST(Files, DumpAndLoad) {
  TemporaryFolder folder;
  Recipe searching = Recipe::parse(bert_json());
  searching.regex = RegexMode::kSearch;
  searching.non_convertible.push_back({R"(a\.b"[é]+)", "Mul"});
  for (const Recipe& r : {Recipe::full(), Recipe::basic(), Recipe(), searching}) {
    r.dump(folder.file("my recipe.json"));
    const Recipe back = Recipe::load(folder.file("my recipe.json"));
    EXPECT_EQ(back, r);
    EXPECT_EQ(back.name, "my recipe");
    EXPECT_TRUE(back.warnings.empty());
    EXPECT_EQ(Recipe::find(folder.file("my recipe.json")), r);
  }
  EXPECT_FALSE(searching == Recipe::parse(bert_json()));
  const std::string missing = folder.file("none/r.json");
  EXPECT_EQ(refusal<std::runtime_error>([&] { Recipe().dump(missing); }),
            "'" + missing + "' cannot be written: No such file or directory");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::load(missing); }),
            missing + ": No such file or directory; expected a recipe, a JSON file");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::load(folder.path()); }),
            folder.path().string() + ": is a folder; expected a recipe, a JSON file");
  write_text(folder.file("long.json"), std::string((4 << 20) + 1, ' '));
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::load(folder.file("long.json")); }),
            folder.file("long.json") + ": 4194305 bytes; expected at most 4194304");
  write_text(folder.file("bad.json"), "{\"allow\": []}");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::find(folder.file("bad.json")); }),
            folder.file("bad.json") + ": line 1, column 2: unknown key 'allow'; nearest: allowlist");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::find("ful"); }),
            "recipe 'ful': there is no such file; nearest: full; expected full, basic, or the path of a JSON file");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { Recipe::find("./ful.json"); }),
            "recipe './ful.json': there is no such file; expected full, basic, or the path of a JSON file");
}

// tests: H16
TEST(Environment, EachValue) {
  TemporaryFolder folder;
  Recipe::basic().dump(folder.file("mine.json"));
  EnvironmentGuard no_old("TF_ENABLE_BF16_CONVERSION", nullptr);
  const auto from = [](const char* value) {
    EnvironmentGuard guard("TF_BF16_CONVERSION", value);
    return Recipe::from_environment();
  };
  for (const char* off : {static_cast<const char*>(nullptr), "", "0", "false", "False"}) EXPECT_FALSE(from(off)) << off;
  for (const char* full : {"1", "true", "True", "full"}) {
    ASSERT_TRUE(from(full)) << full;
    EXPECT_EQ(*from(full), Recipe::full());
    EXPECT_EQ(from(full)->warnings, Strings{});
  }
  EXPECT_EQ(from("basic")->name, "basic");
  EXPECT_EQ(*from(folder.file("mine.json").c_str()), Recipe::basic());
  EXPECT_EQ(refusal<std::invalid_argument>([&] { from("fall"); }),
            "TF_BF16_CONVERSION: recipe 'fall': there is no such file; nearest: full; expected full, basic, or the "
            "path of a JSON file, 1, true, 0 or false");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { from("fall.json"); }),
            "TF_BF16_CONVERSION: recipe 'fall.json': there is no such file; expected full, basic, or the path of a "
            "JSON file");
}

// tests: H16
TEST(Environment, TheDeprecatedNameWarns) {
  // MIXED_PRECISION H16
  EnvironmentGuard old("TF_ENABLE_BF16_CONVERSION", "1");
  {
    EnvironmentGuard unset("TF_BF16_CONVERSION", nullptr);
    ASSERT_TRUE(Recipe::from_environment());
    EXPECT_EQ(*Recipe::from_environment(), Recipe::full());
    EXPECT_EQ(Recipe::from_environment()->warnings,
              Strings{"TF_ENABLE_BF16_CONVERSION is deprecated; use TF_BF16_CONVERSION"});
  }
  EnvironmentGuard both("TF_BF16_CONVERSION", "basic");
  EXPECT_EQ(*Recipe::from_environment(), Recipe::basic());
  EXPECT_EQ(Recipe::from_environment()->warnings,
            Strings{"TF_ENABLE_BF16_CONVERSION is deprecated; TF_BF16_CONVERSION is set and counts"});
  EnvironmentGuard off("TF_BF16_CONVERSION", "0");
  EXPECT_FALSE(Recipe::from_environment());
}

// tests: H15
TEST(Environment, DumpPath) {
  TemporaryFolder folder;
  {
    EnvironmentGuard unset("TF_BF16_DUMP_PATH", nullptr);
    EXPECT_FALSE(Recipe::full().dump_by_environment());
  }
  EnvironmentGuard set("TF_BF16_DUMP_PATH", folder.file("used.json").c_str());
  EXPECT_EQ(Recipe::full().dump_by_environment(), folder.file("used.json"));
  EXPECT_EQ(Recipe::load(folder.file("used.json")), Recipe::full());
  for (const char* off : {"0", "false", "False"}) {
    const EnvironmentGuard none("TF_BF16_DUMP_PATH", off);
    EXPECT_FALSE(Recipe::full().dump_by_environment()) << off;
  }
}

// tests: H15
TEST(Environment, WhatIsSetAndNotOff) {
  const EnvironmentGuard conversion("TF_BF16_CONVERSION", "full"), path("TF_BF16_DUMP_PATH", "false"),
      old("TF_ENABLE_BF16_CONVERSION", "1");
  EXPECT_EQ(Recipe::environment_in_use(),
            (std::vector<std::string>{"TF_BF16_CONVERSION", "TF_ENABLE_BF16_CONVERSION"}));
}

}  // namespace
}  // namespace softamp::test
