// `softamp inspect` of blocks and of P3109's formats, and what `softamp formats` says of them.
#include "tests/program/process.h"

#include "softamp/data/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace softamp::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json inspected(const std::string& arguments) { return json_of("inspect " + arguments + " --json"); }
std::string refused(const std::string& arguments) {
  const Outcome o = run_softamp("inspect " + arguments);
  EXPECT_EQ(o.code, 2) << arguments;
  return o.err;
}

// A published block of 16 numbers, under floor and under rceil.
TEST(InspectBlocks, EachElementAndEveryRule) {
  const json b = inspected("1 -2 3.5 5 7 .2 -.26 6.9 0 -0 .75 -1.25 .03 2.5 -3 4.4 --format mxfp4");
  EXPECT_EQ(b["scale"], "0x7f");
  EXPECT_EQ(b["rule"], "floor");
  std::string codes;
  for (const json& e : b["elements"]) codes += e["code"].get<std::string>().substr(2);
  EXPECT_EQ(codes,
            "2c66709708"
            "2a04d6");
  EXPECT_EQ(b["saturated"], 2);  // 7 and 6.9
  EXPECT_EQ(b["zeroed"], 2);     // .2 and .03
  EXPECT_EQ(b["elements"][4]["value"], 6.0);
  EXPECT_EQ(b["elements"][4]["saturated"], true);
  EXPECT_EQ(b["rules"]["rceil"]["scale"], "0x80");
  EXPECT_EQ(b["rules"]["rceil"]["saturated"], 0);
  EXPECT_EQ(b["rules"].size(), 5u);
  EXPECT_EQ(inspected("1 2 --format nvfp4")["rules"].size(), 3u);
  EXPECT_EQ(inspected("1 2 --format e4m3_tensor")["scale"], "0x3b924925");
  const std::string text = run_softamp("inspect 7 .1 --format mxfp4").out;
  EXPECT_THAT(text, HasSubstr("0x7f = 1 = 2^0, by floor"));
  EXPECT_THAT(text, HasSubstr("saturated\n"));
  EXPECT_THAT(text, HasSubstr("Every rule for the scale\n"));
}

TEST(InspectBlocks, ABlockOfAFile) {
  const TemporaryFolder folder;
  std::vector<float> x(6 * 40);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<uint64_t> shape = {6, 40};
  npy::Writer writer(folder.file("x.npy"), npy::ElementType::kFloat32, shape);
  writer.write(x.data(), x.size());
  writer.commit();
  const std::string file = "--file " + folder.file("x.npy");
  json b = inspected(file + " --block-index 3 --format mxfp8");
  ASSERT_EQ(b["elements"].size(), 8u);  // the second block of row 1, which is shorter
  EXPECT_EQ(b["elements"][0]["index"], 72);
  EXPECT_EQ(b["elements"][0]["x"], 72.0);
  b = inspected(file + " --block-index 7 --axis 0 --format mxfp8");
  ASSERT_EQ(b["elements"].size(), 6u);
  EXPECT_EQ(b["elements"][5]["x"], 207.0);
  b = inspected(file + " --block-index 2 --format nvfp4_16x16");
  ASSERT_EQ(b["elements"].size(), 6u * 8u);
  EXPECT_EQ(b["elements"][8]["x"], 72.0);
  EXPECT_EQ(b["tensor_amax_code"], "0x436f0000");  // 239
  EXPECT_EQ(inspected(file + " --format e4m3_tensor")["elements"].size(), x.size());
  EXPECT_EQ(inspected(file + " --block-index 5 --format e4m3_row")["elements"][0]["x"], 200.0);
  EXPECT_THAT(refused(file + " --block-index 12 --format mxfp8"), HasSubstr("--block-index: '12': expected 0..11"));
  EXPECT_THAT(refused(file + " --axis 3 --format mxfp8"), HasSubstr("--axis: '3': expected -2..1"));
  EXPECT_THAT(refused(file + " 1 --format mxfp8"), HasSubstr("'1': expected numbers or --file, not both"));
}

TEST(InspectBlocks, BadInputIsNamed) {
  EXPECT_THAT(refused("--format mxfp4"), HasSubstr("0 values: expected 1..32, a block of mxfp4, or --file"));
  EXPECT_THAT(refused("1 2 3 --format mxfp4:block=2"), HasSubstr("3 values: expected 1..2"));
  EXPECT_THAT(refused("1 x --format mxfp4"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(refused("1 --format mxfp4:scale_rule=none"), HasSubstr("unknown scale rule 'none'"));
  EXPECT_THAT(refused("1 --format mxfp4 --overflow nan"), HasSubstr("--overflow: expected none"));
  EXPECT_THAT(refused("1 --format mxfp4 --amax 3"), HasSubstr("--amax: expected nvfp4"));
  EXPECT_THAT(refused("1 --format fp16 --axis 0"), HasSubstr("--axis: expected a format of blocks"));
  EXPECT_THAT(refused("0x100 --format Binary8p4se"), HasSubstr("expected a code of Binary8p4se, below 2^8"));
}

TEST(InspectP3109, CodesAndRoundings) {
  json x = inspected("0x48 --format Binary8p4se");
  EXPECT_EQ(x["exact"], "2");
  EXPECT_EQ(x["fields"], "0 1001 000");
  EXPECT_EQ(inspected("0x80 --format Binary8p4se")["class"], "NaN");
  EXPECT_EQ(inspected("0xff --format Binary8p4se")["exact"], "-inf");
  EXPECT_EQ(inspected("0xfe --format Binary8p1uf")["exact"], "1 * 2^126");
  EXPECT_EQ(inspected("0x1 --format Binary4p2sf")["class"], "subnormal");
  x = inspected("240 --format p3109_k8p4se --bits 8");
  EXPECT_EQ(x["roundings"]["nearest"]["code"], "0x7f");
  EXPECT_EQ(x["roundings"]["zero"]["code"], "0x7e");
  EXPECT_EQ(x["saturations"]["finite"]["code"], "0x7e");
  x = inspected("0.1 --format Binary8p4se --bits 13");
  EXPECT_EQ(x["roundings"]["stochastic"]["carry"]["ups"], 6553);
  EXPECT_EQ(x["roundings"]["stochastic"]["half"]["ups"], 6554);
  EXPECT_EQ(x["roundings"]["stochastic"]["carry"]["up"], "0x25");
}

TEST(FormatsOfBlocks, AreListed) {
  const json all = json::parse(run_softamp("formats --json").out);
  ASSERT_EQ(all["block_formats"].size(), 16u);
  EXPECT_EQ(all["block_formats"][4]["name"], "mxfp4");
  EXPECT_EQ(all["block_formats"][4]["block"], 32);
  EXPECT_EQ(all["block_formats"][6]["scale_bytes"], 1);
  EXPECT_EQ(all["p3109_examples"][0]["max"], "224");
  const std::string text = run_softamp("formats").out;
  EXPECT_THAT(text, HasSubstr("\n  nvfp4         e2m1, 16 to an e4m3"));
  EXPECT_THAT(text, HasSubstr("\n  Binary8p3se  largest 49152, smallest 0.00000762939453125\n"));
}

}  // namespace
}  // namespace softamp::test
