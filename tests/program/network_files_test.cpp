// Networks as files, as a person uses them: the commands of docs/NETWORKS.md on small data, and what is said of files
// that are wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "softamp/data/npz.h"
#include "src/text/columns.h"
#include "tests/program/process.h"

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kExamples = SOFTAMP_SOURCE_DIR "/examples/networks/";
const std::string kShort = "--quiet --set batch_size=8 --set epochs=2 --set optimizer=adam --set learning_rate=0.01 ";

class NetworkFiles : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string write(const std::string& name, const std::string& text) const {
    write_text(file(name), text);
    return file(name);
  }
  std::string npz_of(const std::string& name, const Tensor& x, const Tensor& y) const {
    const npz::Array both[] = {{"x", &x}, {"y", &y}};
    npz::write(file(name), both);
    return file(name);
  }
  /// 60 rows of four numbers, with what `label` says of each.
  template <class Label>
  std::string table(const std::string& name, DType labels, const Label& label) const {
    std::vector<double> x, y;
    for (int i = 0; i < 240; ++i) x.push_back(std::sin(i * 1.7));
    for (size_t i = 0; i < 60; ++i) y.push_back(label(&x[4 * i]));
    return npz_of(name, Tensor::from_values(DType::kFloat32, {60, 4}, x), Tensor::from_values(labels, {60}, y));
  }
  std::string text() const {
    std::string all;
    for (int i = 0; i < 120; ++i) all += i % 3 == 0 ? "one two " : "three\n";
    return write("text.txt", all);
  }
  /// What `softamp train` says after its name, @ for the folder.
  std::string refused(const std::string& arguments) const {
    const std::string all = "train " + kShort + arguments;
    return complaint_of("train", run_softamp(all), folder_, all);
  }

  TemporaryFolder folder_;
};

// A network with a name is its file: the same weights to the bit, however the run computes.
TEST_F(NetworkFiles, ThePrintedFileTrainsAsTheNameDoes) {
  const std::string tiny =
      "--set generated=true --set train_images=16 --set test_images=8 --set batch_size=4 --set epochs=1 --quiet "
      "--json ";
  for (const char* how :
       {"", "--set precision=float16 --set stochastic_rounding=on", "--set precision=mixed --set partials=half",
        "--set precision=mixed --set loss_scale=dynamic", "--set precision=float64", "--tensorflow", "--recipe full",
        "--policy mixed_float16", "--level O2", "--set replicas=2 --set weight_update=kahan --set precision=float16"})
    for (const char* name : {"small_resnet", "lenet5"}) {
      if (*how != '\0' && name[0] == 'l') continue;
      const Outcome printed = run_softamp(std::string("train --print-network ") + name);
      ASSERT_EQ(printed.code, 0) << printed.err;
      const std::string run = "train " + tiny + how + " --network ";
      const json named = json_of(run + name), filed = json_of(run + write("net.json", printed.out));
      EXPECT_EQ(filed["weight_hashes"], named["weight_hashes"]) << name << " " << how;
      EXPECT_EQ(filed["verdict"], named["verdict"]) << name << " " << how;
    }
}

// Each example is trained, stopped and resumed, studied, and run with the weights of its checkpoint.
TEST_F(NetworkFiles, EveryExampleTrainsResumesIsStudiedAndRuns) {
  const auto sum = [](const double* x) { return x[0] - x[1] + x[3]; };
  const std::vector<double> pixels(size_t{8} * 28 * 28, 0.5);
  const std::string images =
      npz_of("images.npz", Tensor::from_values(DType::kFloat32, {8, 28, 28, 1}, pixels),
             Tensor::from_values(DType::kInt64, {8}, std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  const std::vector<double> few(8, 0.25);
  const std::string row = file("row.npy"), image = file("image.npy"), tokens = file("tokens.npy");
  save_npy(Tensor::from_values(DType::kFloat32, {2, 4}, few), row);
  save_npy(Tensor::from_values(DType::kFloat32, {1, 28, 28, 1}, std::vector<double>(784, 0.25)), image);
  save_npy(Tensor::from_values(DType::kInt32, {1, 16}, std::vector<double>(16, 3)), tokens);
  const struct {
    std::string name, data, feed, output;
  } rows[] = {
      {"table", table("classes.npz", DType::kInt32, [&](const double* x) { return sum(x) > 0 ? 2 : 0; }),
       "inputs=" + row, "outputs: float32 [2,3]"},
      {"regression", table("values.npz", DType::kFloat64, sum), "inputs=" + row, "outputs: float32 [2,1]"},
      {"images", images, "images=" + image, "logits: float32 [1,10]"},
      {"text", text(), "inputs=" + tokens, "outputs: float32 [1,16,96]"},
  };
  size_t examples = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(kExamples)) ++examples;
  EXPECT_EQ(examples, std::size(rows));
  for (const auto& r : rows) {
    SCOPED_TRACE(r.name);
    const std::string net = kExamples + r.name + ".json", checkpoint = file(r.name + ".state.npz");
    const std::string run =
        "train " + kShort + "--set validation_split=0.25 --set batch_size=2 --network " + net + " --data " + r.data;
    const json whole = json_of(run + " --json");
    EXPECT_EQ(json_of(run + " --json --set steps=2 --checkpoint " + checkpoint)["steps"], 2);
    EXPECT_EQ(json_of(run + " --json --resume " + checkpoint)["weight_hashes"], whole["weight_hashes"]);
    const Outcome out = run_softamp("run " + net + " --quiet --feed " + r.feed + " --variables " + checkpoint);
    EXPECT_EQ(out.out.substr(0, r.output.size()), r.output) << out.err;
    const Outcome study = run_softamp("study --quiet --json --seeds 1 --set epochs=1 --set batch_size=2 " +
                                      ("--set validation_split=0.25 --set network=" + net) + " --data " + r.data +
                                      " --grid precision=float32,float16 --report " + file(r.name + ".html"));
    EXPECT_EQ(study.code, 0) << study.err;
    EXPECT_TRUE(contains(read_text(file(r.name + ".html")), "</html>"));
  }
  const Outcome sampled =
      run_softamp("train " + kShort + "--network " + kExamples + "text.json --data " + text() + " --sample 20");
  EXPECT_EQ(sampled.out.substr(0, 1), "o") << sampled.err;
  EXPECT_EQ(characters(sampled.out), 22u) << sampled.out;  // the first one, and the end of the line
}

// The command of docs/RESULTS.md, on a short text: in twelve steps its loss falls below half of that of guessing, and
// the text is as long as asked for.
TEST_F(NetworkFiles, GptTinyTrainsAndWrites) {
  std::string words;
  for (int i = 0; i < 300; ++i) words += i % 3 == 0 ? "to be " : "or not ";
  const json run = json_of(
      "train --quiet --json --network gpt_tiny --set optimizer=adamw --set learning_rate=0.003 --set beta2=0.99 "
      "--set weight_decay=0.1 --set clip_global_norm=1 --set learning_rate_schedule=cosine --set warmup_steps=2 "
      "--set batch_size=2 --set shuffle=true --steps 12 --sample 30 --data " +
      write("words.txt", words));
  EXPECT_LT(run["evaluations"].back()["loss"], std::log(96.0) / 2) << run.dump(2);
  EXPECT_EQ(characters(run["sample"].get<std::string>()), 31u) << run["sample"];
  EXPECT_EQ(run["settings"]["learning_rate_schedule"], "cosine");
}

// Arrays of the same names in the folder of the program are none of a run on generated images.
TEST_F(NetworkFiles, GeneratedImagesAreNotReadFromTheFolderOfTheProgram) {
  const std::string run = "'" SOFTAMP_PROGRAM
                          "' train --quiet --json --set generated=true --set train_images=16 --set test_images=8 "
                          "--set epochs=1 --set batch_size=8";
  const json elsewhere = json_of(run_shell(run));
  save_npy(Tensor::from_values(DType::kFloat32, {2, 2}, std::vector<double>(4)), file("x.npy"));
  save_npy(Tensor::from_values(DType::kFloat32, {2}, std::vector<double>(2)), file("y.npy"));
  const Outcome here = run_shell("cd " + folder_.path().string() + " && " + run);
  EXPECT_EQ(json_of(here)["weight_hashes"], elsewhere["weight_hashes"]);
}

TEST_F(NetworkFiles, AFileThatIsNotThereIsOneSentence) {
  const std::string data = table("t.npz", DType::kInt32, [](const double*) { return 0; });
  EXPECT_EQ(refused("--data " + data + " --network " + file("none.json")),
            "--network: 'network' cannot be read: @none.json: No such file or directory; expected a JSON file of a "
            "network\n");
}

}  // namespace
}  // namespace softamp::test
