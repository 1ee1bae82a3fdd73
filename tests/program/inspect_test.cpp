// `softamp inspect`: one number taken apart, and every rounding of it.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <cstdio>
#include <sstream>

namespace softamp::test {
namespace {

using nlohmann::json;

json inspection_of(const std::string& arguments) { return json_of("inspect " + arguments + " --json"); }

TEST(Inspect, ACodeIsTakenApart) {
  const json x = inspection_of("0x3555 --format fp16");
  EXPECT_EQ(x["class"], "normal");
  EXPECT_EQ(x["sign"], 0);
  EXPECT_EQ(x["exponent"], -2);
  EXPECT_EQ(x["significand"], "1.0101010101");
  EXPECT_EQ(x["exact"], "0.333251953125");
  EXPECT_EQ(x["shortest"], "0.3333");
  EXPECT_EQ(x["hexadecimal"], "0x1.554p-2");
  EXPECT_EQ(x["fields"], "0 01101 0101010101");
  EXPECT_EQ(x["ulp"], 0.000244140625);
  EXPECT_EQ(x["below"]["code"], "0x3554");
  EXPECT_EQ(x["above"]["code"], "0x3556");
  EXPECT_FALSE(x.contains("roundings"));
}

/// Above the largest number of a format without infinity all random bits give that number: none rounds up to another.
TEST(Inspect, NothingGoesUpToItself) {
  for (const char* arguments :
       {"7 --format e2m1", "-7 --format e2m1", "70000 --overflow saturate", "17 --format Binary4p2sf"}) {
    const json x = inspection_of(arguments);
    for (const auto& [variant, entry] : x["roundings"]["stochastic"].items()) {
      EXPECT_TRUE(entry["up"].is_null()) << arguments << " " << variant;
      EXPECT_EQ(entry["ups"], 0) << arguments << " " << variant;
      EXPECT_EQ(entry.value("probability", 0.0), 0) << arguments << " " << variant;
    }
  }
  const json between = inspection_of("5.5 --format e2m1")["roundings"]["stochastic"]["carry"];
  EXPECT_EQ(between["up"], "0x7");
  EXPECT_EQ(between["else"], "0x6");
}

TEST(Inspect, OneBitIsNoBits) {
  for (const char* arguments : {"inspect 0.1 --bits 1", "inspect 0.1 --bits 1 --format Binary8p4se",
                                "sum --value 0.1 --count 3 --rounding stochastic --bits 1"}) {
    const std::string text = run_softamp(arguments).out;
    EXPECT_NE(text.find(text.starts_with("0.1 in") ? "stochastic with 1 random bit" : "carry, 1 bit, "),
              std::string::npos)
        << text;
  }
}

TEST(Inspect, ClassesAndNeighboursAtTheEdges) {
  const auto edge = [](const std::string& arguments) {
    const json x = inspection_of(arguments);
    const auto code = [](const json& neighbour) {
      return neighbour.is_null() ? std::string("none") : neighbour["code"].get<std::string>();
    };
    return x["class"].get<std::string>() + " " + code(x["below"]) + " " + code(x["above"]);
  };
  EXPECT_EQ(edge("0x0000"), "zero 0x8001 0x0001");
  EXPECT_EQ(edge("0x8000"), "zero 0x8001 0x0001");
  EXPECT_EQ(edge("0x0001"), "subnormal 0x0000 0x0002");
  EXPECT_EQ(edge("0x8001"), "subnormal 0x8002 0x8000");
  EXPECT_EQ(edge("0x0400"), "normal 0x03ff 0x0401");
  EXPECT_EQ(edge("0x7bff"), "normal 0x7bfe 0x7c00");
  EXPECT_EQ(edge("0x7c00"), "infinity 0x7bff none");
  EXPECT_EQ(edge("0xfc00"), "infinity none 0xfbff");
  EXPECT_EQ(edge("0x7e00"), "NaN none none");
  EXPECT_EQ(edge("0x7d00"), "signalling NaN none none");
  EXPECT_EQ(edge("0x7e --format e4m3"), "normal 0x7d none");
  EXPECT_EQ(edge("0x81 --format f143"), "subnormal 0x82 0x00");
  EXPECT_EQ(edge("0x00 --format f143"), "zero 0x81 0x01");
  EXPECT_EQ(edge("0x80 --format f143"), "NaN none none");
}

TEST(Inspect, NumbersThatLookLikeOptions) {
  const std::pair<const char*, const char*> numbers[] = {
      {"-0", "0x8000"}, {"-inf", "0xfc00"}, {"-.5", "0xb800"}, {"nan", "0x7e00"}, {"-0x1.8p1", "0xc200"}};
  for (const auto& [text, code] : numbers) EXPECT_EQ(inspection_of(text)["code"], code) << text;
  EXPECT_EQ(run_softamp("inspect --format bf16 -- -inf").out.substr(0, 12), "-inf in bf16");
}

TEST(Inspect, ARepresentableValueNeedsNoRounding) {
  const json x = inspection_of("0.25");
  EXPECT_EQ(x["representable"], true);
  EXPECT_FALSE(x.contains("roundings"));
  EXPECT_NE(run_softamp("inspect 0.25").out.find("Representable: every rounding gives it."), std::string::npos);
}

/// 0.1 = (1638 + 2/5) quanta of 2^-14, and 2/5 of 2^13 is 3276.8.
TEST(Inspect, EveryRoundingOfATenth) {
  const json x = inspection_of("0.1 --format half");
  EXPECT_EQ(x["representable"], false);
  EXPECT_EQ(x["quantum_exponent"], -14);
  EXPECT_EQ(x["k"], 1638);
  EXPECT_EQ(x["d"], "0.4");
  const json& r = x["roundings"];
  EXPECT_EQ(r["nearest"]["code"], "0x2e66");
  EXPECT_EQ(r["nearest"]["why"], "d < 1/2: stays");
  EXPECT_EQ(r["nearest-away"]["code"], "0x2e66");
  EXPECT_EQ(r["zero"]["code"], "0x2e66");
  EXPECT_EQ(r["up"]["code"], "0x2e67");
  EXPECT_EQ(r["down"]["code"], "0x2e66");
  EXPECT_EQ(r["up"]["flags"], "inexact");
  EXPECT_EQ(r["stochastic"]["carry"]["ups"], 3276);  // floor
  EXPECT_EQ(r["stochastic"]["half"]["ups"], 3277);   // floor((floor(2 * 3276.8) + 1) / 2)
  EXPECT_EQ(r["stochastic"]["rne"]["ups"], 3277);    // to the nearest
  EXPECT_EQ(r["stochastic"]["odd"]["ups"], 3277);
  EXPECT_EQ(r["stochastic"]["odd"]["of"], 8192);
  EXPECT_EQ(r["stochastic"]["carry"]["up"], "0x2e67");
  EXPECT_EQ(r["stochastic"]["carry"]["else"], "0x2e66");
  EXPECT_EQ(x["settings"], (json{{"bits", 13}, {"overflow", "infinity"}, {"preset", "ieee"}}));
}

TEST(Inspect, TiesAndNegativeNumbers) {
  const json tie = inspection_of("-2049")["roundings"];  // half way between -2048 and -2050
  EXPECT_EQ(tie["nearest"]["value"], -2048.0);
  EXPECT_EQ(tie["nearest"]["why"], "a tie; k is even: stays");
  EXPECT_EQ(tie["nearest-away"]["value"], -2050.0);
  EXPECT_EQ(tie["nearest-away"]["why"], "a tie: goes up");
  EXPECT_EQ(tie["up"]["value"], -2048.0);
  EXPECT_EQ(tie["down"]["value"], -2050.0);
  EXPECT_EQ(inspection_of("2051")["roundings"]["nearest"]["why"], "a tie; k is odd: goes up");
  EXPECT_EQ(inspection_of("2049")["d"], "1/2");
}

/// What is printed beside a comparison decides it, and "|x| = (k + d) 2^q" holds for what is printed.
TEST(Inspect, NumbersThatAreShownAreRight) {
  EXPECT_EQ(inspection_of("1157425104234217473 --format bf16")["d"], "1/2 + 1.1e-16");  // 2^60 + 2^52 + 1
  EXPECT_EQ(inspection_of("1157425104234217471 --format bf16")["d"], "1/2 - 1.1e-16");
  EXPECT_EQ(inspection_of("1157425104234217472 --format bf16")["d"], "1/2");
  EXPECT_EQ(inspection_of("1161928703861587967 --format bf16")["d"], "1 - 1.1e-16");
  EXPECT_EQ(inspection_of("0.1 --format fp64")["d"], "0.6") << "no more digits than are known";
  EXPECT_EQ(inspection_of("9007199254740993.00000000000000000001 --format fp64")["d"], "1/2 + less than 0.0015");
  EXPECT_EQ(inspection_of("1e-30")["d"], "1.6777216e-23");
  EXPECT_EQ(inspection_of("1e-399")["d"], "less than 2^-1000");
  EXPECT_EQ(inspection_of("1e-500")["d"], "less than 2^-1000");
  const json right = inspection_of("1e310"), far = inspection_of("1e400");
  EXPECT_EQ(right["quantum_exponent"], 1019);
  EXPECT_EQ(right["k"], 1780);  // 1e310 / 2^1019 = 1780.059
  for (const char* field : {"quantum_exponent", "k", "d"}) EXPECT_TRUE(far[field].is_null()) << field;
  EXPECT_EQ(far["roundings"]["nearest"]["code"], "0x7c00");
  const std::string text = run_softamp("inspect 1e400").out;
  EXPECT_NE(text.find("|x| > 2^1300.\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("k = "), std::string::npos) << text;
}

/// With one bit, d = 1/4: floor(1/2) = 0; floor(1) + 2R + 1 >= 4 for no R but 1; 1/2 to even 0; 1/2 to odd 1.
TEST(Inspect, TheVariantsDifferWithFewBits) {
  const json r = inspection_of("2048.5 --bits 1")["roundings"]["stochastic"];
  EXPECT_EQ(r["carry"]["ups"], 0);
  EXPECT_EQ(r["half"]["ups"], 1);
  EXPECT_EQ(r["rne"]["ups"], 0);
  EXPECT_EQ(r["odd"]["ups"], 1);
  EXPECT_EQ(r["odd"]["of"], 2);
}

/// Decimals far longer than binary64 hold are read to the last digit: 2049 plus or minus 1e-60 is no tie.
TEST(Inspect, DecimalsAreReadExactly) {
  const std::string zeros(59, '0');
  EXPECT_EQ(inspection_of("2049." + zeros + "1")["roundings"]["nearest"]["value"], 2050.0);
  EXPECT_EQ(inspection_of("2048." + std::string(60, '9'))["roundings"]["nearest-away"]["value"], 2048.0);
}

TEST(Inspect, Overflow) {
  const json below = inspection_of("65519.9")["roundings"];
  EXPECT_EQ(below["nearest"]["value"], 65504.0);
  EXPECT_EQ(below["up"]["exact"], "inf");
  EXPECT_EQ(below["up"]["why"], "overflow: above the largest number");
  EXPECT_EQ(below["stochastic"]["carry"]["up"], "0x7c00");
  const json at = inspection_of("65520")["roundings"];
  EXPECT_EQ(at["nearest"]["exact"], "inf");
  EXPECT_EQ(at["nearest"]["why"], "overflow: at least half a quantum above the largest number");
  EXPECT_EQ(at["nearest"]["flags"], "overflow, inexact");
  EXPECT_EQ(at["zero"]["value"], 65504.0);
  EXPECT_EQ(inspection_of("1e6")["roundings"]["down"]["why"],
            "overflow: at least a quantum above the largest number, cut back to it");
  EXPECT_EQ(inspection_of("-1e6")["roundings"]["up"]["value"], -65504.0);
  EXPECT_EQ(inspection_of("1e6 --overflow saturate")["roundings"]["nearest"]["value"], 65504.0);
  EXPECT_EQ(inspection_of("1e6 --overflow nan")["code"], "0x7e00");
  EXPECT_EQ(inspection_of("1e400")["code"], "0x7c00");
  EXPECT_EQ(inspection_of("1e-400")["code"], "0x0000");
  const json e4m3 = inspection_of("480 --format e4m3");  // where the next number would be, a NaN is
  EXPECT_EQ(e4m3["representable"], false);
  EXPECT_EQ(e4m3["class"], "NaN");
  EXPECT_EQ(e4m3["roundings"]["zero"]["value"], 448.0);
}

TEST(Inspect, Binary64IsRoundedToButNotStochastically) {
  const json x = inspection_of("0.1 --format fp64");
  EXPECT_EQ(x["code"], "0x3fb999999999999a");
  EXPECT_EQ(x["exact"], "0.1000000000000000055511151231257827021181583404541015625");
  EXPECT_FALSE(x["roundings"].contains("stochastic"));
}

TEST(Inspect, TextForPeople) {
  const Outcome outcome = run_softamp("inspect 2049 --bits 4");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "2049 in fp16 (5 exponent bits, precision 11)\n"
            "Not representable. To nearest even, overflow infinity, it becomes:\n"
            "\n"
            "class        normal\n"
            "code         0x6800 = 0 11010 0000000000\n"
            "sign         0 (+)\n"
            "exponent     field 26, bias 15: 2^11\n"
            "significand  1.0000000000 (binary)\n"
            "value        2048\n"
            "shortest     2048\n"
            "hexadecimal  0x1p+11\n"
            "ulp          2^1\n"
            "below        2047 (0x67ff)\n"
            "above        2050 (0x6801)\n"
            "\n"
            "Every rounding of 2049, stochastic with 4 random bits\n"
            "|x| = (k + d) * 2^1, k = 1024, d = 1/2\n"
            "\n"
            "rounding             result\n"
            "nearest              2048 (0x6800); a tie; k is even: stays\n"
            "nearest-away         2050 (0x6801); a tie: goes up\n"
            "zero                 2048 (0x6800); d is dropped\n"
            "up                   2050 (0x6801); positive: d > 0 goes up\n"
            "down                 2048 (0x6800); positive: d is dropped\n"
            "odd                  2050 (0x6801); k is even: goes up\n"
            "stochastic carry     0x6801 with probability 8/16 = 0.5, else 0x6800\n"
            "stochastic half      0x6801 with probability 8/16 = 0.5, else 0x6800\n"
            "stochastic rne       0x6801 with probability 8/16 = 0.5, else 0x6800\n"
            "stochastic odd       0x6801 with probability 8/16 = 0.5, else 0x6800\n");
}

/// 0.1 in fp32 is 0x3dcccccd: 1638 quanta of fp16 and 0xccd = 3277 of the 2^13 parts of one.
TEST(InspectChips, ATenthByEachChip) {
  const json x = json_of("inspect 0.1 --chip all --json");
  EXPECT_EQ(x["format"], "fp16");
  const auto chip = [&](const std::string& name) {
    for (const json& c : x["chips"])
      if (c["chip"] == name) return c;
    return json();
  };
  EXPECT_EQ(x["not_shown"], (json{"amd_cdna3", "tenstorrent_wh"}));
  EXPECT_EQ(x["chips"].size(), 10u);
  for (const json& c : x["chips"]) {
    EXPECT_EQ(c["up"]["code"], "0x2e67");
    EXPECT_EQ(c["else"]["code"], "0x2e66");
    EXPECT_EQ(c["source"], "0x3dcccccd");
    EXPECT_EQ(c["source_is_exact"], false);
    EXPECT_EQ(c["probability"], c["ups"].get<double>() / c["of"].get<double>());
  }
  EXPECT_EQ(chip("nvidia_sm100")["ups"], 3277);
  EXPECT_EQ(chip("nvidia_sm100")["of"], 8192);
  EXPECT_EQ(chip("amd_cdna4")["ups"], 3277);
  EXPECT_EQ(chip("ipu")["bits"], 16);
  EXPECT_EQ(chip("ipu")["ups"], 8 * 3277);
  EXPECT_EQ(chip("p3109_fastest")["ups"], 3277 / 32);
  EXPECT_EQ(chip("p3109_rne")["ups"], 102);  // 102.4
  EXPECT_EQ(chip("exact")["ups"], 1024 * 3277);
}

/// The probabilities are counts of all random numbers.
TEST(InspectChips, CountsAreThoseOfEveryRandomNumber) {
  for (const char* value : {"0.1", "-1e-7", "3e-8", "65519", "65520", "70000", "1.0004882812500001", "6.1e-5"}) {
    const json x = json_of(std::string("inspect ") + value + " --chip all --bits 6 --json");
    for (const json& c : x["chips"]) {
      if (c["of"] != 64) continue;
      const std::string name = c["chip"];
      size_t ups = 0;
      std::string fields;
      for (int r = 0; r < 64; ++r) {
        char line[64];
        std::snprintf(line, sizeof line, "%s %02X\n", c["source"].get<std::string>().substr(2).c_str(), unsigned(r));
        fields += line;
      }
      std::istringstream out(run_softamp("compute f32_to_f16 --bits 6 --random-field --chip " + name, fields).out);
      for (std::string source, r, code, flags; out >> source >> r >> code >> flags;) {
        std::string lower = "0x" + code;
        for (char& k : lower) k = static_cast<char>(std::tolower(k));
        ups += !c["up"].is_null() && lower == c["up"]["code"].get<std::string>();
      }
      EXPECT_EQ(c["ups"], ups) << name << " " << value;
    }
  }
}

TEST(InspectChips, SpecialCasesAndOtherFormats) {
  const json inf = json_of("inspect inf --chip all --json");
  for (const json& c : inf["chips"]) EXPECT_TRUE(c["up"].is_null()) << c["chip"];
  EXPECT_EQ(inf["chips"][0]["else"]["code"], "0x7e00");  // the IPU makes NaN of it
  EXPECT_EQ(inf["chips"][1]["else"]["code"], "0x7c00");
  const json large = json_of("inspect 70000 --chip nvidia_sm100 --overflow saturate --json");
  EXPECT_EQ(large["chips"][0]["else"]["code"], "0x7bff");
  const json at_least = json_of("inspect 1 --format bf16 --chip tenstorrent_wh --json")["chips"][0];
  EXPECT_EQ(at_least["ups"], 1);  // R = 0 moves exact values
  EXPECT_EQ(at_least["of"], 8388608);
  const json code = json_of("inspect 0x3f80 --format bf16 --chip all --json");
  for (const json& c : code["chips"]) EXPECT_EQ(c["source_is_exact"], true) << c["chip"];
  EXPECT_EQ(json_of("inspect 0.1 --format e5m2 --chip intel_xe --json")["chips"][0]["from"], "fp16");
  EXPECT_EQ(json_of("inspect 0.1 --format e6p9 --chip p3109_odd --json")["chips"][0]["bits"], 8);
}

TEST(InspectChips, TheTable) {
  const std::string text = run_softamp("inspect 0.1 --chip all").out;
  EXPECT_EQ(text.find("0.1 to fp16 by the stochastic rounding of each chip\nchip "), 0u) << text;
  EXPECT_NE(text.find("\nnvidia_sm100   fp32*  13    3277     8192     0.400024     0x2e67 (0.10004)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("*: the number is rounded to that format first"), std::string::npos);
  EXPECT_NE(text.find("not shown, no such rounding to fp16: amd_cdna3, tenstorrent_wh\n"), std::string::npos);
}

TEST(InspectChips, Refusals) {
  expect_complaint("inspect", "0.1 --chip amd_cdna3",
                   "--chip: chip amd_cdna3 does not round to fp16: expected f143 or f152");
  expect_complaint("inspect", "0.1 --chip amd_cdna4 --bits 7",
                   "--chip: chip amd_cdna4 rounds to fp16 by 13 random bits");
  expect_complaint("inspect", "0.1 --chip gaudi", "no preset for chip 'gaudi'");
  expect_complaint("inspect", "0.1 --format e4m3 --chip b200 --overflow infinity",
                   "has no other form than the saturating");
}

}  // namespace
}  // namespace softamp::test
