// `softamp study`: grids of settings, side by side, kept and gone on with, and one table at the end.
#include "src/files/checked_json.h"
#include "tests/program/process.h"
#include "tests/program/signalled.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <sstream>
#include <vector>

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kTinyStudy =
    "--set generated=true --set train_images=64 --set test_images=32 --set batch_size=8 --set epochs=1 --quiet ";
const std::string kGrid = "--grid precision=float16,float32 --grid stochastic_rounding=off,on ";

json document(const std::string& arguments) { return json_of("study " + arguments + " --json"); }

/// A kept run as the program writes it.
void write_kept(const std::string& file, json run) {
  run.erase("checksum");
  write_text(file, with_checksum(run.dump()));
}

TEST(Study, OneRowASettingOverTheSeeds) {
  const Outcome o = run_softamp("study " + kTinyStudy + kGrid + "--seeds 2");
  ASSERT_EQ(o.code, 0) << o.err;
  std::istringstream in(o.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_GE(lines.size(), 7u) << o.out;
  EXPECT_EQ(lines[0].find("study: small_cnn, momentum, learning rate 0.01, batch 8, generated images, 2 seeds"), 0u);
  EXPECT_EQ(lines[2].find("precision  stochastic_rounding  final loss"), 0u) << lines[2];
  const char* const begin[] = {"float16    off", "float16    on", "float32    off", "float32    on"};
  for (size_t row = 0; row < 4; ++row) EXPECT_EQ(lines[3 + row].find(begin[row]), 0u) << lines[3 + row];
}

TEST(Study, TheNumbersAreThoseOfTheRuns) {
  const TemporaryFolder folder;
  const json study = document(kTinyStudy + "--grid precision=float16 --set stochastic_rounding=on --seeds 3 --out " +
                              folder.file("runs"));
  ASSERT_EQ(study["rows"].size(), 1u);
  std::vector<double> finals, accuracies;
  for (const std::string seed : {"0", "1", "2"}) {
    const Outcome o = run_softamp(
        "train " + kTinyStudy + "--set precision=float16 --set stochastic_rounding=on --json " + "--set seed=" + seed);
    ASSERT_EQ(o.code, 0) << o.err;
    const json run = json::parse(o.out);
    finals.push_back(run["last_loss"]);  // 8 steps: the last tenth is the last step
    accuracies.push_back(100 * run["evaluations"][0]["accuracy"].get<double>());
  }
  const auto mean = [](const std::vector<double>& v) { return (v[0] + v[1] + v[2]) / 3; };
  const auto sd = [&](const std::vector<double>& v) {
    const double m = mean(v);
    return std::sqrt(((v[0] - m) * (v[0] - m) + (v[1] - m) * (v[1] - m) + (v[2] - m) * (v[2] - m)) / 2);
  };
  const json& row = study["rows"][0];
  EXPECT_EQ(row["final_loss"], mean(finals));
  EXPECT_EQ(row["loss_sd"], sd(finals));
  EXPECT_EQ(row["accuracy_percent"], mean(accuracies));
  EXPECT_EQ(row["accuracy_sd"], sd(accuracies));
  EXPECT_EQ(row["accuracy_se"], sd(accuracies) / std::sqrt(3.0));
  EXPECT_EQ(row["runs"], 3);
  EXPECT_EQ(row["mean_losses"].size(), 8u);
  EXPECT_NE(finals[0], finals[1]) << "seeds differ";
}

TEST(Study, AsManyRunsAtATimeAsOneLikes) {
  const std::string study = kTinyStudy + kGrid + "--seeds 2 ";
  EXPECT_EQ(document(study + "--jobs 1"), document(study + "--jobs 3"));
}

TEST(Study, FinishedRunsAreKeptAndNotRunAgain) {
  const TemporaryFolder folder;
  const std::string out = folder.file("runs");
  const std::string study = kTinyStudy + "--grid precision=float16,float32 --seeds 2 --out " + out + " ";
  const json first = document(study);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(out), {}); };
  EXPECT_EQ(files(), 4);
  // A kept run is believed: a number put in shows in the table.
  const std::string kept = std::filesystem::directory_iterator(out)->path().string();
  json run = json::parse(read_text(kept));
  for (json& loss : run["losses"]) loss = 1000;
  write_kept(kept, run);
  EXPECT_NE(document(study), first);
  std::filesystem::remove(kept);
  EXPECT_EQ(document(study), first) << "the missing one is run again";
  document(kTinyStudy + "--grid precision=float16,float32 --seeds 3 --out " + out);
  EXPECT_EQ(files(), 6) << "one more seed, two more runs";
  write_text(kept, "{}");
  const Outcome o = run_softamp("study " + study);
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find(kept), std::string::npos) << o.err;
}

/// Kept runs with a loss that none has: where it shows, the run was taken and not made again.
class KeptStudy : public ::testing::Test {
 protected:
  std::string study(const std::string& data) const {
    return "study --quiet --json --set train_images=32 --set test_images=16 --set batch_size=8 --set epochs=1 "
           "--grid precision=float32 --seeds 1 --out " +
           out_ + " " + data;
  }
  std::string generated() const { return study("--set generated=true"); }
  /// Of a study with one row.
  static double loss_of(const Outcome& o) {
    const json document = json_of(o);
    return document.is_object() ? document["rows"][0]["final_loss"].get<double>() : NAN;
  }
  std::string kept() const {
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out_), {}), 1) << "one run";
    return std::filesystem::directory_iterator(out_)->path().string();
  }
  void plant(const std::function<void(json&)>& change = [](json&) {}) const {
    json run = json::parse(read_text(kept()));
    for (json& loss : run["losses"]) loss = 1000;
    change(run);
    write_kept(kept(), run);
  }
  /// Fashion-MNIST's four files, of images of one grey each; `first` is the first image's.
  std::string images(const std::string& name, char first) const {
    const std::string folder = folder_.file(name) + "/";
    std::filesystem::create_directories(folder);
    for (const auto& [part, count] : {std::pair{"train", 32}, {"t10k", 16}}) {
      const std::string number{0, 0, 0, static_cast<char>(count)};
      std::string pixels = std::string{0, 0, 8, 3} + number + std::string{0, 0, 0, 28, 0, 0, 0, 28};
      std::string labels = std::string{0, 0, 8, 1} + number;
      for (int i = 0; i < count; ++i) {
        pixels += std::string(28 * 28, i == 0 ? first : static_cast<char>(7 * i));
        labels += static_cast<char>(i % 10);
      }
      write_text(folder + part + "-images-idx3-ubyte", pixels);
      write_text(folder + part + "-labels-idx1-ubyte", labels);
    }
    return folder_.file(name);
  }

  const TemporaryFolder folder_;
  const std::string out_ = folder_.file("runs");
};

TEST_F(KeptStudy, IsTakenByTheProgramThatComputedIt) {
  const double loss = loss_of(run_softamp(generated()));
  plant();
  EXPECT_EQ(loss_of(run_softamp(generated())), 1000);
  for (const char* key : {"version", "program", "arithmetic"}) {
    plant([&](json& run) { run[key] = run[key].is_string() ? json("another") : json(1); });
    EXPECT_EQ(loss_of(run_softamp(generated())), loss) << key;
    plant();
    EXPECT_EQ(loss_of(run_softamp(generated())), 1000) << "the run that was made again is kept under its name";
  }
  // The same program in all but its file, as another build of this version is.
  const std::string other = folder_.file("softamp");
  std::filesystem::copy_file(SOFTAMP_PROGRAM, other);
  std::ofstream(other, std::ios::binary | std::ios::app) << '\n';
  EXPECT_EQ(loss_of(run_shell("'" + other + "' " + generated())), loss);
}

TEST_F(KeptStudy, HasWholeNumbers) {
  ASSERT_EQ(run_softamp(generated()).code, 0);
  const std::string good = read_text(kept());
  for (const char* number : {"1e+300", "-1", "1.5", "9223372036854775808"})
    for (const char* key : {"skipped", "images", "correct"}) {
      json run = json::parse(good);
      run[key] = json::parse(number);
      write_kept(kept(), run);
      const Outcome o = run_softamp(generated());
      EXPECT_EQ(o.code, 2) << key << " " << number;
      EXPECT_NE(o.err.find(kept() + ": '" + key + "' is " + number + "; expected a whole number in 0.."),
                std::string::npos)
          << o.err;
    }
}

TEST_F(KeptStudy, KnowsItsDataByTheirContents) {
  const std::string a = images("a", 1), b = images("b", 1);
  const double loss = loss_of(run_softamp(study("--data " + a)));
  plant();
  EXPECT_EQ(loss_of(run_softamp(study("--data " + b))), 1000) << "the same images elsewhere";
  images("a", 127);
  const double other = loss_of(run_softamp(study("--data " + a)));
  EXPECT_NE(other, 1000) << "other images in the same place";
  EXPECT_NE(other, loss);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out_), {}), 2) << "each is kept";
  EXPECT_EQ(loss_of(run_softamp(study("--data " + b))), 1000);
}

TEST_F(KeptStudy, KnowsItsRecipeByItsContents) {
  const std::string recipe = folder_.file("recipe.json");
  const std::string line = study("--set generated=true --set mechanism=recipe=" + recipe);
  write_text(recipe, R"({"allowlist": ["MatMul"]})");
  loss_of(run_softamp(line));
  plant();
  EXPECT_EQ(loss_of(run_softamp(line)), 1000);
  write_text(recipe, R"({"allowlist": ["MatMul", "Conv2D"]})");
  EXPECT_NE(loss_of(run_softamp(line)), 1000);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out_), {}), 2);
}

// A run that began after the change is not kept as one of the images before.
TEST_F(KeptStudy, SeesThatItsDataChangeMeanwhile) {
  const std::string a = images("a", 1), b = images("b", 127), file = "/train-images-idx3-ubyte";
  const std::string line = "exec '" SOFTAMP_PROGRAM
                           "' study --quiet --set train_images=32 --set test_images=16 "
                           "--set batch_size=8 --set epochs=2 --grid precision=float32 --seeds 200 --jobs 1 --out " +
                           out_ + " --data " + a + " > /dev/null 2> " + folder_.file("err");
  const auto changed = [&] {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(out_, none))
      if (entry.path().extension() == ".json") {
        std::filesystem::rename(b + file, a + file);
        return true;
      }
    return false;
  };
  const int status = status_after(0, line, changed);  // no signal
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  EXPECT_EQ(read_text(folder_.file("err")).find("softamp study: " + a + ": what is read there changed while"), 0u)
      << read_text(folder_.file("err"));
  std::string contents;
  for (const auto& entry : std::filesystem::directory_iterator(out_)) {
    const std::string of_run = json::parse(read_text(entry.path().string()))["contents"];
    EXPECT_TRUE(contents.empty() || of_run == contents);
    contents = of_run;
  }
}

// Refused by its size alone, before any run is laid out.
TEST(Study, AGridThatIsTooLargeIsCountedAndRefused) {
  const auto grid = [](int axes, int values) {
    static const char* const kKeys[] = {"learning_rate", "momentum",    "rho",         "beta1", "beta2",
                                        "epsilon",       "batch_size",  "epochs",      "steps", "weight_decay",
                                        "train_images",  "test_images", "accumulation"};
    std::string text;
    for (int a = 0; a < axes; ++a) {
      text += std::string(" --grid ") + kKeys[a] + "=1";
      for (int v = 2; v <= values; ++v) text += "," + std::to_string(v);
    }
    return text;
  };
  expect_complaint("study", "--set generated=true --seeds 10" + grid(3, 100),
                   "study: the study has 100 x 100 x 100 settings with 10 seeds each, 10000000 runs; expected at most "
                   "1000000");
  expect_complaint("study", "--set generated=true" + grid(13, 100), "more than 2^64 runs; expected at most 1000000");
  expect_complaint("study", "--set generated=true --seeds 1000000 --grid shuffle=true,false", "2000000 runs");
}

TEST(Study, ASignalStopsItAndTheSameCommandGoesOn) {
  const TemporaryFolder folder;
  const std::string out = folder.file("runs");
  const std::string study = kTinyStudy + "--grid precision=float16,float32 --seeds 40 --jobs 1 --out " + out + " ";
  const std::string line = "exec '" SOFTAMP_PROGRAM "' study " + study + "2> " + folder.file("err") + " > /dev/null";
  const auto finished = [&]() -> size_t {
    std::error_code none;
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(out, none))
      count += entry.path().extension() == ".json";
    return count;
  };
  const int status = status_after(SIGINT, line, [&] { return finished() >= 2; });
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) << status << read_text(folder.file("err"));
  const size_t kept = finished();
  EXPECT_LT(kept, 80u);
  EXPECT_NE(read_text(folder.file("err")).find("interrupted; " + std::to_string(kept) + " of 80 runs are finished"),
            std::string::npos)
      << read_text(folder.file("err"));
  for (const auto& entry : std::filesystem::directory_iterator(out))
    EXPECT_EQ(entry.path().extension(), ".json") << "nothing half written: " << entry.path();
}

TEST(Study, CasesChangeSettingsTogether) {
  const json study = document(kTinyStudy + "--case precision=float32 --case precision=float16,stochastic_rounding=on " +
                              "--grid batch_size=8,16 --seeds 1");
  ASSERT_EQ(study["rows"].size(), 4u);
  const json expected[] = {
      {{"precision", "float32"}, {"stochastic_rounding", "off"}, {"batch_size", "8"}},
      {{"precision", "float32"}, {"stochastic_rounding", "off"}, {"batch_size", "16"}},
      {{"precision", "float16"}, {"stochastic_rounding", "on"}, {"batch_size", "8"}},
      {{"precision", "float16"}, {"stochastic_rounding", "on"}, {"batch_size", "16"}},
  };
  for (size_t row = 0; row < 4; ++row) EXPECT_EQ(study["rows"][row]["settings"], expected[row]);
  EXPECT_TRUE(study["rows"][0]["loss_sd"].is_null()) << "one seed has no spread";
}

TEST(Study, EachRowShowsWhatItsUpdatesUse) {
  const std::string two = "--set learning_rate=0.001 --set precision=bfloat16 --seeds 1 ";
  const json optimizers = document(kTinyStudy + two + "--grid optimizer=momentum,adam");
  EXPECT_TRUE(optimizers["settings"]["momentum"].is_null()) << "each row has its own";
  EXPECT_EQ(optimizers["rows"][0]["used"][0]["momentum"], 0.8984375);
  EXPECT_EQ(optimizers["rows"][1]["used"][0]["beta2"], 1.0);
  const json dtypes = document(kTinyStudy + two + "--set optimizer=adam --grid hyperparameters=bfloat16,float32");
  EXPECT_EQ(dtypes["settings"]["beta2"], 0.999);
  EXPECT_EQ(dtypes["rows"][0]["used"], optimizers["rows"][1]["used"]);
  EXPECT_EQ(dtypes["rows"][0]["mean_losses"], optimizers["rows"][1]["mean_losses"]);
  EXPECT_EQ(dtypes["rows"][1]["settings"]["hyperparameters"], "float32");
  EXPECT_EQ(dtypes["rows"][1]["used"][0]["hyperparameters"], "float32");
}

TEST(Study, AFileSaysTheSame) {
  const TemporaryFolder folder;
  write_text(folder.file("study.json"), R"({"settings": {"generated": true, "train_images": 64, "test_images": 32,
    "batch_size": 8, "epochs": 1}, "cases": [{"precision": "float32"}, {"precision": "float16"}],
    "grid": {"learning_rate": [0.01, 0.001]}, "seeds": 1})");
  json file = document(folder.file("study.json") + " --quiet");
  const json options = document(
      kTinyStudy + "--grid learning_rate=0.01,0.001 --case precision=float32 --case precision=float16 --seeds 1");
  EXPECT_EQ(file["rows"].size(), 4u);
  // In the file the cases come first.
  EXPECT_EQ(file["rows"][1]["final_loss"], options["rows"][1]["final_loss"]);
  EXPECT_EQ(file["rows"][1]["settings"], (json{{"precision", "float32"}, {"learning_rate", "0.001"}}));
}

TEST(Study, MechanismsSideBySide) {
  const TemporaryFolder folder;
  const std::string line = "study --mechanisms none,tensorflow=2.3,recipe=full,dtype=fp16,level=O2 " + kTinyStudy +
                           "--seeds 1 --out " + folder.file("runs");
  const Outcome o = run_softamp(line + " --csv " + folder.file("t.csv") + " --plot " + folder.file("p.svg"));
  ASSERT_EQ(o.code, 0) << o.err;
  std::istringstream in(o.out);
  std::vector<std::string> lines;
  for (std::string text; std::getline(in, text);) lines.push_back(text);
  ASSERT_GE(lines.size(), 7u) << o.out;
  EXPECT_EQ(lines[0].find("study: small_resnet, momentum"), 0u) << lines[0];
  EXPECT_EQ(lines[2].find("mechanism " + std::string(17, ' ') + "low %  casts  final loss"), 0u) << lines[2];
  EXPECT_NE(lines[2].find("skipped  images/s  speed  stopped"), std::string::npos) << lines[2];
  EXPECT_EQ(lines[3].find("none " + std::string(24, ' ') + "0.0      0"), 0u) << lines[3];
  const Outcome again = run_softamp(line + " --json --rates");
  ASSERT_EQ(again.code, 0) << again.err;
  const json study = json::parse(again.out);
  ASSERT_EQ(study["rows"].size(), 4u);
  const std::string names[] = {"none", "tensorflow=2.3", "recipe=full,dtype=float16", "level=O2"};
  for (size_t row = 0; row < 4; ++row) {
    const json& r = study["rows"][row];
    EXPECT_EQ(r["settings"]["mechanism"], names[row]);
    EXPECT_EQ(r["low_percent"] > 10, row > 0) << "read back from --out";
    EXPECT_EQ(r["casts"] > 10, row > 0);
  }
  EXPECT_EQ(study["rows"][0]["relative_speed"], 1);
  EXPECT_GE(study["rows"][3]["skipped_steps"], 3) << "a scale of 2^24: each mechanism has its own";
  EXPECT_EQ(study["rows"][1]["skipped_steps"], 0);
  const std::string csv = read_text(folder.file("t.csv"));
  EXPECT_NE(csv.find("mechanism,runs,low_percent,casts,final_loss,"), std::string::npos) << csv;
  EXPECT_NE(read_text(folder.file("p.svg")).find("tensorflow=2.3"), std::string::npos);
}

TEST(Study, ARunThatAnExceptionStopsIsARowToo) {
  const Outcome o = run_softamp("study " + kTinyStudy +
                                "--set precision=float16 --set behaviour=oflo --grid loss_scale=1,2^60 --seeds 2");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("2 of 2"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("stopped: 2^60: floating-point exception: overflow"), std::string::npos) << o.out;
}

// Cases of which one trains, one learns nothing, one diverges and one stops; each is told from the others everywhere.
TEST(Study, SaysWhatBecameOfEachCase) {
  const TemporaryFolder folder;
  const std::string line =
      "study --set generated=true --set train_images=512 --set test_images=200 --set batch_size=8 --set epochs=3 "
      "--quiet --seeds 2 --out " +
      folder.file("kept") +
      " --case precision=float32 --case precision=float16,learning_rate=1e-7 --case "
      "precision=float32,learning_rate=1e12 "
      "--case precision=float16,loss_scale=2^60,behaviour=oflo ";
  const Outcome o = run_softamp(line + "--csv " + folder.file("t.csv") + " --runs-csv " + folder.file("r.csv") +
                                " --steps-csv " + folder.file("s.csv") + " --plot " + folder.file("p.svg"));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("against reference\n"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("trains              reference\n"), std::string::npos) << o.out;
  for (const char* words : {"  at chance", "  diverged at step ", "  stopped", "2 of 2",
                            "\ndiverged: float32 1000000000000.0 256 off: step ", " in the ",
                            "worse or better where a paired t test over 2 seeds has p < 0.05\n"})
    EXPECT_NE(o.out.find(words), std::string::npos) << words << "\n" << o.out;

  const Outcome again = run_softamp(line + "--json");  // from the kept runs
  ASSERT_EQ(again.code, 0) << again.err;
  const json rows = json::parse(again.out)["rows"];
  EXPECT_EQ(rows[0]["verdict"], "trains");
  EXPECT_EQ(rows[0]["against_reference"], "reference");
  EXPECT_EQ(rows[0]["trains"], 2);
  EXPECT_EQ(rows[1]["verdict"], "at chance");
  EXPECT_GT(rows[1]["difference"], 0);
  EXPECT_NEAR(rows[1]["difference_in_se"].get<double>(),
              rows[1]["difference"].get<double>() / rows[1]["difference_se"].get<double>(), 1e-9);
  EXPECT_EQ(rows[2]["diverged"], 2);
  EXPECT_EQ(rows[2]["verdict"], "diverged at step " + rows[2]["nonfinite"]["step"].dump());
  EXPECT_EQ(rows[3]["verdict"], "stopped");
  EXPECT_EQ(rows[3]["against_reference"], "-");

  const std::string runs = read_text(folder.file("r.csv")), steps = read_text(folder.file("s.csv"));
  EXPECT_EQ(std::count(runs.begin(), runs.end(), '\n'), 1 + 4 * 2);
  EXPECT_EQ(runs.find("precision,learning_rate,loss_scale,behaviour,seed,outcome,nonfinite_step,"), 0u) << runs;
  EXPECT_NE(runs.find("\nfloat32,0.01,256,off,0,trains,,,,,"), std::string::npos) << runs;
  EXPECT_NE(runs.find("\nfloat16,0.01,2^60,oflo,1,stopped,,,,,,"), std::string::npos) << runs;
  EXPECT_EQ(steps.find("precision,learning_rate,loss_scale,behaviour,seed,step,loss\nfloat32,0.01,256,off,0,0,2."), 0u);
  EXPECT_NE(steps.find("\nfloat16,1e-07,256,off,1,191,"), std::string::npos);
  const std::string svg = read_text(folder.file("p.svg"));
  for (const char* words :
       {"256, behaviour off (reference)", "at chance", "diverged at step ", ": stopped", "difference"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  // One seed has no standard error.
  const Outcome one = run_softamp("study " + kTinyStudy + "--grid precision=float32,float16 --seeds 1");
  EXPECT_NE(one.out.find(", no se\n"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("1 seed has no standard error: take --seeds 2 or more\n"), std::string::npos) << one.out;
}

// A kept run counts for the first weights that it read, whatever their file is called.
TEST(Study, FirstWeightsDecideAndAreFoundAgainByTheirContents) {
  const TemporaryFolder folder;
  const std::string train = "train --set generated=true --set train_images=64 --set batch_size=8 --steps 1 --quiet ";
  const std::string one = folder.file("1.npz"), two = folder.file("2.npz");
  ASSERT_EQ(run_softamp(train + "--write-initial " + one).code, 0);
  ASSERT_EQ(run_softamp(train + "--set seed=1 --write-initial " + two).code, 0);
  const auto losses = [&](const std::string& file) {
    const Outcome o = run_softamp("study " + kTinyStudy + "--grid precision=float32 --seeds 1 --json --out " +
                                  folder.file("kept") + " --set initial=" + file);
    EXPECT_EQ(o.code, 0) << o.err;
    return json::parse(o.out)["rows"][0]["mean_losses"];
  };
  const auto kept = [&] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.file("kept")))
      count += entry.path().extension() == ".json";
    return count;
  };
  const json first = losses(one);
  EXPECT_NE(losses(two), first);
  EXPECT_EQ(kept(), 2u);
  std::filesystem::rename(one, folder.file("renamed.npz"));
  EXPECT_EQ(losses(folder.file("renamed.npz")), first);
  EXPECT_EQ(kept(), 2u);
}

TEST(Study, WarnsOfReplicasThatDrift) {
  const Outcome o = run_softamp(
      "study --set generated=true --set train_images=32 --set test_images=8 --set batch_size=4 --set epochs=1 --set "
      "replicas=2 --set replica_drift=true --set stochastic_rounding=on --grid precision=float32,float16 --seeds 1");
  EXPECT_NE(o.err.find("warning: replica_drift: in 1 of 2 settings each replica rounds its update with random bits of "
                       "its own, so that their weights drift apart\n"),
            std::string::npos)
      << o.err;
  EXPECT_NE(o.out.find("\nreplicas drift: float16: their weights differ since step 0, by at most "), std::string::npos)
      << o.out;
  EXPECT_EQ(o.out.find("replicas drift: float32"), std::string::npos);
}

TEST(Study, WarnsOfRunsThatEndBeforeTheirSteps) {
  const std::string words =
      "study --set generated=true --set train_images=32 --set test_images=8 --set batch_size=4 --set epochs=2 --grid "
      "precision=float32 --seeds 1 ";
  const char* const warning = "warning: steps 17: runs end after 16, which 2 epochs of 32 samples have;";
  EXPECT_NE(run_softamp(words + "--set steps=17").err.find(warning), std::string::npos);
  EXPECT_EQ(run_softamp(words + "--set steps=16").err.find("warning"), std::string::npos);
}

// An update that rounds stochastically draws without stochastic rounding elsewhere; one to nearest, or compensated,
// draws for its slots alone, which plain descent has not.
TEST(Study, WarnsOfUpdatesThatDrift) {
  const Outcome o = run_softamp(
      "study --set generated=true --set train_images=32 --set test_images=8 --set batch_size=4 --set epochs=1 --set "
      "replicas=2 --set replica_drift=true --set precision=float16 --grid weight_update=nearest,stochastic,kahan "
      "--case optimizer=sgd --case optimizer=sgd,stochastic_rounding=on --case stochastic_rounding=on --seeds 1");
  EXPECT_NE(o.err.find("warning: replica_drift: in 5 of 9 settings each replica"), std::string::npos) << o.err;
  size_t drifted = 0;
  for (size_t at = 0; (at = o.out.find("\nreplicas drift: ", at)) != std::string::npos; ++at) ++drifted;
  EXPECT_EQ(drifted, 5u) << o.out;
  EXPECT_EQ(o.out.find("replicas drift: kahan, sgd"), std::string::npos) << o.out;
}

TEST(Study, WritesATableAndAPlot) {
  const TemporaryFolder folder;
  const Outcome o = run_softamp("study " + kTinyStudy + kGrid + "--seeds 1 --csv " + folder.file("t.csv") + " --plot " +
                                folder.file("p.svg") + " --log");
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string csv = read_text(folder.file("t.csv"));
  EXPECT_EQ(csv.find("precision,stochastic_rounding,runs,final_loss,loss_sd,test_loss,test_loss_sd,test_loss_se,"
                     "accuracy_percent,accuracy_sd,accuracy_se,skipped_steps,stopped,trains,at_"
                     "chance,worse_than_guessing,no_update,diverged,difference,difference_se,"
                     "difference_in_se,difference_p,verdict\nfloat16,off,"),
            0u)
      << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_NE(read_text(folder.file("p.svg")).find("float16, stochastic"), std::string::npos);
}

// A window of a text has many predictions: the accuracy is their share, and the loss of the test samples tells more.
TEST(Study, OfATextTellsTheTestLoss) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "abcd ";
  write_text(folder.file("text.txt"), text);
  write_text(folder.file("net.json"), R"({"softamp_network": 1,
    "input": {"kind": "tokens", "length": 5, "vocabulary": 8}, "output": {"kind": "next_token"},
    "layers": [{"type": "embedding", "vocabulary": 8, "units": 8}, {"type": "dense", "units": 8}]})");
  const std::string settings = "--set network=" + folder.file("net.json") + " --data " + folder.file("text.txt") +
                               " --set batch_size=4 --set optimizer=sgd --set learning_rate=4 --set epochs=8 ";
  const std::string asked = "study " + settings + "--grid precision=float32,float16 --seeds 2 --out " +
                            folder.file("kept") + " --runs-csv " + folder.file("runs.csv") + " --json";
  const json study = json_of(asked), evaluation = json_of("train --quiet --json " + settings)["evaluations"][0];
  EXPECT_EQ(json_of(asked)["rows"], study["rows"]) << "read again";
  const std::string runs = read_text(folder.file("runs.csv"));
  EXPECT_NE(runs.find("accuracy_percent,test_loss,skipped_steps"), std::string::npos);
  EXPECT_NE(runs.find("," + evaluation["loss"].dump() + ","), std::string::npos) << runs << evaluation;
  for (const json& row : study["rows"]) {
    EXPECT_GT(row["accuracy_percent"], 50);
    EXPECT_LE(row["accuracy_percent"], 100);
    EXPECT_LT(row["test_loss"], 0.5);
    EXPECT_GT(row["test_loss_se"], 0);
  }
  const Outcome table =
      run_softamp("study " + settings + "--grid precision=float32,float16 --seeds 2 --out " + folder.file("kept"));
  EXPECT_NE(table.out.find("  test loss  "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\ntrains: the loss of the test samples is below that of\n"), std::string::npos);
  EXPECT_EQ(table.out.find("images"), std::string::npos) << table.out;
}

TEST(Study, WithoutALossThereIsATableAndNoPlot) {
  const TemporaryFolder folder;
  const std::string plot = folder.file("p.svg");
  const Outcome o = run_softamp("study " + kTinyStudy + "--set precision=float16 --set behaviour=oflo --seeds 1 " +
                                "--grid loss_scale=2^60 --plot " + plot);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("1 of 1"), std::string::npos) << o.out;
  EXPECT_NE(o.err.find("'" + plot + "' is not written"), std::string::npos) << o.err;
  // A table that cannot be kept is still shown.
  const Outcome full = run_softamp("study " + kTinyStudy + "--grid precision=float16 --seeds 1 --csv /dev/full");
  EXPECT_EQ(full.code, 2);
  EXPECT_NE(full.out.find("float16"), std::string::npos) << full.err;
}

TEST(Study, SettingsArePrintedWhenTheInputIsGood) {
  const TemporaryFolder folder;
  const std::string study = "study --grid shuffle=true,false --data ";
  for (const std::string& data : {folder.file("none"), folder.path().string()}) {
    const Outcome o = run_softamp(study + data);
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.err.find("softamp study: " + data + ": no "), 0u) << o.err;
  }
}

TEST(Study, EveryComplaintNamesValuePlaceAndWhatWasExpected) {
  const TemporaryFolder folder;
  write_text(folder.file("key.json"), R"({"grids": {}})");
  write_text(folder.file("seeds.json"), R"({"seeds": 0})");
  write_text(folder.file("list.json"), R"({"grid": {"precision": "float16"}})");
  write_text(folder.file("setting.json"), R"({"settings": {"precison": "float16"}})");
  const struct {
    std::string arguments, message;
  } rows[] = {
      {"", "nothing to compare; expected a STUDY file, --grid, --case or --mechanisms"},
      {"--grid precision", "--grid: 'precision': expected KEY=VALUE"},
      {"--grid precision=float16,,float32", "without empty values"},
      {"--grid precison=float16", "'precison' is not a setting. Did you mean 'precision'?"},
      {"--grid precision=float17", "setting precision=float17: "},
      {"--grid seed=1,2", "--grid: 'seed': expected --seeds N"},
      {"--case threads=2", "--case: 'threads' decides no result"},
      {"--grid optimizer=momentum,adam --set fold_scale_into_rate=true", "setting optimizer=adam: settings: "},
      {"--seeds 0 --grid shuffle=true,false", "--seeds: '0': expected a whole number in 1..1000000"},
      {folder.file("key.json"), "unknown key 'grids'; nearest: grid"},
      {folder.file("seeds.json"), "seeds: 0: expected a whole number in 1..1000000"},
      {folder.file("list.json"), "precision: \"float16\": expected a list of values"},
      {folder.file("setting.json"), "'precison' is not a setting"},
      {folder.file("none.json"), "none.json: No such file or directory; expected a JSON file that describes a study"},
      {"--mechanisms=none,,level=O2", "--mechanisms: 'none,,level=O2': expected mechanisms without empty ones"},
      {"--mechanisms=none,level=O7", "--mechanisms: mechanism 'level=O7': "},
      {"--mechanisms=tensorflow,none,tensorflow=2.3", "--mechanisms: 'tensorflow=2.3' stands twice; expected each"},
      {"--grid shuffle=true,false --out /dev/null/x", "--out: '/dev/null/x': Not a directory; expected a folder"},
      {"--mechanisms=none,level=O2 --set precision=float16", "'mechanism' is 'level=O2', but 'precision' is 'float16'"},
      {"--grid shuffle=true,false --plot p.gif", "plot 'p.gif': expected"},
      {"--case precision=float32 --grid precision=float16",
       "'precision' is varied twice; expected each setting on one"},
      {"--grid data=" + folder.file("nowhere"), folder.file("nowhere")},
      {"--set generated=true --grid data=" + folder.file("nowhere"), folder.file("nowhere")},
      {"--grid shuffle=true,false --data " + folder.file("nowhere"), folder.file("nowhere")},
  };
  for (const auto& row : rows) expect_complaint("study --quiet", row.arguments, row.message);
}

}  // namespace
}  // namespace softamp::test
