// Compiled twice: with the package, and with what stands for it found under the package's name.
#include "tests/minimal/json_answers.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "src/text/newer_file.h"
#include "src/text/read_json.h"

namespace softamp::test {
namespace {

using Json = nlohmann::ordered_json;

std::string what_of(const std::exception& e) { return std::string("throws ") + e.what(); }

/// What `act` says, or throws.
template <class Act>
std::string said(Act&& act) {
  try {
    return act();
  } catch (const Json::exception& e) {
    return what_of(e);
  }
}

/// Texts, many of them no JSON, and each of these with a byte changed, left out or doubled.
std::vector<std::string> texts() {
  std::vector<std::string> all = {"null",
                                  " true ",
                                  "false",
                                  "0",
                                  "-0",
                                  "7",
                                  "-7",
                                  "18446744073709551615",
                                  "18446744073709551616",
                                  "-9223372036854775808",
                                  "-9223372036854775809",
                                  "0.1",
                                  "-0.0",
                                  "1e5",
                                  "1E+05",
                                  "1e-400",
                                  "4.9e-324",
                                  "1e400",
                                  "01",
                                  "1.",
                                  ".5",
                                  "+1",
                                  "1e",
                                  "--1",
                                  "\"\"",
                                  "\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\"",
                                  "\"\\u00e9\\u20ac\\ud83d\\ude00\"",
                                  "\"\\ud83d\"",
                                  "\"\\ude00\"",
                                  "\"\\ud83dx\"",
                                  "\"\\u12\"",
                                  "\"\\x\"",
                                  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"",
                                  "\"\xff\"",
                                  "\"\xc3\"",
                                  "\"\xed\xa0\x80\"",
                                  "\"\xc0\xaf\"",
                                  "\"\xf4\x90\x80\x80\"",
                                  "\"a\nb\"",
                                  "\"open",
                                  "[]",
                                  "{}",
                                  "[1,2.5,\"x\",[],{},null,true]",
                                  "{\"a\":1,\"b\":{\"c\":[1,2]},\"d\":\"e\"}",
                                  "{\"b\":1,\"a\":2}",
                                  "{\"a\":1,\"a\":2}",
                                  "[1,]",
                                  "[,1]",
                                  "{\"a\"}",
                                  "{\"a\":}",
                                  "{\"a\":1,}",
                                  "{a:1}",
                                  "[1 2]",
                                  "1 2",
                                  "",
                                  "  ",
                                  "\xef\xbb\xbf[1]",
                                  "nul",
                                  "tru",
                                  "[[[[[[[[[]]]]]]]]]",
                                  "[[[[[[[[]]]]]]]]",
                                  "{\"\\u0041\":[\"\\u0000\"]}"};
  std::mt19937_64 random(3);
  const size_t first = all.size();
  for (size_t i = 0; i < first; ++i)
    for (int change = 0; change < 40 && !all[i].empty(); ++change) {
      std::string text = all[i];
      const size_t at = random() % text.size();
      constexpr std::string_view kBytes = "\"\\{}[],:0123456789.eE+-ntfu/ \n\x80\xc3\xff";
      switch (random() % 3) {
        case 0: text[at] = kBytes[random() % kBytes.size()]; break;
        case 1: text.erase(at, 1); break;
        default: text.insert(at, 1, kBytes[random() % kBytes.size()]);
      }
      all.push_back(std::move(text));
    }
  return all;
}

std::string numbers() {
  std::string all;
  std::mt19937_64 random(4);
  const auto add = [&](double x) { all += Json(x).dump() + "\n"; };
  for (int i = 0; i < 20000; ++i) {
    add(std::bit_cast<double>(random()));
    add(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(random()))));
    add(static_cast<double>(random() % 1000000) / 1000);
  }
  for (uint64_t e = 0; e < 2047; ++e)
    for (const uint64_t f : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 52) - 1})
      add(std::bit_cast<double>(e << 52 | f));
  for (const double x : {0.0, -0.0, 1e14, 1e15, 1e16, 1e17, 0.0001, 0.00001, 123456789012345680.0,
                         std::numeric_limits<double>::infinity(), std::nan("")})
    add(x);
  for (const float x : {0.1f, 256.0f, 3.4028235e38f}) all += Json(x).dump() + "\n";
  return all;
}

/// The interface, as the sources of a training run use it.
std::string uses() {
  Json made{{"text", "t"}, {"whole", int64_t{-3}}, {"count", size_t{3}},
            {"real", 0.5}, {"on", true},           {"none", nullptr}};
  made["list"] = Json::array();
  for (const double x : {0.5, 2.0}) made["list"].push_back(x);
  made["list"].push_back({{"a", 1}, {"b", "c"}});
  made["pair"] = {"a", 1};
  made["empty"] = Json::object();
  made["deep"]["er"] = std::vector<std::string>{"x", "y"};
  made["real"] = 0.25f;
  std::string all = made.dump() + "\n" + made.dump(2) + "\n" + made.dump(-1, ' ', true) + "\n";
  for (const auto& [key, value] : made.items())
    all += key + ":" + value.type_name() + ":" + std::to_string(value.size()) + " ";
  for (const Json& value : made["list"]) all += value.dump() + ";";
  const Json& seen = made;
  all += seen.value("text", "-") + seen.value("absent", "-") + seen.value("absent", Json(7)).dump();
  for (const std::string& word : seen["deep"].value("er", std::vector<std::string>())) all += word;
  all += std::to_string(seen.at("whole").get<int>()) + std::to_string(static_cast<float>(seen.at("real")));
  all += std::to_string(seen.contains("on")) + std::to_string(seen.contains("off")) +
         std::to_string(seen.find("off") == seen.end()) + std::to_string(seen["count"] == 3) +
         std::to_string(seen["whole"] != 3) + std::to_string(seen["text"] == "t") +
         std::to_string(seen["text"] == "u") + std::to_string(seen["real"] == 0.25) +
         std::to_string(Json(1) == Json(1u)) + std::to_string(Json(1) == Json(1.0)) + std::to_string(Json() == Json()) +
         "\n";
  all += said([&] { return seen.at("absent").dump(); }) +
         said([&] { return std::string(seen.at("on").get<std::string>()); }) +
         said([&] { return std::to_string(seen.at("text").get<double>()); }) +
         said([&] { return std::to_string(seen.at("text").get<bool>()); }) +
         said([&] { return Json(3).value("x", "y"); }) + said([&] { return Json(3).at("x").dump(); }) + "\n";
  for (const char* bytes : {"\xff", "a\xc3z", "a\xc3", "\xe2\x82z", "\xf0\x9f\x98", "\x01\x1f\x7f\"\\\b"}) {
    all += said([&] { return Json(bytes).dump(); }) + "\n";
    all += Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  for (const char* file : {R"({"v":1})", R"({"v":2})", R"({"v":1e9})", R"({"v":"2"})", "[2]"})
    all += newer_file(read_json(file), "v", 1) + "\n";
  return all;
}

}  // namespace

std::string SOFTAMP_JSON_ANSWERS() {
  std::string all = uses() + numbers();
  for (const std::string& text : texts()) {
    const Json json = read_json_or_discard(text, {1000, 8});
    all += text + " -> ";
    all += json.is_discarded() ? "refused"
                               : std::string(json.type_name()) + std::to_string(json.is_number_unsigned()) +
                                     std::to_string(json.is_number_integer()) + " " + json.dump();
    all += "\n";
  }
  return all;
}

}  // namespace softamp::test
