// `softamp rewrite --advise` (MIXED_PRECISION H21), and Gaudi's environment variables in the verbs that train.
#include "tests/program/rewrite/rewrite_verb.h"

#include "softamp/graph/graph_json.h"

namespace softamp::test {
namespace {

using nlohmann::json;

/// out = -(x w) c of single numbers, w = 1, c = 1 + 2^-8. bfloat16 has 8 bits, so that c becomes 1 where it is cast
/// (the middle, to even), and x = 1 + 2^-9 too. Full converts product and multiplication, Basic the product alone.
std::string two_multiplications() {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {1, 1});
  const Port w = b.constant(Tensor::full(DType::kFloat32, {1, 1}, 1), "dense/w");
  const Port c = b.constant(Tensor::full(DType::kFloat32, {1, 1}, 1 + 0x1p-8), "dense/c");
  b.add("Neg", {b.add("Mul", {b.add("MatMul", {x, w}, {}, "dense/product"), c}, {}, "z")}, {}, "out");
  return graph_json(b.build());
}

class Advise : public RewriteVerb {
 protected:
  Advise() {
    write_text(file("g.json"), two_multiplications());
    save_npy(Tensor::full(DType::kFloat32, {1, 1}, 1), file("one.npy"));
    save_npy(Tensor::full(DType::kFloat32, {1, 1}, 1 + 0x1p-9), file("more.npy"));
  }
  std::string lines(const std::string& arguments) { return success("@g.json --advise " + arguments).out; }
};

// tests: H21
TEST_F(Advise, FullWhereItsErrorIsTolerated) {
  // x = 1: Full's error is 2^-8 of 1 + 2^-8, which is 1/257; Basic has none.
  const std::string text = lines("--feed x=@one.npy");
  EXPECT_NE(text.find("recipe=full             2 of 6        4       0.00389         0.00389\n"
                      "recipe=basic            1 of 6        3       0               0\n"
                      "policy=mixed_bfloat16   "),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("\nadvice: Full: it converts the most, for the best performance, and its largest error, 0.00389, is "
                "within the tolerance 0.0156\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("\nof a Keras model: Keras' own mixed precision, --policy mixed_bfloat16, whose largest error is "),
      std::string::npos)
      << text;
}

// tests: H21
TEST_F(Advise, BasicWhereFullsIsNot) {
  const std::string text = lines("--feed x=@one.npy --tolerance 0.003");
  EXPECT_NE(
      text.find("\nadvice: Basic: Full's largest error, 0.00389, is beyond the tolerance 0.003; that of Basic, which "
                "converts products and convolutions alone, is 0\n"),
      std::string::npos)
      << text;
}

// tests: H21
TEST_F(Advise, NeitherWhereBothAreTooLarge) {
  // x = 1 + 2^-9 becomes 1: Basic loses 2^-9 of 1 + 2^-9, which is 1/513; Full 1 - 1/((1 + 2^-9)(1 + 2^-8)).
  const std::string text = lines("--feed x=@more.npy --tolerance 0.001");
  EXPECT_NE(text.find("recipe=full             2 of 6        4       0.00583         0.00583\n"
                      "recipe=basic            1 of 6        3       0.00195         0.00195\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("\nadvice: neither: Full's largest error, 0.00583, is beyond the tolerance 0.001, and so is that of "
                "Basic, 0.00195; keep parts in float32 by a recipe of your own or by the name scope "
                "KEEP_FP32_PRECISION\n"),
      std::string::npos)
      << text;
  // A recipe of one's own is judged beside the two; one that converts nothing has no error.
  write_text(file("own.json"), R"({"allowlist": []})");
  const std::string own = lines("--recipe @own.json --feed x=@more.npy");
  EXPECT_NE(own.find("\nrecipe=own              0 of 6        0       0               0\n"), std::string::npos) << own;
  EXPECT_EQ(lines("--recipe basic --feed x=@more.npy"), lines("--feed x=@more.npy"));  // it is there already
}

// tests: H21
TEST_F(Advise, ValuesThatAreNotGivenAreDrawn) {
  EXPECT_EQ(lines(""), lines("--seed 0"));
  EXPECT_NE(lines("--seed 1"), lines("--seed 2"));
  const std::string example = success("{J} --advise").out;
  EXPECT_NE(example.find("recipe=full             7 of 14       7       "), std::string::npos) << example;
  EXPECT_NE(example.find("\nerrors are of 1 output, in units of the largest magnitude of each\nadvice: "),
            std::string::npos)
      << example;
}

TEST_F(Advise, ComplaintsNameValuePlaceAndWhatWasExpected) {
  const std::pair<const char*, const char*> rows[] = {
      {"@g.json --advise --feed x", "--feed: 'x': expected NAME=FILE.npy\n"},
      {"@g.json --advise --feed y=@one.npy", "--feed: unknown placeholder or variable 'y'; known: x\n"},
      {"@g.json --advise --feed x=@one.npy --feed x=@one.npy", "--feed: 'x' is given twice\n"},
      {"@g.json --advise --tolerance 2", "--tolerance: '2': expected a number in 0..1\n"},
      {"@g.json --advise --seed -1", "--seed: '-1': expected a whole number in 0..18446744073709551615\n"},
      {"@g.json --advise --dtype fp16", "--dtype: --advise compares recipes, which are of bfloat16; expected none\n"},
      {"@g.json --advise --tensorflow",
       "--tensorflow: --advise compares recipes; expected --recipe, --recipe-fp8 or none\n"},
      {"@g.json --advise -o @h.json", "--out: --advise writes no graph and no report\n"},
      {"@g.json --recipe full --seed 1", "--seed: expected with --advise or --evaluate\n"},
      {"{P} --advise", nullptr},
  };
  for (const auto& [arguments, words] : rows) {
    const std::string why = error(arguments);
    if (words)
      EXPECT_EQ(why, words);
    else
      EXPECT_NE(why.find("node 'x' (Placeholder): its shape is not known, [?,64]; expected a feed"), std::string::npos)
          << why;
  }
  GraphBuilder b;
  b.placeholder("i", DType::kInt32, {2});
  write_text(file("ints.json"), graph_json(b.build()));
  EXPECT_EQ(error("@ints.json --advise"),
            "--advise: no output of the graph is floating-point; expected one whose error can be measured\n");
}

// ---- TF_BF16_CONVERSION and TF_BF16_DUMP_PATH

const std::string kTiny = "--set generated=true --set train_images=64 --set batch_size=8 --set evaluate=false ";

Outcome with_environment(const std::string& environment, const std::string& arguments) {
  return run_shell(environment + " '" SOFTAMP_PROGRAM "' " + arguments);
}

// tests: H15, H16
TEST(EnvironmentOfTraining, TrainObeysWhereAsked) {
  const auto chosen = [](const std::string& environment, const std::string& options) {
    return json_of(with_environment(environment, "train " + kTiny + options + " --print-settings"))["mechanism"]
        .get<std::string>();
  };
  for (const char* full : {"1", "true", "full", "FULL"})
    EXPECT_EQ(chosen(std::string("TF_BF16_CONVERSION=") + full, "--environment"), "recipe=full") << full;
  EXPECT_EQ(chosen("TF_BF16_CONVERSION=basic", "--environment"), "recipe=basic");
  EXPECT_EQ(chosen("TF_ENABLE_BF16_CONVERSION=1", "--environment"), "recipe=full");
  EXPECT_EQ(chosen("TF_BF16_CONVERSION=0", "--environment"), "none");
  EXPECT_EQ(chosen("TF_BF16_CONVERSION=basic", ""), "none");  // not asked for
  EXPECT_EQ(chosen("TF_BF16_CONVERSION=basic", "--environment --level O2"), "level=O2");
  EXPECT_EQ(chosen("TF_BF16_CONVERSION=basic", "--environment --set mechanism=recipe=full"), "recipe=full");

  const TemporaryFolder folder;
  const std::string dump = folder.file("dump.json"), run = "train " + kTiny + "--steps 2 --json ";
  const Outcome by_variable =
      with_environment("TF_BF16_CONVERSION=basic TF_BF16_DUMP_PATH=" + dump, run + "--environment");
  EXPECT_NE(by_variable.err.find("INFO the recipe is written to " + dump + "\n"), std::string::npos) << by_variable.err;
  const json by_option = json_of(run_softamp(run + "--recipe basic")), none = json_of(run_softamp(run));
  EXPECT_EQ(json_of(by_variable)["weight_hashes"], by_option["weight_hashes"]);
  EXPECT_NE(none["weight_hashes"], by_option["weight_hashes"]);
  // What was written is the recipe, and can be read back by its path.
  EXPECT_EQ(json_of(with_environment("TF_BF16_CONVERSION=" + dump, run + "--environment"))["weight_hashes"],
            by_option["weight_hashes"]);
  EXPECT_EQ(json::parse(read_text(dump))["allowlist"].size(), 9u);

  const Outcome deprecated = with_environment("TF_ENABLE_BF16_CONVERSION=1", run + "--environment");
  EXPECT_EQ(deprecated.err.find("WARNING TF_ENABLE_BF16_CONVERSION is deprecated; use TF_BF16_CONVERSION\n"), 0u);
  const Outcome bad = with_environment("TF_BF16_CONVERSION=bsic", run + "--environment");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("TF_BF16_CONVERSION: recipe 'bsic': there is no such file; nearest: basic; expected full, "
                         "basic, or the path of a JSON file, 1, true, 0 or false\n"),
            std::string::npos)
      << bad.err;
  const Outcome over = with_environment("TF_BF16_DUMP_PATH=" + dump, run + "--environment --log " + dump);
  EXPECT_EQ(over.code, 2);
  EXPECT_NE(over.err.find("is the file of --log; expected another file"), std::string::npos) << over.err;
}

// tests: H15, H16
TEST(EnvironmentOfTraining, StudyObeysWhereAsked) {
  const TemporaryFolder folder;
  const std::string dump = folder.file("dump.json");
  const std::string study = "study " + kTiny + "--set epochs=1 --seeds 1 --quiet --json ";
  const auto losses = [&](const std::string& environment, const std::string& options) {
    return json_of(with_environment(environment, study + options))["rows"][0]["mean_losses"];
  };
  const std::string grid = "--grid learning_rate=0.01 ";
  const json by_variable = losses("TF_BF16_CONVERSION=full TF_BF16_DUMP_PATH=" + dump, grid + "--environment");
  EXPECT_EQ(by_variable, losses("", grid + "--set mechanism=recipe=full"));
  EXPECT_NE(by_variable, losses("TF_BF16_CONVERSION=full", grid));
  EXPECT_EQ(json::parse(read_text(dump))["allowlist"].size(), 75u);
  // Where mechanisms are what is compared, the variable chooses none; one file cannot take two recipes.
  EXPECT_EQ(losses("TF_BF16_CONVERSION=full", "--mechanisms none --environment"), losses("", "--mechanisms none"));
  const Outcome two =
      with_environment("TF_BF16_DUMP_PATH=" + dump, study + "--mechanisms recipe=full,recipe=basic --environment");
  EXPECT_EQ(two.code, 2);
  EXPECT_EQ(two.err, "softamp study: TF_BF16_DUMP_PATH: '" + dump +
                         "': the study has 2 recipes; expected one to be written there\n");
}

}  // namespace
}  // namespace softamp::test
