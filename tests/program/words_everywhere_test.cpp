// One list of names (src/names/name_rows.h): every verb that takes a format, a rounding, a chip or an accumulator
// takes each of its names, and gives what the first name gives.
#include "tests/program/outputs/outputs.h"
#include "tests/program/process.h"
#include "tests/slice.h"

#include "src/names/name_rows.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>

namespace softamp::test {
namespace {

using nlohmann::json;

const std::string kTwoLayers = SOFTAMP_SOURCE_DIR "/examples/graphs/two_dense_layers.json";

/// A command line with @ for the word, which the verb does without more input; `input` on standard input.
struct Use {
  std::string line;
  std::string input = {};
};

/// The same output for every name of a row as for the first; of the uses those of the slice.
template <class Row>
void expect_alike(Slice& slice, const Row& row, const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    if (!slice.takes()) continue;
    const auto run = [&](const std::string& word) {
      std::string line = use.line;
      for (size_t at; (at = line.find('@')) != std::string::npos;) line.replace(at, 1, word);
      const Outcome o = line[0] == '/' ? run_shell(line, use.input) : run_softamp(line, use.input);
      EXPECT_EQ(o.code, 0) << line << ": " << o.err;
      return o.out[0] == '{' && nlohmann::json::accept(o.out) ? without_provenance(o.out).dump() : o.out;
    };
    const std::vector<std::string> words = name_rows::words_of(row.names);
    const std::string first = run(words.front());
    for (size_t i = 1; i < words.size(); ++i) EXPECT_EQ(run(words[i]), first) << use.line << " with " << words[i];
    std::string loud = words.back();
    for (char& c : loud) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(run(loud), first) << use.line << " with " << loud;
  }
}

class WordsEverywhere : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    header.resize(117, ' ');
    const float values[] = {0.1f, -1.0f / 3, 1e-6f, 60000.5f};
    write_text(array(), std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
                            std::string(reinterpret_cast<const char*>(values), sizeof values));
    write_text(folder_.file("square.json"), R"({"softamp_graph": 1, "nodes": [
      {"name": "a", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [2, 2], "values": [3, 0.1, 0.7, 9]}}},
      {"name": "square", "op": "MatMul", "inputs": ["a", "a"]}]})");
  }
  /// softamp run of a graph with a product of halves.
  Use run(const std::string& options) const { return {"run " + folder_.file("square.json") + " " + options}; }
  std::string array() const { return folder_.file("x.npy"); }
  /// Of four numbers of 8 bits.
  static std::string random_header() {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }";
    header.resize(117, ' ');
    return header + "\n";
  }
  /// softamp round with these options, and its codes as the output.
  Use round(const std::string& options) const {
    return {"/bin/sh -c \"'" SOFTAMP_PROGRAM "' round " + array() + " " + folder_.file("y.npy") + " " + options +
            " 2> /dev/null && od -An -tx1 " + folder_.file("y.npy") + "\""};
  }
  TemporaryFolder folder_;
  Slice slice_{4};
};

TEST_F(WordsEverywhere, Formats) {
  for (const name_rows::FormatRow& row : name_rows::kFormats) {
    const bool computes = !(row.value == kBinary64), e4m3_has = row.value == kE4m3 || row.value == kE5m2;
    std::vector<Use> uses = {{"inspect 0.1 --format @"},
                             {"inspect 0.1 --format @ --json"},
                             {"inspect 0.1 --format @ --chip all"},
                             {"compute @_to_e3p3", "0\n"},
                             {"vectors e3p3_to_@ --count 5"}};
    if (computes) {
      uses.push_back({"sum --value 0.1 --count 3 --format @"});
      uses.push_back({"sum --values " + array() + " --format @"});
      uses.push_back({"compute @_add", "0 0\n"});
      uses.push_back({"compute i32_to_@", "3\n"});
      uses.push_back({"vectors @_mul --count 5"});
      uses.push_back({"chips --compare --format @"});
      uses.push_back({"chips p3109_rne --compare --input 0.1 --format @"});
      uses.push_back(round("--format @"));
    }
    if (row.value == kFp16 || row.value == kBf16 || e4m3_has)
      uses.push_back({"reproduce harmonic-series --brief --quiet --rounding nearest --format @"});
    expect_alike(slice_, row, uses);
  }
}

/// Dtypes of training and of graphs.
TEST_F(WordsEverywhere, DTypes) {
  const std::string tutorial = SOFTAMP_BINARY_DIR "/examples/tutorial/";
  for (const name_rows::FormatRow& row : name_rows::kFormats) {
    if (!row.dtype) continue;
    const DType t = *row.dtype;
    const bool low = t == DType::kFloat16 || t == DType::kBFloat16;
    std::vector<Use> uses = {{"train --set precision=@ --print-settings"}};
    if (low) {
      uses.push_back({"train --set precision=mixed_@ --print-settings"});
      uses.push_back({"rewrite " + kTwoLayers + " --tensorflow --dtype @"});
    }
    if (t != DType::kFloat64)
      for (const char* key : {"optimizer_state", "hyperparameters", "accumulation=2 --set accumulation_dtype"})
        uses.push_back({std::string("train --set precision=float16 --set ") + key + "=@ --print-settings"});
    if (t == DType::kFloat16 || t == DType::kFloat32) {
      uses.push_back({"train --set precision=float16 --set partials=@ --print-settings"});
      uses.push_back(run("--partials @"));
      if (std::filesystem::exists(tutorial + "stochastic_rounding")) {
        uses.push_back({tutorial + "stochastic_rounding @ 8 --print-settings"});
        if (t == DType::kFloat32)
          for (const char* program : {"float32_parameter_updates", "ipuestimator_fp16"}) {
            uses.push_back({tutorial + program + " @ --print-settings"});
            uses.push_back({tutorial + program + " mixed --loss-dtype @ --print-settings"});
          }
      }
    }
    expect_alike(slice_, row, uses);
  }
  // A study shows a case by our name, however it was asked for.
  for (const char* word : {"fp16", "half", "float16"}) {
    const Outcome o =
        run_softamp(std::string("study --set network=small_cnn --set generated=true --set train_images=32 ") +
                    "--set test_images=4 --set steps=1 --quiet --grid precision=" + word);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_NE(o.out.find("float16"), std::string::npos) << o.out;
  }
  for (const char* word : {"mixed_fp16", "mixed_half", "mixed"})
    EXPECT_EQ(json_of("train --set precision=" + std::string(word) + " --print-settings")["precision"], "mixed");
}

TEST_F(WordsEverywhere, Roundings) {
  for (const auto& row : name_rows::kModes) {
    const bool stochastic = row.value == RoundingMode::kStochastic;
    std::vector<Use> uses = {{"sum --value 0.1 --count 30 --rounding @"},
                             {"sum --values " + array() + " --rounding @"},
                             {"compute f16_add --rounding @", "3C00 1000\n3C01 1001\n"},
                             {"vectors f16_add --rounding @ --count 5"},
                             round("--format fp16 --rounding @")};
    if (!stochastic && row.value != RoundingMode::kUp)
      uses.push_back({"reproduce harmonic-series --brief --quiet --format e4m3 --rounding @"});
    expect_alike(slice_, row, uses);
  }
  for (const auto& row : name_rows::kVariants)
    expect_alike(slice_, row,
                 {{"sum --value 0.1 --count 30 --rounding stochastic --variant @"},
                  {"compute f16_add --rounding stochastic --variant @", "3C00 1000\n"},
                  {"vectors f16_add --rounding stochastic --variant @ --count 5"},
                  run("--behaviour esr --variant @"),
                  round("--format fp16 --rounding stochastic --variant @")});
  for (const auto& row : name_rows::kOverflows)
    expect_alike(slice_, row,
                 {{"inspect 70000 --overflow @"},
                  {"sum --value 60000 --count 2 --overflow @"},
                  {"compute f16_add --overflow @", "7BFF 7BFF\n"},
                  {"vectors f16_add --overflow @ --count 5"},
                  round("--format e4m3 --overflow @")});
  for (const auto& row : name_rows::kTininess)
    expect_alike(slice_, row,
                 {{"compute f16_mul --tininess @", "0001 3800\n"}, {"vectors f16_mul --tininess @ --count 5"}});
}

TEST_F(WordsEverywhere, ChipsAndAccumulators) {
  for (const auto& row : name_rows::kChips) {
    const std::string format = row.value == Chip::kAmdCdna3        ? "f143"
                               : row.value == Chip::kTenstorrentWh ? "tf32"
                                                                   : "fp16";
    expect_alike(slice_, row,
                 {{"chips @"},
                  {"chips @ --compare --format " + format},
                  {"inspect 0.1 --chip @ --format " + format},
                  {"compute " + format + "_add --chip @", "0 0\n"},
                  {"vectors " + format + "_add --chip @ --count 5"},
                  round("--format " + format + " --chip @")});
  }
  for (const auto& row : name_rows::kAccumulators) expect_alike(slice_, row, {run("--accumulator @")});
}

/// A judge that knows no list: it tries the words that completions offer in other spellings, at every option of every
/// verb.
TEST(Words, OfEveryOptionAreReadWithoutRegardToCase) {
  if (!kOutputsAreCompared ||
      std::system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2> /dev/null") != 0)
    GTEST_SKIP() << "needs python3, of version 3.9 or later, and no sanitizer";
  const Outcome o = run_shell("python3 -B '" SOFTAMP_SOURCE_DIR "/tests/program/words/words.py' '" SOFTAMP_PROGRAM "'");
  EXPECT_EQ(o.code, 0) << o.out << o.err;
}

/// The old name of an option does what the new one does, and says so.
TEST_F(WordsEverywhere, AnOldNameOfAnOptionIsSaid) {
  write_text(folder_.file("r.npy"), std::string("\x93NUMPY\x01\x00\x76\x00", 10) + random_header() + std::string(4, 7));
  const std::string rest =
      "round " + array() + " " + folder_.file("y.npy") + " --format fp16 --rounding stochastic --bits 8 --json ";
  const Outcome now = run_softamp(rest + "--random-words " + folder_.file("r.npy"));
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_EQ(now.err, "");
  for (const char* old : {"--random-bits ", "--random-bits="}) {
    const Outcome o = run_softamp(rest + old + folder_.file("r.npy"));
    EXPECT_EQ(json_of(o), json_of(now)) << old;
    EXPECT_EQ(o.err,
              "softamp round: --random-bits is called --random-words; the old name goes with the next version\n");
  }
  EXPECT_NE(run_softamp("inspect 0.1 --random-bits x").err.find("unknown option '--random-bits'"), std::string::npos);
}

/// Helps and completions name every canonical word.
TEST_F(WordsEverywhere, HelpsAndCompletionsSayTheSame) {
  const std::string bash = run_softamp("completions bash").out;
  const auto expect_words = [&](const auto& rows, const std::string& option, const std::vector<std::string>& verbs) {
    for (const std::string& verb : verbs) {
      const std::string help = run_softamp(verb + " --help").out;
      const size_t at = help.find(option);
      ASSERT_NE(at, std::string::npos) << verb;
      const std::string text = help.substr(at, 400);
      for (const auto& row : rows) {
        const std::string word(row.names.front());
        EXPECT_NE(text.find(word), std::string::npos) << verb << " " << option << " " << word;
        EXPECT_NE(bash.find(word), std::string::npos) << word;
      }
    }
  };
  expect_words(name_rows::kModes, "--rounding", {"sum", "round", "compute", "vectors", "reproduce"});
  expect_words(name_rows::kVariants, "--variant", {"sum", "round", "compute", "vectors", "run"});
  expect_words(name_rows::kOverflows, "--overflow", {"sum", "round", "compute", "vectors", "inspect"});
  expect_words(name_rows::kTininess, "--tininess", {"compute", "vectors"});
}

TEST_F(WordsEverywhere, UnknownWordsAreNamedWithTheNearest) {
  for (const char* line : {"inspect 0.1 --format flaot16", "sum --value 1 --count 2 --format flaot16"})
    EXPECT_NE(run_softamp(line).err.find("unknown format 'flaot16'; nearest: float16"), std::string::npos) << line;
  EXPECT_NE(run_softamp("run " + kTwoLayers + " --accumulator tensorcore_hoper")
                .err.find("unknown accumulator 'tensorcore_hoper'; nearest: tensorcore_hopper"),
            std::string::npos);
  EXPECT_NE(run_softamp("inspect 0.1 --chip b20").err.find("unknown chip 'b20'; nearest: b200"), std::string::npos);
  EXPECT_NE(run_softamp("inspect 0.1 --chip tpu").err.find("no preset for chip 'tpu'"), std::string::npos);
}

}  // namespace
}  // namespace softamp::test
