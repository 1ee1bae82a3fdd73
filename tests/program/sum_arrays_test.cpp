// `softamp sum` of arrays, dot products and tables, run as a user runs it.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "softamp/data/npy.h"
#include "tests/program/signalled.h"

namespace softamp::test {
namespace {

using nlohmann::json;
using npy::ElementType;

class SumArrays : public ::testing::Test {
 protected:
  template <typename T>
  std::string array(const std::string& name, ElementType type, const std::vector<T>& values,
                    std::vector<uint64_t> shape = {}) const {
    if (shape.empty()) shape = {values.size()};
    npy::Writer writer(file(name), type, shape);
    writer.write(values.data(), values.size());
    writer.commit();
    return file(name);
  }
  std::string floats(const std::string& name, const std::vector<float>& values) const {
    return array(name, ElementType::kFloat32, values);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string text(const std::string& arguments) const {
    const Outcome o = run_softamp(arguments);
    EXPECT_EQ(o.code, 0) << o.err;
    return folder_.without(o.out, "@");
  }
  std::string refused(const std::string& arguments) const {
    return complaint_of("sum", run_softamp("sum " + arguments), folder_, arguments);
  }

  TemporaryFolder folder_;
};

json only_case(const std::string& arguments) {
  const json document = json_of("sum " + arguments + " --json");
  EXPECT_EQ(document["cases"].size(), 1u);
  return document["cases"][0];
}

TEST_F(SumArrays, OfEqualElementsAreThoseOfAValue) {
  const std::string x = floats("x.npy", std::vector<float>(10000, 0.0001f));
  EXPECT_EQ(text("sum --values " + x),
            "running sum: the 10000 elements of @x.npy ('<f4' of shape (10000,)) added to 0\n"
            "settings     fp16, rounding nearest, overflow infinity, preset ieee\n"
            "elements     enter fp16 rounded to nearest; flags inexact\n"
            "\n"
            "final sum    0.25 (0x3400), reached at addition 2181; no later one moves it\n"
            "exact sum    1.0001659393310547, of the rounded elements\n"
            "as given     0.9999999747378752, the exact sum of the elements in the file\n"
            "error        0.7502, relative 0.75\n"
            "bound        4.884 = n u sum|x|, u = 2^-11; the error is 0.1536 of it\n"
            "lost         7819 of 10000 additions\n"
            "why          addition 2182 is the first that is lost: 0.0001 is below half the spacing 0.000244 at 0.25\n"
            "flags        inexact first at addition 3\n");
  for (const char* how : {"--seed 3", "--random xoroshiro128aox --replicas 7", "--format bf16 --start 0.5",
                          "--preset ipu --overflow nan", "--variant rne --random philox7"}) {
    const std::string options = std::string(how) + " --rounding stochastic --bits 9";
    const json alone = json_of("sum --value 0.0001 --count 10000 --json " + options);
    const json ours = only_case("--values " + x + " " + options);
    ASSERT_EQ(ours["replicas"].size(), alone["replicas"].size());
    for (size_t i = 0; i < ours["replicas"].size(); ++i) {
      EXPECT_EQ(ours["replicas"][i]["code"], alone["replicas"][i]["code"]) << how;
      EXPECT_EQ(ours["replicas"][i]["last_change"], alone["replicas"][i]["last_change"]) << how;
    }
    EXPECT_EQ(ours["settings"], alone["settings"]);
    EXPECT_EQ(ours["exact"], alone["exact"]);
    EXPECT_EQ(ours["result"], alone["mean"]);
    EXPECT_EQ(ours["sd"], alone["sd"]);
  }
}

TEST_F(SumArrays, EveryTypeAndShape) {
  const std::vector<std::string> arrays = {
      array<uint16_t>("f2.npy", ElementType::kFloat16, {0x3c00, 0x4000, 0xb800, 0x3400}, {2, 1, 2}),
      array<float>("f4.npy", ElementType::kFloat32, {1, 2, -0.5f, 0.25f}, {4, 1}),
      array<double>("f8.npy", ElementType::kFloat64, {1, 2, -0.5, 0.25}),
      array<uint16_t>("bf.npy", ElementType::kUint16, {0x3f80, 0x4000, 0xbf00, 0x3e80}) + " --codes bf16",
      array<uint8_t>("e4.npy", ElementType::kUint8, {0x38, 0x40, 0xb0, 0x28}) + " --codes e4m3",
      array<uint32_t>("u4.npy", ElementType::kUint32, {0x3f800000, 0x40000000, 0xbf000000, 0x3e800000}) +
          " --codes fp32"};
  for (const std::string& file : arrays) {
    const json sum = only_case("--values " + file);
    EXPECT_EQ(sum["replicas"][0]["value"], 2.75) << file;
    EXPECT_EQ(sum["exact"], 2.75);
    EXPECT_EQ(sum["error"], 0.0);
    EXPECT_EQ(sum["sum_of_magnitudes"], 3.75);
    EXPECT_EQ(sum["entry_flags"], "none");
  }
  const json empty = only_case("--values " + array<float>("no.npy", ElementType::kFloat32, {}, {3, 0}) + " --start 2");
  EXPECT_EQ(empty["replicas"][0]["value"], 2.0);
  EXPECT_EQ(empty["exact"], 2.0);
  EXPECT_EQ(empty["bound"], 0.0);
  EXPECT_TRUE(empty["error_of_bound"].is_null());
}

TEST_F(SumArrays, ErrorsAreThoseOfTheExactSum) {
  const std::string x = floats("x.npy", {2048, 1, 1, 1, -2048});
  const json sum = only_case("--values " + x);
  EXPECT_EQ(sum["replicas"][0]["value"], 0.0);
  EXPECT_EQ(sum["replicas"][0]["lost"], 3);
  EXPECT_EQ(sum["exact"], 3.0);
  EXPECT_EQ(sum["error"], 3.0);
  EXPECT_EQ(sum["relative_error"], 1.0);
  EXPECT_EQ(sum["sum_of_magnitudes"], 4099.0);
  EXPECT_EQ(sum["bound"], 5 * 0x1p-11 * 4099);
  EXPECT_EQ(sum["error_of_bound"], 3 / (5 * 0x1p-11 * 4099));
  EXPECT_EQ(sum["first_lost"], (json{{"addition", 2}, {"sum", 2048.0}, {"term", 1.0}}));
  EXPECT_EQ(sum["why"],
            "addition 2 is the first that is lost: 1 is half the spacing 2 at 2048, and the tie goes to 2048, which is "
            "even");
  const json zero = only_case("--values " + floats("z.npy", {1, -1}));
  EXPECT_TRUE(zero["relative_error"].is_null());
}

TEST_F(SumArrays, NumbersThatAreNotFiniteAndOverflow) {
  const std::string nan = floats("nan.npy", {1, std::nanf(""), 2}), big = floats("big.npy", {60000, 60000, -60000});
  EXPECT_EQ(only_case("--values " + nan)["replicas"][0]["text"], "nan");
  EXPECT_TRUE(only_case("--values " + nan)["exact"].is_null());
  EXPECT_EQ(only_case("--values " + big)["replicas"][0]["text"], "inf");
  EXPECT_EQ(only_case("--values " + big)["exact"], 60000.0);
  EXPECT_EQ(only_case("--values " + big + " --overflow saturate")["replicas"][0]["value"], 65504.0 - 60000);
  EXPECT_EQ(only_case("--values " + big + " --overflow nan")["replicas"][0]["text"], "nan");
  EXPECT_EQ(only_case("--values " + big + " --preset ipu")["replicas"][0]["value"], 65504.0 - 60000);
  EXPECT_EQ(only_case("--values " + big)["first_addition_with_flag"]["overflow"], 2);
}

TEST_F(SumArrays, DotProducts) {
  const std::string a = floats("a.npy", {1, 3, 0.0999755859375f}), b = floats("b.npy", {2048, 1, 0.0999755859375f});
  const json exact = json_of("sum --dot " + a + " " + b + " --json");
  EXPECT_EQ(exact["products"], "exact");
  EXPECT_EQ(exact["arrays"].size(), 2u);
  EXPECT_EQ(exact["cases"][0]["replicas"][0]["value"], 2052.0);  // 2051 is a tie; 2052 + 0.00999... stays
  EXPECT_EQ(exact["cases"][0]["exact"], 2051 + 0.0999755859375 * 0.0999755859375);
  const std::string words = text("sum --dot " + a + " " + b + " --products rounded --format e5m2");
  EXPECT_EQ(words.find("dot product: @a.npy ('<f4' of shape (3,)) and @b.npy ('<f4' of shape (3,)), 3 products, each "
                       "rounded before its addition, added to 0\n"),
            0u)
      << words;
  EXPECT_NE(text("sum --dot " + a + " " + b).find("each exact and rounded with its addition"), std::string::npos);
}

TEST_F(SumArrays, TablesHaveALineACase) {
  const std::string x = floats("x.npy", std::vector<float>(3000, 1));
  const std::string job = "sum --values " + x + " --format fp16,bf16 --rounding nearest --rounding stochastic,zero ";
  const json table = json_of(job + "--bits 1:3,13 --json --csv " + file("t.csv"));
  std::vector<std::string> seen;
  for (const json& row : table["cases"]) {
    const json& s = row["settings"];
    seen.push_back(s["format"].get<std::string>() + " " + s["rounding"].get<std::string>() +
                   (s.contains("bits") ? " " + std::to_string(s["bits"].get<int>()) : ""));
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"fp16 nearest", "fp16 stochastic 1", "fp16 stochastic 2", "fp16 stochastic 3",
                                      "fp16 stochastic 13", "fp16 zero", "bf16 nearest", "bf16 stochastic 1",
                                      "bf16 stochastic 2", "bf16 stochastic 3", "bf16 stochastic 13", "bf16 zero"}));
  // Each row is that of the case alone.
  const json alone = only_case("--values " + x + " --format bf16 --rounding stochastic --bits 2");
  EXPECT_EQ(table["cases"][8], alone);
  EXPECT_EQ(alone["u"], 0x1p-7);
  EXPECT_EQ(alone["bound"], std::sqrt(3000.0) * 0x1p-7 * 3000);
  EXPECT_EQ(table["cases"][6]["bound"], 3000 * 0x1p-8 * 3000);
  EXPECT_EQ(table["cases"][6]["result"], 256.0);
  const std::string csv = read_text(file("t.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 13);
  EXPECT_EQ(csv.find("format,rounding,bits,variant,random,seed,replicas,result,sd,exact,error,relative_error,u,"
                     "sum_of_magnitudes,bound,error_of_bound,last_change,first_lost,why\n"
                     "fp16,nearest,,,,,1,2048,,3000,952,0.31733333333333336,0.00048828125,3000,4394.53125,"),
            0u)
      << csv;
  const std::string words = text(job + "--bits 4");
  EXPECT_NE(words.find("bf16 nearest: addition 257 is the first that is lost: 1 is half the spacing 2 at 256, and the "
                       "tie goes to 256, which is even\n"),
            std::string::npos)
      << words;
}

TEST_F(SumArrays, TablesOfOneValueAreItsSums) {
  const std::string job = "sum --value 0.0001 --count 10000 --json ";
  const json table = json_of(job + "--format fp16,bf16 --rounding nearest,stochastic");
  ASSERT_EQ(table["cases"].size(), 4u);
  EXPECT_EQ(table["value"], "0.0001");
  for (size_t i = 0; i < 4; ++i) {
    const json alone =
        json_of(job + "--format " + (i < 2 ? "fp16" : "bf16") + " --rounding " + (i % 2 ? "stochastic" : "nearest"));
    const json& row = table["cases"][i];
    EXPECT_EQ(row["settings"], alone["settings"]);
    EXPECT_EQ(row["result"], i % 2 ? alone["mean"] : alone["final"]["value"]);
    EXPECT_EQ(row["exact"], alone["exact"]);
    EXPECT_EQ(row.value("why", ""), i % 2 ? row.value("why", "") : alone.value("why", "-"));
  }
  EXPECT_EQ(table["cases"][0]["error"], 1.0001659393310546875 - 0.25);
  EXPECT_EQ(table["cases"][0]["why"],
            "addition 2182 is the first that is lost: 0.0001 is below half the spacing 0.000244 at 0.25");
  EXPECT_EQ(json_of(job + "--csv " + file("one.csv"))["cases"].size(), 1u);
}

TEST_F(SumArrays, PlotsOfErrors) {
  const std::string x = floats("x.npy", std::vector<float>(3000, 0.1f));
  for (const std::string& terms : {"--values " + x, std::string("--value 0.1 --count 3000")}) {
    const std::string job = "sum " + terms + " --rounding stochastic,nearest ";
    run_softamp(job + "--bits 1:6 --plot " + file("bits.svg"));
    const std::string bits = read_text(file("bits.svg"));
    for (const char* part : {"random bits", "error / sum", "fp16 stochastic", "fp16 nearest", "sqrt(n) u, fp16"})
      EXPECT_NE(bits.find(part), std::string::npos) << part;
    run_softamp(job + "--plot " + file("n.svg"));
    const std::string additions = read_text(file("n.svg"));
    for (const char* part : {"additions", "fp16 stochastic, 13 bits", "fp16 nearest", "sqrt(n) u, fp16"})
      EXPECT_NE(additions.find(part), std::string::npos) << part;
  }
  const std::string none = array<float>("no.npy", ElementType::kFloat32, {}, {0});
  const Outcome o = run_softamp("sum --values " + none + " --plot " + file("no.svg"));
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(folder_.without(o.err, "@"), "softamp sum: there is no error to draw; '@no.svg' is not written\n");
}

TEST_F(SumArrays, BadInputIsRefusedByNamePlaceAndWhatWasExpected) {
  write_text(file("text.npy"), "1 2 3\n");
  const std::string x = floats("x.npy", {1, 2, 3}), y = floats("y.npy", {1, 2});
  const std::string flags = array<uint8_t>("b.npy", ElementType::kBool, {1, 0});
  const std::string codes = array<uint16_t>("c.npy", ElementType::kUint16, {0x38, 0x138});
  EXPECT_EQ(refused("--values " + file("none.npy")), "@none.npy: cannot open: No such file or directory\n");
  EXPECT_EQ(refused("--values " + file("text.npy")).find("@text.npy: byte 0: not a .npy file: expected"), 0u);
  EXPECT_EQ(refused("--values " + flags), "@b.npy: type '|b1'; expected '<f2', '<f4' or '<f8'\n");
  EXPECT_EQ(refused("--values " + codes),
            "@c.npy: type '<u2'; expected '<f2', '<f4' or '<f8', or --codes FORMAT beside codes of a format\n");
  EXPECT_EQ(refused("--values " + codes + " --codes e4m3"),
            "@c.npy: element 1 is 312; expected a code of e4m3, at most 0xff\n");
  EXPECT_EQ(refused("--values " + x + " --codes bf16"),
            "@x.npy: type '<f4'; expected unsigned numbers with --codes: '|u1', '<u2' or '<u4'\n");
  EXPECT_EQ(refused("--dot " + x + " " + y), "@y.npy: 2 elements; expected 3, as many as @x.npy has\n");
  const std::string stochastic = "--values " + x + " --rounding stochastic ";
  EXPECT_EQ(refused(stochastic + "--bits 16:1"), "--bits: '16:1': expected a range A:B, A at most B\n");
  EXPECT_EQ(refused(stochastic + "--bits 1:33"), "--bits: '33': expected a whole number in 1..32\n");
  EXPECT_EQ(refused(stochastic + "--bits 4,"), "--bits: '': expected a whole number in 1..32\n");
  EXPECT_EQ(refused("--values " + x + " --bits 1:3"),
            "--bits: no rounding is stochastic; expected --rounding stochastic\n");
  EXPECT_EQ(refused("--values " + x + " --count 3"),
            "--count: expected --value beside it; all elements of an array are added\n");
  EXPECT_EQ(refused("--value 1 --count 3 --codes e4m3"), "--codes: expected --values or --dot beside it\n");
  EXPECT_EQ(refused("--values " + x + " --products exact"), "--products: expected --dot beside it\n");
  EXPECT_EQ(refused("--dot " + x + " " + x + " --products fused"),
            "--products: unknown products 'fused'; known: exact, rounded\n");
  EXPECT_EQ(refused("--values " + x + " --format fp16,bf61").find("--format: unknown format 'bf61'; nearest: bf16"),
            0u);
  EXPECT_EQ(refused("--values " + x + " --format fp16,fp64"),
            "--format: 'fp64': expected a format of at most 24 bits of precision; fp64 is for conversions only\n");
  EXPECT_EQ(refused("--value 1e6 --count 3 --format bf16,fp16"),
            "--value: '1e6': expected a magnitude of at most 65504, the largest number of fp16\n");
  EXPECT_EQ(refused("--values " + x + " --plot " + x + ".svg --csv " + x + ".svg").find("--plot: "), 0u);
  EXPECT_EQ(refused("--values " + x + " --csv " + x),
            "--csv: '@x.npy' is an array that is read; expected another file\n");
  EXPECT_EQ(refused("").find("--value is required, or --values X.npy, or --dot A.npy B.npy"), 0u);
}

TEST_F(SumArrays, AnInterruptLeavesNoFile) {
  const std::string csv = file("t.csv");
  const std::string line = "exec '" SOFTAMP_PROGRAM
                           "' sum --value 0.0001 --count 4294967295 --rounding stochastic,up "
                           "--csv " +
                           csv + " > " + file("out") + " 2> " + file("err");
  const int status = status_after(SIGINT, line, [&] { return std::filesystem::exists(file(".t.csv.part")); });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(read_text(file("err")), "softamp sum: interrupted\n");
  EXPECT_FALSE(std::filesystem::exists(csv));
  EXPECT_FALSE(std::filesystem::exists(file(".t.csv.part")));
}

}  // namespace
}  // namespace softamp::test
