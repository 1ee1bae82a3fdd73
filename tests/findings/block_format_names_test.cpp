// Texts of block formats: every name and option is read and written back, and mistakes are named.
#include "softamp/names/block_format_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "softamp/names/names.h"

namespace softamp::test {
namespace {

using block::BlockFamily;
using block::BlockFormat;
using testing::HasSubstr;

TEST(BlockFormatNames, EachNameIsReadWhateverItsCaseAndOursIsWritten) {
  std::set<std::string> seen;
  for (const NamedBlockFormat& f : named_block_formats())
    for (std::string name : f.names) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      EXPECT_EQ(block_format_text(parse_block_format(name)), f.names.front());
      for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      EXPECT_EQ(block_format_text(parse_block_format(name)), f.names.front());
    }
}

TEST(BlockFormatNames, ShapesAndElements) {
  const BlockFormat e5m2 = parse_block_format("mxfp8_e5m2");
  EXPECT_EQ(e5m2.family, BlockFamily::kMx);
  EXPECT_EQ(e5m2.element.format, kE5m2);
  EXPECT_EQ(e5m2.size, 32);
  EXPECT_TRUE(parse_block_format("mxint8").element.integer);
  EXPECT_EQ(parse_block_format("nvfp4_16x16").rows, 16);
  EXPECT_EQ(parse_block_format("e4m3_128x128").rows, 128);
  EXPECT_EQ(parse_block_format("e4m3_128x128").size, 128);
  EXPECT_EQ(parse_block_format("fp8_e5m2_row").rows, 1);
  EXPECT_EQ(parse_block_format("e5m2_row").size, 0);
  EXPECT_EQ(parse_block_format("e4m3_tensor").rows, 0);
  EXPECT_EQ(parse_block_format("e4m3_tensor").scale_bytes(), 4);
  EXPECT_EQ(parse_block_format("fp4").family, BlockFamily::kPlain);
  EXPECT_EQ(parse_block_format("fp4").scale_bytes(), 0);
}

// tests: N495
TEST(BlockFormatNames, OptionsAreReadAndWrittenBack) {
  const std::string texts[] = {
      "mxfp4:scale_rule=rceil",
      "mxfp4:scale_rule=rceil,block=16,rows=2,rounding=nearest-away,nan=skip,infinity=saturate",
      "mxfp8_e4m3:rounding=stochastic",
      "mxfp4:rounding=stochastic,variant=rne,bits=8,three_quarters=true",
      "nvfp4:scale_rule=torchao,rounding=zero",
      "nvfp4_16x16:rounding=stochastic,bits=8",
      "nvfp4:4over6=mae",
      "nvfp4_16x16:rounding=zero,4over6=mse,e4m3_max=448",
      "nvfp4:e4m3_max=256",
      "e4m3_tensor:powers_of_two=true",
      "e5m2_1x128:scale_rule=deepseek,block=64",
      "e2m1:rounding=up",
  };
  for (const std::string& text : texts) EXPECT_EQ(block_format_text(parse_block_format(text)), text);
  const BlockFormat f = parse_block_format("nvfp4:bits=8,rounding=sr");
  EXPECT_TRUE(f.nvfp4.rounding.stochastic());
  EXPECT_EQ(f.nvfp4.rounding.random_bits, 8);
  EXPECT_EQ(block_format_text(f), "nvfp4:rounding=stochastic,bits=8");
  EXPECT_EQ(parse_block_format("e4m3_1x128:scale_rule=deepgemm").fp8.rule, block::Fp8Rule::kDeepGemm);
  EXPECT_FALSE(parse_block_format("e4m3_row:nan=skip").nan_poisons_block());
  EXPECT_EQ(parse_block_format("nvfp4:4over6=mae").nvfp4.largest_scale(), 256);
  EXPECT_EQ(block_format_text(parse_block_format("nvfp4:e4m3_max=256,4over6=mae")), "nvfp4:4over6=mae");
}

std::string refusal(const std::string& text) {
  try {
    parse_block_format(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "read";
}

TEST(BlockFormatNames, MistakesAreNamed) {
  EXPECT_THAT(refusal("mxfp5"), HasSubstr("unknown block format 'mxfp5'; nearest: mxfp"));
  EXPECT_THAT(refusal(""), HasSubstr("unknown block format ''"));
  EXPECT_THAT(refusal("mxfp4:scale=rceil"), HasSubstr("unknown option of a block format 'scale'"));
  EXPECT_THAT(refusal("mxfp4:scale_rule=rciel"), HasSubstr("unknown scale rule 'rciel'; nearest: rceil"));
  EXPECT_THAT(refusal("nvfp4:scale_rule=rceil"), HasSubstr("unknown scale rule of NVFP4 'rceil'"));
  EXPECT_THAT(refusal("mxfp4:"), HasSubstr("''; expected OPTION=VALUE"));
  EXPECT_THAT(refusal("mxfp4:block=0"), HasSubstr("'0'; expected a whole number from 1 to 1048576 for block"));
  EXPECT_THAT(refusal("mxfp4:block=32x"), HasSubstr("'32x'"));
  EXPECT_THAT(refusal("mxfp4:block=8,block=8"), HasSubstr("block is given twice"));
  EXPECT_THAT(refusal("mxfp4:bits=8"), HasSubstr("bits: no rounding is stochastic; expected rounding=stochastic"));
  EXPECT_THAT(refusal("mxfp4:powers_of_two=true"), HasSubstr("powers_of_two is no option of mxfp4"));
  EXPECT_THAT(refusal("mxfp4:4over6=mae"), HasSubstr("4over6 is no option of mxfp4"));
  EXPECT_THAT(refusal("nvfp4:4over6=mae,scale_rule=torchao"), HasSubstr("4over6 is no option of nvfp4"));
  EXPECT_THAT(refusal("nvfp4:4over6=yes"), HasSubstr("unknown way to choose a scale 'yes'"));
  EXPECT_THAT(refusal("nvfp4:e4m3_max=300"), HasSubstr("'300'; expected 256 or 448 for e4m3_max"));
  EXPECT_THAT(refusal("nvfp4:4over6=mse,rounding=stochastic"), HasSubstr("compares errors, which a stochastic"));
  EXPECT_THAT(refusal("e4m3_tensor:block=32"), HasSubstr("block is no option of e4m3_tensor"));
  EXPECT_THAT(refusal("e4m3:scale_rule=floor"), HasSubstr("scale_rule is no option of e4m3"));
}

}  // namespace
}  // namespace softamp::test
