// Recipes of block formats as data: those with names, what is read back, what is refused.
#include "softamp/precision/fp8_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softamp/precision/mechanism.h"
#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Fp8Recipe, EachNameIsARecipeThatIsReadBack) {
  for (const std::string& name : Fp8Recipe::names()) {
    const Fp8Recipe recipe = Fp8Recipe::find(name);
    EXPECT_EQ(recipe.name, name);
    EXPECT_FALSE(recipe.about.empty()) << name;
    EXPECT_TRUE(Fp8Recipe::parse(recipe.to_json()) == recipe) << name << "\n" << recipe.to_json();
    EXPECT_EQ(Mechanism::parse("fp8=" + name).text(), "fp8=" + name);
    EXPECT_TRUE(Mechanism::parse("fp8=" + name).rewrites());
  }
  for (const char* name : {"fp8_delayed", "fp8_current", "deepseek_v3", "mxfp8", "nvfp4", "unit_scaling"})
    EXPECT_THAT(Fp8Recipe::names(), Contains(name));
}

/// The operands of TransformerEngine's HYBRID format, and of NVFP4's recipe.
TEST(Fp8Recipe, OperandsAreThoseOfTheSystems) {
  const Fp8Recipe delayed = Fp8Recipe::find("fp8_delayed");
  EXPECT_EQ(delayed.fprop, (Fp8Recipe::Operands{"e4m3", "e4m3"}));
  EXPECT_EQ(delayed.dgrad, (Fp8Recipe::Operands{"e5m2", "e4m3"}));
  EXPECT_EQ(delayed.wgrad, (Fp8Recipe::Operands{"e5m2", "e4m3"}));
  EXPECT_EQ(delayed.scaling, Fp8Scaling::kDelayed);
  EXPECT_EQ(delayed.amax_history_len, 1024);
  EXPECT_EQ(delayed.amax_compute_algo, "max");
  EXPECT_EQ(delayed.margin, 0);
  const Fp8Recipe nvfp4 = Fp8Recipe::find("nvfp4");
  EXPECT_EQ(nvfp4.fprop, (Fp8Recipe::Operands{"nvfp4", "nvfp4_16x16"}));
  EXPECT_EQ(nvfp4.dgrad, (Fp8Recipe::Operands{"nvfp4:rounding=stochastic,bits=8", "nvfp4_16x16"}));
  EXPECT_EQ(nvfp4.wgrad, (Fp8Recipe::Operands{"nvfp4:rounding=stochastic,bits=8", "nvfp4"}));
  EXPECT_EQ(nvfp4.hadamard, 16);
  const Fp8Recipe deepseek = Fp8Recipe::find("deepseek_v3");
  EXPECT_EQ(deepseek.accumulation, "hopper");
  EXPECT_EQ(deepseek.promotion, "scales_first");
  EXPECT_EQ(deepseek.promote_every, 128);
}

// tests: N502
TEST(Fp8Recipe, EveryFieldIsReadBack) {
  const std::string text = R"({"name": "mine", "about": "all fields", "fprop": {"input": "e5m2", "weight": ""},
    "dgrad": {"weight": "e4m3:rounding=stochastic"}, "wgrad": {"gradient": "e2m1", "input": "e3m2"},
    "scaling": "delayed", "hadamard": 4, "hadamard_signs": "+--+", "amax_history_len": 7,
    "amax_compute_algo": "most_recent", "margin": -3, "zero_keeps_history": false, "promotion": "unfused", "promote_every": 64,
    "keep_first": 2, "keep_last": 0})";
  const Fp8Recipe r = Fp8Recipe::parse(text);
  EXPECT_EQ(r.fprop, (Fp8Recipe::Operands{"e5m2", ""}));
  EXPECT_EQ(r.dgrad, (Fp8Recipe::Operands{"", "e4m3:rounding=stochastic"}));
  EXPECT_EQ(r.hadamard_signs, "+--+");
  EXPECT_EQ(r.amax_history_len, 7);
  EXPECT_EQ(r.amax_compute_algo, "most_recent");
  EXPECT_EQ(r.margin, -3);
  EXPECT_FALSE(r.zero_keeps_history);
  EXPECT_EQ(r.keep_first, 2);
  EXPECT_EQ(r.keep_last, 0);
  EXPECT_TRUE(Fp8Recipe::parse(r.to_json()) == r) << r.to_json();
}

std::string refused(const std::string& text) {
  return refusal<std::invalid_argument>([&] { Fp8Recipe::parse(text, "r.json"); });
}

TEST(Fp8Recipe, MistakesAreNamedWithTheirPlace) {
  EXPECT_THAT(refused("["), HasSubstr("r.json: line 1"));
  EXPECT_THAT(refused("[]"), HasSubstr("r.json: expected an object"));
  EXPECT_THAT(refused(R"({"frop": {}})"), HasSubstr("r.json: 'frop' is no field of a recipe; nearest: fprop"));
  EXPECT_THAT(refused(R"({"dgrad": {"input": "mxfp8"}})"),
              HasSubstr("'dgrad.input' is no field of a recipe; expected gradient, weight"));
  EXPECT_THAT(refused(R"({"fprop": {"input": "mxfp9"}})"),
              HasSubstr("'fprop.input': unknown block format 'mxfp9'; nearest: mxfp"));
  EXPECT_THAT(refused(R"({"fprop": {"input": 8}})"), HasSubstr("'fprop.input' is 8; expected a block format"));
  EXPECT_THAT(refused(R"({"fprop": "mxfp8"})"), HasSubstr("'fprop' is \"mxfp8\"; expected {"));
  EXPECT_THAT(refused(R"({"scaling": "delayd"})"), HasSubstr("'scaling' is 'delayd'; nearest: delayed"));
  EXPECT_THAT(refused(R"({"fprop": {"input": "mxfp8"}, "scaling": "delayed"})"),
              HasSubstr("'fprop.input': mxfp8 has scales of its own"));
  EXPECT_THAT(refused(R"({"hadamard": 12})"), HasSubstr("'hadamard' is 12; expected 0 or a power of two"));
  EXPECT_THAT(refused(R"({"hadamard": 8, "hadamard_signs": "+-"})"), HasSubstr("'hadamard_signs' is '+-'"));
  EXPECT_THAT(refused(R"({"amax_history_len": 0})"), HasSubstr("'amax_history_len' is 0; expected a whole number"));
  EXPECT_THAT(refused(R"({"margin": 0.5})"), HasSubstr("'margin' is 0.5; expected a whole number from -64 to 64"));
  EXPECT_THAT(refused(R"({"accumulation": "hoper"})"), HasSubstr("'accumulation' is 'hoper'; nearest: hopper"));
  EXPECT_THAT(refused(R"({"accumulation": "block", "scaling": "unit"})"),
              HasSubstr("'accumulation' is 'block', and the scaling is unit"));
  EXPECT_THAT(refused(R"({"zero_keeps_history": 1})"), HasSubstr("expected true or false"));
  EXPECT_THAT(refusal<std::invalid_argument>([] { Fp8Recipe::find("nvfp5"); }),
              HasSubstr("there is no recipe 'nvfp5'; nearest: nvfp4"));
  EXPECT_THAT(refusal<std::invalid_argument>([] { Fp8Recipe::find("no/such.json"); }), HasSubstr("no/such.json"));
  EXPECT_THAT(refusal<std::invalid_argument>([] { Mechanism::parse("fp8=mxfp7"); }),
              HasSubstr("there is no recipe 'mxfp7'"));
  EXPECT_THAT(refusal<std::invalid_argument>([] { Mechanism::parse("nvfp4"); }), HasSubstr("write fp8=nvfp4"));
}

TEST(Fp8Recipe, ExamplesQuantiseTheHeadToo) {
  for (const std::string name : {"nvfp4", "nvfp4_nearest"}) {
    Fp8Recipe recipe = Fp8Recipe::find(SOFTAMP_SOURCE_DIR "/examples/recipes/" + name + "_head.json");
    const Fp8Recipe known = Fp8Recipe::find(name);
    EXPECT_EQ(recipe.name, name + "_head");
    EXPECT_EQ(recipe.keep_last, 0);
    recipe.name = known.name;
    recipe.about = known.about;
    recipe.keep_last = known.keep_last;
    EXPECT_TRUE(recipe == known) << name;
  }
}

TEST(Fp8Recipe, AFileIsFoundByItsPath) {
  const TemporaryFolder folder;
  Fp8Recipe mine = Fp8Recipe::find("mxfp8");
  mine.keep_last = 3;
  const std::string file = folder.file("mine.json");
  write_text(file, mine.to_json());
  EXPECT_TRUE(Fp8Recipe::find(file) == mine);
  EXPECT_EQ(Mechanism::parse("fp8=" + file).value, file);
}

}  // namespace
}  // namespace softamp::test
