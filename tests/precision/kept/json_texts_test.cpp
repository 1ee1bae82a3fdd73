// Recipes and policies as JSON with one change: what is read, or the whole message.
#include "softamp/precision/fp8_recipe.h"
#include "softamp/precision/loss_scale.h"
#include "softamp/precision/mechanism.h"
#include "softamp/precision/policy.h"
#include "softamp/precision/recipe.h"

#include "tests/json_changes.h"
#include "tests/kept_text.h"
#include "tests/outcomes.h"

namespace softamp::test::json_texts {
namespace {

/// The outcomes of all changes, `read` being what gives the text of what is read.
template <class Read>
void try_changes(Outcomes& outcomes, const char* document, std::vector<OrderedJson> more, const Read& read) {
  std::vector<OrderedJson> values = usual_values();
  values.insert(values.end(), more.begin(), more.end());
  JsonChanges(OrderedJson::parse(document), values).each([&](const std::string& change, const std::string& changed) {
    outcomes.add(change, [&] { return read(changed); });
  });
}

TEST(ReadFp8Recipe, WithOneChange) {
  Outcomes outcomes;
  const auto read = [](const std::string& text) { return Fp8Recipe::parse(text, "r.json").to_json(); };
  try_changes(outcomes, R"({"name": "mine", "about": "all fields", "fprop": {"input": "e5m2", "weight": "e4m3"},
    "dgrad": {"gradient": "e5m2", "weight": "e4m3:rounding=stochastic"}, "wgrad": {"gradient": "e2m1", "input": "e3m2"},
    "scaling": "delayed", "hadamard": 4, "hadamard_signs": "+--+", "amax_history_len": 7,
    "amax_compute_algo": "most_recent", "margin": -3, "zero_keeps_history": false, "promotion": "unfused",
    "promote_every": 64, "keep_first": 2, "keep_last": 0})",
              {"unit", "format", "nvfp4", "hopper", "max", "scales_first", 4096, 64, -64, -65, 65536, 1 << 30,
               (1 << 30) + 1, 1000000, 1000001},
              read);
  try_changes(outcomes,
              R"({"name": "scaled", "fprop": {"input": "mxfp8_e4m3", "weight": "nvfp4"}, "accumulation": "hopper",
    "promotion": "scales_first", "hadamard": 128})",
              {"unit", "delayed", "e4m3", "blackwell", "fp32", "float32"}, read);
  std::string names;
  for (const std::string& name : Fp8Recipe::names()) names += Fp8Recipe::find(name).to_json() + "\n";
  outcomes.add("find word", [] { return Fp8Recipe::find("word").to_json(); });
  expect_kept("precision/kept/fp8_recipe.txt", names + outcomes.text(), names + outcomes.all());
}

TEST(ReadRecipe, WithOneChange) {
  Outcomes outcomes;
  for (const RecipeReading reading : {RecipeReading::kStrict, RecipeReading::kLenient})
    try_changes(outcomes,
                R"({"allowlist": ["MatMul", "Conv2D"], "graylist": ["Relu", "Mul"], "input_only_exceptions": ["AddV2"],
 "non_convertible_exceptions": [[".*KEEP_FP32_PRECISION.*", ""], ["a", "MatMul"]], "convertible_exceptions": [["bert/layer_[0-9]+/.*", "MatMul"]],
 "regex_mode": "search"})",
                {"full", "MatMul", "allow_list", OrderedJson::parse(R"(["a", "b"])"),
                 OrderedJson::parse(R"(["MatMul", "MatMull"])")},
                [&](const std::string& text) {
                  const Recipe recipe = Recipe::parse(text, "r.json", reading);
                  std::string said = recipe.to_json();
                  for (const std::string& warning : recipe.warnings) said += warning + "\n";
                  return said;
                });
  expect_kept("precision/kept/recipe.txt", outcomes.text(), outcomes.all());
}

TEST(ReadPolicy, WithOneChange) {
  Outcomes outcomes;
  const auto read = [](const std::string& text) { return Policy::from_json(text).to_json(); };
  try_changes(outcomes, R"({"class_name": "Policy", "config": {"name": "mixed_float16", "loss_scale": null}})",
              {"PolicyV1", "float64", "mixed_bfloat16", "int8"}, read);
  for (const char* text :
       {"null", "\"mixed_bfloat16\"", "\"float16\"", "\"infer\"", "\"complex64\"", "\"qint8\"", "[]"})
    outcomes.add(text, [&] { return read(text); });
  expect_kept("precision/kept/policy.txt", outcomes.text(), outcomes.all());
}

/// Words of the command: each that there is, and what is near to it.
TEST(ReadWords, WithOneChange) {
  Outcomes outcomes;
  const auto each = [&](std::vector<std::string> words, const auto& read) {
    for (const std::string& word : words) {
      outcomes.add("'" + word + "'", [&] { return read(word); });
      if (word.empty()) continue;
      for (const std::string& other :
           {word.substr(1), word + "x", word + "=", word + ",dtype=bf16", word + ",dtype=int8"})
        outcomes.add("'" + other + "'", [&] { return read(other); });
    }
  };
  each({"", "none", "tensorflow", "tensorflow=2.3", "tensorflow=2019", "tensorflow=mkl", "recipe=full", "recipe=basic",
        "policy=mixed_float16", "policy=float64", "level=O0", "level=O2", "level=O3", "level=auto", "fp8=mxfp8",
        "fp8=nvfp4"},
       [](const std::string& word) {
         const Mechanism m = Mechanism::parse(word);
         return m.text() + " " + name_of(m.low_dtype()) + " " + std::to_string(m.rewrites()) + m.loss_scale().to_json();
       });
  each({"", "none", "dynamic", "keras", "tensorflow", "mindspore", "pytorch", "256", "2^15", "2^-4", "0.125", "1e3",
        "dynamic:window=5", "fixed", "1", "2^127", "2^128", "-1", "nan"},
       [](const std::string& word) {
         const LossScaleOptions o = LossScaleOptions::parse(word);
         o.validate();
         return o.to_json();
       });
  expect_kept("precision/kept/words.txt", outcomes.text(), outcomes.all());
}

}  // namespace
}  // namespace softamp::test::json_texts
