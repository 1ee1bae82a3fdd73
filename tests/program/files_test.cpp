// What a verb reads is not written over, two outputs are not one file, devices are written to, and what cannot be
// written is told with the reason, before the work where that can be.
#include "tests/program/process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "softamp/data/npy.h"
#include "src/files/output_file.h"

namespace softamp::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* const kGraphWithArray = R"({"softamp_graph": 1, "nodes": [
  {"name": "x", "op": "Placeholder", "attributes": {"dtype": "float32", "shape": [2]}},
  {"name": "w", "op": "Const", "attributes": {"value": {"dtype": "float32", "shape": [2], "npy": "w.npy"}}},
  {"name": "y", "op": "AddV2", "inputs": ["x", "w"]}], "outputs": ["y"]})";
const std::string kSumToPlot = "sum --value 0.0001 --count 10 ";
const std::string kTrainingOfFiles =
    "--set generated=true --set train_images=16 --set test_images=8 --set batch_size=8 --set epochs=1 ";

class Files : public ::testing::Test {
 protected:
  Files() {
    write_text(file("g.json"), kGraphWithArray);
    for (const char* name : {"x.npy", "w.npy"}) {
      npy::Writer writer(file(name), npy::ElementType::kFloat32, std::vector<uint64_t>{2});
      const float values[] = {1, 2};
      writer.write(values, 2);
      writer.commit();
    }
    write_text(file("config.json"), "{}");
    write_text(file("recipe.json"), R"({"allowlist": ["MatMul"]})");
    write_text(file("settings.json"), R"({"generated": true, "steps": 1})");
    write_text(file("study.json"), R"({"settings": {"generated": true, "train_images": 16, "test_images": 8,
      "batch_size": 8, "epochs": 1}, "grid": {"shuffle": [true]}})");
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string with_folder(std::string text) const {
    for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, folder_.path().string() + "/");
    return text;
  }
  Outcome softamp(const std::string& arguments) const { return run_softamp(with_folder(arguments)); }
  Outcome shell(const std::string& line) const { return run_shell(with_folder(line)); }
  /// The usage error of these arguments without the name of the verb; all files are as they were.
  std::string refused(const std::string& arguments) const {
    const auto before = contents();
    const std::string verb = arguments.substr(0, arguments.find(' '));
    const std::string said = complaint_of(verb, softamp(arguments), folder_, arguments);
    EXPECT_EQ(contents(), before) << arguments;
    return said.substr(0, said.find('\n'));
  }
  /// These arguments are refused because `name`, which `option` would write, is `what` already.
  void taken(const std::string& arguments, const std::string& option, const std::string& name,
             const std::string& what) const {
    EXPECT_EQ(refused(arguments), option + ": '@" + name + "' is " + what + "; expected another file");
  }
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      all[entry.path().string()] = entry.is_regular_file() ? read_text(entry.path().string()) : "";
    return all;
  }
  TemporaryFolder folder_;
};

const std::string kRunOfFiles = "run @g.json --feed x=@x.npy --config @config.json --quiet ";

TEST_F(Files, OfARun) {
  fs::create_symlink("g.json", file("link.json"));
  fs::create_hard_link(file("x.npy"), file("hard.npy"));
  for (const std::string name : {"g.json", "./g.json", "link.json"})
    taken(kRunOfFiles + "--trace @" + name, "--trace", name, "the graph that is read");
  for (const std::string name : {"x.npy", "hard.npy"})
    taken(kRunOfFiles + "--trace @" + name, "--trace", name, "the file of --feed x");
  taken(kRunOfFiles + "--trace @config.json", "--trace", "config.json", "the file of --config");
  taken(kRunOfFiles + "--trace @w.npy", "--trace", "w.npy", "an array of the graph");
  taken(kRunOfFiles + "--fetch x --out @", "--out", "x.npy", "the file of --feed x");
  taken(kRunOfFiles + "--fetch w --out @", "--out", "w.npy", "an array of the graph");
  taken(kRunOfFiles + "--fetch y --out @ --trace @y.npy", "--out", "y.npy", "the file of --trace");
  EXPECT_EQ(refused(kRunOfFiles + "--trace @"), "--trace: '@' is a folder; expected the name of a file");
  EXPECT_EQ(softamp(kRunOfFiles + "--fetch y --out @ --trace @t").code, 0);
  EXPECT_TRUE(fs::exists(file("y.npy")));
}

TEST_F(Files, OfARewrite) {
  const std::string rewrite = "rewrite @g.json --quiet --recipe @recipe.json ";
  taken(rewrite + "--output-report @w.npy", "--output-report", "w.npy", "an array of the graph");
  taken(rewrite + "-o @recipe.json", "--out", "recipe.json", "the recipe that is read");
  EXPECT_EQ(refused(rewrite + "-o @new.json --output-report @none/r"),
            "--output-report: '@none/r' cannot be written: No such file or directory");
}

TEST_F(Files, OfARounding) {
  npy::Writer(file("bits.npy"), npy::ElementType::kUint32, std::vector<uint64_t>{0}).commit();
  taken("round @x.npy @bits.npy --format fp16 --rounding stochastic --random-words @bits.npy", "OUT", "bits.npy",
        "the file of --random-words");
}

TEST_F(Files, OfATraining) {
  fs::create_directory(file("data"));
  const std::vector<std::string> images = {"data/train_images.npy", "data/mnist/train-labels-idx1-ubyte.gz",
                                           "data/test_batch.bin", "data/x.npy"};
  fs::create_directory(file("data/mnist"));
  for (const std::string& name : images) write_text(file(name), "precious");
  for (const std::string& name : images)
    for (const char* option : {"--log", "--checkpoint"})
      taken("train --quiet --data @data " + std::string(option) + " @" + name, option, name,
            "one of the files of data that are read");
  fs::create_symlink("data/train_images.npy", file("p.svg"));
  taken("train --quiet --data @data --plot @p.svg", "--plot", "p.svg", "one of the files of data that are read");
  taken("train @settings.json --quiet --recipe @recipe.json --checkpoint @recipe.json", "--checkpoint", "recipe.json",
        "the recipe that is read");
  write_text(file("net.json"), R"({"softamp_network": 1, "input": {"kind": "features", "shape": [2]},
    "output": {"kind": "values", "shape": [2]}, "layers": []})");
  write_text(file("data.npz"), "precious");
  for (const char* option : {"--log", "--checkpoint", "--write-initial", "--csv"})
    taken("train --quiet --data @data.npz --network @net.json " + std::string(option) + " @net.json", option,
          "net.json", "the network's file");
  taken("train --quiet --data @data.npz --network @net.json --log @data.npz", "--log", "data.npz",
        "one of the files of data that are read");
  taken("study --quiet --data @data.npz --set network=@net.json --grid precision=float32,mixed --csv @net.json",
        "--csv", "net.json", "the network's file");
  // Another file in the folder of images is as good as any, also when it is there already.
  write_text(file("data/other"), "");
  EXPECT_EQ(refused("train --quiet --data @data --log @data/other --plot @none/p.svg"),
            "'@none/p.svg' cannot be written: No such file or directory");
}

TEST_F(Files, OfAStudy) {
  const std::string study = "study @study.json --quiet ";
  taken(study + "--csv @study.json", "--csv", "study.json", "the study that is read");
  taken(study + "--csv @recipe.json --mechanisms none,recipe=@recipe.json", "--csv", "recipe.json",
        "the recipe that is read");
  taken(study + "--csv @a.svg --plot @a.svg", "--plot", "a.svg", "the file of --csv");
  taken(study + "--plot @a.svg --plot @./a.svg", "--plot", "./a.svg", "the file of --plot");
  taken(study + "--csv @a.html --report @a.html", "--report", "a.html", "the file of --csv");
  EXPECT_EQ(refused(study + "--report @a.pdf"), "--report: '@a.pdf': expected a file name that ends in .html");
  EXPECT_EQ(refused(study + "--report @none/a.html"),
            "--report: '@none/a.html' cannot be written: No such file or directory");
  const std::string kept = "kept/0123456789abcdef0123456789abcdef.json";
  taken(study + "--out @kept --csv @" + kept, "--csv", kept, "one of the files of --out");
  const std::string claim = "kept/0123456789abcdef0123456789abcdef.claim.3";
  taken(study + "--out @kept --csv @" + claim, "--csv", claim, "one of the files of --out");
  // Found out before anything is trained.
  EXPECT_EQ(refused(study + "--csv @none/t.csv"), "--csv: '@none/t.csv' cannot be written: No such file or directory");
  EXPECT_EQ(refused(study + "--csv @settings.json/t.csv"),
            "--csv: '@settings.json/t.csv' cannot be written: Not a directory");
}

TEST_F(Files, OfExperiments) {
  taken("reproduce all --brief --quiet --out @page --markdown @page/index.html", "--markdown", "page/index.html",
        "the file of --out");
  taken("reproduce all --brief --quiet --out @page --markdown @page/tutorial-lines.json", "--markdown",
        "page/tutorial-lines.json", "the file of --out");
  for (const std::string name : {"tutorial-lines-lines.csv", "harmonic-series-sums.svg", "harmonic-series-sums.png"})
    taken("reproduce all --brief --quiet --out @page --markdown @page/" + name, "--markdown", "page/" + name,
          "one of the files of --out");
}

TEST_F(Files, OfASum) { taken(kSumToPlot + "--plot @a.svg --plot @a.svg", "--plot", "a.svg", "the file of --plot"); }

TEST_F(Files, ADeviceStaysOne) {
  // A device of one's own, where one may make it; else a link to one.
  const std::string null = file("null");
  if (::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) fs::create_symlink("/dev/null", null);
  for (const std::string& arguments :
       {kRunOfFiles + "--trace @null", std::string("study @study.json --quiet --seeds 1 --csv @null")}) {
    EXPECT_EQ(softamp(arguments).code, 0) << arguments;
    EXPECT_TRUE(fs::is_character_file(null)) << arguments;
  }
}

TEST_F(Files, StandardOutputByItsName) {
  for (const char* name : {"/dev/stdout", "/dev/fd/1"}) {
    const Outcome o = softamp(kRunOfFiles + "--fetch y --out @o --trace " + name);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.out.find(R"({"softamp_trace":1,)"), 0u) << o.out;
    EXPECT_NE(o.out.find(R"("tensor":"y")"), std::string::npos) << o.out;
  }
  const Outcome o = shell("'" SOFTAMP_PROGRAM "' " + kRunOfFiles + "--trace @t > @t");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(folder_.without(o.err),
            "softamp run: --trace: 't' is standard output; expected another file, or /dev/stdout\n");
}

TEST_F(Files, ModesAndLinksAreKept) {
  write_text(file("t"), "old");
  fs::permissions(file("t"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("t", file("link"));
  ASSERT_EQ(softamp(kRunOfFiles + "--trace @link").code, 0);
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(fs::status(file("t")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(read_text(file("t")).find(R"({"softamp_trace":1,)"), 0u);
}

TEST_F(Files, TwoRunsDoNotWriteOneFile) {
  const files::FileLock held(file("t"));
  EXPECT_NE(refused(kRunOfFiles + "--trace @t").find("--trace: '@t' is being written by process "), std::string::npos);
  const files::FileLock table(file("t.csv"));
  EXPECT_NE(refused("study @study.json --quiet --csv @t.csv").find("--csv: '@t.csv' is being written by process "),
            std::string::npos);
  const files::FileLock array(file("out.npy"));
  EXPECT_NE(refused("round @x.npy @out.npy --format fp16").find("'@out.npy' is being written by process "),
            std::string::npos);
}

/// So that no file may grow beyond a few bytes.
std::string on_a_full_disk(int blocks, const std::string& arguments) {
  return "trap '' XFSZ; ulimit -f " + std::to_string(blocks) + "; '" SOFTAMP_PROGRAM "' " + arguments;
}

TEST_F(Files, ATraceOnAFullDiskIsLostAndTheResultsCome) {
  write_text(file("t"), "old");
  const Outcome o = shell(on_a_full_disk(1, kRunOfFiles + "--fetch y --steps 100 --trace @t"));
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "y: float32 [2] [2, 4]\n");
  EXPECT_EQ(folder_.without(o.err),
            "softamp run: --trace: 't' cannot be written: File too large; the run goes on without a trace\n");
  EXPECT_EQ(read_text(file("t")), "old");
  EXPECT_FALSE(fs::exists(file(".t.part")));
}

TEST_F(Files, ASumIsPrintedThoughItsPlotIsNot) {
  const std::string usual = softamp(kSumToPlot).out;
  for (const char* name : {"a.png", "a.svg"}) {
    const Outcome o = shell(on_a_full_disk(4, kSumToPlot + "--plot @" + name));
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.out, usual);
    EXPECT_EQ(folder_.without(o.err), "softamp sum: '" + std::string(name) + "' cannot be written: File too large\n");
    EXPECT_FALSE(fs::exists(file(name)));
  }
}

TEST_F(Files, ATableOnAFullDiskLeavesTheOldOne) {
  write_text(file("t.csv"), "old");
  const Outcome o =
      shell("( " + on_a_full_disk(0, "study @study.json --quiet --seeds 1 --csv @t.csv 2>&1") + " ) | cat");
  EXPECT_NE(o.out.find("shuffle"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("t.csv' cannot be written: File too large"), std::string::npos) << o.out;
  EXPECT_EQ(read_text(file("t.csv")), "old");
  EXPECT_FALSE(fs::exists(file(".t.csv.part")));
}

TEST_F(Files, ARoundingOnAFullDiskLeavesTheOldArray) {
  npy::Writer writer(file("many.npy"), npy::ElementType::kFloat32, std::vector<uint64_t>{5000});
  writer.write(std::vector<float>(5000).data(), 5000);
  writer.commit();
  write_text(file("out.npy"), "old");
  const Outcome o = shell(on_a_full_disk(4, "round @many.npy @out.npy --format fp16"));
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(folder_.without(o.err), "softamp round: 'out.npy' cannot be written: File too large\n");
  EXPECT_EQ(read_text(file("out.npy")), "old");
  EXPECT_FALSE(fs::exists(file(".out.npy.part")));
}

// ---- descriptors that are closed

TEST_F(Files, NoFileGetsWhatIsPrinted) {
  const Outcome o = shell("'" SOFTAMP_PROGRAM "' " + kRunOfFiles + "--fetch y --trace @t >&-");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "softamp run: cannot write to standard output: Bad file descriptor\n");
  ASSERT_EQ(softamp(kRunOfFiles + "--fetch y --trace @u").code, 0);
  EXPECT_EQ(read_text(file("t")), read_text(file("u")));
  // With the settings that go to standard error.
  const Outcome quiet =
      shell("'" SOFTAMP_PROGRAM "' run @g.json --feed x=@x.npy --config @config.json --trace @v 2>&-");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(read_text(file("v")), read_text(file("u")));
  EXPECT_EQ(shell("'" SOFTAMP_PROGRAM "' " + kRunOfFiles + "--fetch y --trace @w <&- >&- 2>&-").code, 2);
  EXPECT_EQ(read_text(file("w")), read_text(file("u")));
  EXPECT_EQ(shell("'" SOFTAMP_PROGRAM "' " + kRunOfFiles + "--fetch y --out @o --trace @z <&-").code, 0);
}

TEST_F(Files, OfATrainingWithoutStandardOutputTheLogIsItsOwn) {
  const Outcome o = shell("'" SOFTAMP_PROGRAM "' train " + kTrainingOfFiles + "--log @log >&-");
  EXPECT_EQ(o.code, 2);
  const std::string log = read_text(file("log"));
  EXPECT_EQ(log.find("Average loss"), std::string::npos) << log;
  EXPECT_EQ(log.find("{\"softamp_log\":1"), 0u) << log;
}

// ---- names that are no names

TEST_F(Files, ANameIsNoCommand) {
  const Outcome o =
      shell("cd @ && '" SOFTAMP_PROGRAM "' " + kSumToPlot + "--plot \"$(printf 'a\\n!touch made\\nb.svg')\"");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_FALSE(fs::exists(file("made")));
  EXPECT_TRUE(fs::exists(file("a\n!touch made\nb.svg")));
}

TEST_F(Files, ATerminalObeysNothingOfAMessage) {
  const Outcome o = shell("'" SOFTAMP_PROGRAM "' compare \"$(printf '@a\\033[2Jb')\" @c");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err.find('\033'), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("a\\x1b[2Jb"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace softamp::test
