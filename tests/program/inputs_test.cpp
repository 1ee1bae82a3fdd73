// Texts that come from anywhere, through each verb that reads them: nested deep, too long, folders, pipes, and files of
// a newer version. Each is refused in our words, with exit code 2, or works.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/program/process.h"

namespace softamp::test {
namespace {

const std::string kGraph = "'" SOFTAMP_SOURCE_DIR "/examples/graphs/dense.json' ";

class Inputs : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  /// The words of a refusal after the verb's name, @ for the folder. {}: the input.
  std::string refusal(std::string line, const std::string& input) const {
    const std::string verb = line.substr(0, line.find(' '));
    line.replace(line.find("{}"), 2, "'" + input + "'");
    return complaint_of(verb, run_softamp(line), folder_, line);
  }

  /// Every verb that reads JSON, with the place of a file in its line.
  const std::vector<std::string> kJsonReaders = {"run {}",
                                                 "run " + kGraph + "--config {}",
                                                 "rewrite {} --tensorflow",
                                                 "rewrite " + kGraph + "--recipe {}",
                                                 "compare {} {}",
                                                 "train {}",
                                                 "study {}"};
  const TemporaryFolder folder_;
};

TEST_F(Inputs, JsonNestedDeepIsRefusedByEveryVerb) {
  const std::string open(500000, '[');
  write_text(file("deep.json"), open);
  write_text(file("closed.json"), "{\"settings\": " + open + std::string(500000, ']') + "}");
  std::string objects;
  for (int i = 0; i < 80000; ++i) objects += "{\"settings\":";
  write_text(file("objects.json"), objects);
  for (const char* name : {"deep.json", "closed.json", "objects.json"})
    for (std::string line : kJsonReaders) {
      if (const size_t second = line.find("{} {}"); second != std::string::npos)
        line.replace(second, 5, "{} " + file(name));
      const std::string refused = refusal(line, file(name));
      EXPECT_TRUE(contains(refused, "nested deeper than ")) << line << ": " << refused;
      EXPECT_TRUE(contains(refused, std::string("@") + name)) << line << ": " << refused;
      EXPECT_TRUE(contains(refused, "line 1, column ")) << line << ": " << refused;
    }
}

TEST_F(Inputs, DeepJsonInALogThatIsContinued) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const std::string quick =
      "train --quiet --set generated=true --set train_images=64 --set batch_size=32 --set steps=1 ";
  ASSERT_EQ(run_softamp(quick + "--checkpoint " + file("c.npz")).code, 0);
  write_text(file("log"), "{\"softamp_log\":1,\"settings\":" + deep + "}\n");
  EXPECT_TRUE(contains(
      complaint_of("train", run_softamp(quick + "--resume " + file("c.npz") + " --log " + file("log")), folder_, "log"),
      "@log: line 1: expected the start of a log"));
}

TEST_F(Inputs, AFolderIsNamedByEveryVerb) {
  std::filesystem::create_directory(file("folder.pb"));
  for (const auto& [line, expected] : std::vector<std::pair<std::string, std::string>>{
           {"registers {}", "a script, or - for standard input"},
           {"run {}", "a GraphDef"},
           {"run " + kGraph + "--config {}", "a JSON file of IpuConfig attributes"},
           {"rewrite {} --tensorflow", "a GraphDef"},
           {"rewrite " + kGraph + "--recipe {}", "a recipe, a JSON file"},
           {"compare {} " + file("folder.pb"), "a trace"},
           {"train {}", "a JSON file of training settings"},
           {"study {}", "a JSON file that describes a study"},
           {"train --quiet --set generated=true --resume {}",
            "a regular file; expected a checkpoint that softamp wrote"}})
    EXPECT_TRUE(contains(refusal(line, file("folder.pb")), "@folder.pb: is a folder; expected " + expected))
        << line << ": " << refusal(line, file("folder.pb"));
  const Outcome o = run_shell("'" SOFTAMP_PROGRAM "' registers - < '" + folder_.path().string() + "'");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "softamp registers: standard input: is a folder; expected a script\n");
}

TEST_F(Inputs, ClosedStandardInputIsNotTheDemonstration) {
  for (const char* arguments : {"registers - <&-", "registers <&-"}) {
    const Outcome o = run_softamp(arguments);
    EXPECT_EQ(o.code, 2) << arguments;
    EXPECT_EQ(o.out, "") << arguments;
    EXPECT_EQ(o.err, "softamp registers: standard input: is closed; expected a script\n") << arguments;
  }
}

TEST_F(Inputs, ATextOutOfAPipeIsRead) {
  const std::string program = "'" SOFTAMP_PROGRAM "' ";
  const auto from = [&](const std::string& text, const std::string& before, const std::string& after = "") {
    EXPECT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    write_text(file("text"), text);
    const Outcome o = run_shell("timeout 10 cat " + file("text") + " > " + file("pipe") + " & " + program + before +
                                file("pipe") + after + "; code=$?; wait; exit $code");
    std::filesystem::remove(file("pipe"));
    return o;
  };
  const std::string graph = read_text(SOFTAMP_SOURCE_DIR "/examples/graphs/dense.json");
  EXPECT_EQ(from(graph, "run ", " --print text").out, run_softamp("run " + kGraph + "--print text").out);
  EXPECT_TRUE(contains(from("{\"norms\": {}}", "run --quiet " + kGraph + "--config ").err, "'x' has no feed"))
      << "what comes after the configuration";
  EXPECT_EQ(from("add 1 1\n", "registers ").out, "add 1 1\n  0x4000 (2)\n");
  EXPECT_EQ(from("{\"epochs\": 7}", "train --print-settings ").code, 0);
  EXPECT_TRUE(contains(from("{\"epochs\": 7}", "train --print-settings ").out, "\"epochs\": 7"));
}

TEST_F(Inputs, APipeThatIsNotReadFrontToBackOnceIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(file("p").c_str(), 0600), 0);  // nobody writes: to wait for it would be for ever
  EXPECT_TRUE(contains(refusal("rewrite " + kGraph + "--recipe {}", file("p")),
                       "@p: is a pipe; expected a regular file: a recipe is read more than once"));
  EXPECT_EQ(refusal("round {} " + file("y.npy") + " --format fp16", file("p")),
            "@p: is a pipe; expected a regular file, a .npy file\n");
  EXPECT_TRUE(contains(refusal("train --quiet --set generated=true --resume {}", file("p")),
                       "@p: is a pipe; expected a regular file; expected a checkpoint"));
}

TEST_F(Inputs, WhatIsTooLongIsRefusedByItsSize) {
  const auto sized = [&](const std::string& name, uint64_t bytes) {
    write_text(file(name), "");
    std::filesystem::resize_file(file(name), bytes);
    return file(name);
  };
  EXPECT_EQ(refusal("rewrite {} --tensorflow", sized("g.pb", 2200000000u)),
            "@g.pb: 2200000000 bytes; expected at most 2147483647\n");
  EXPECT_EQ(refusal("run {}", sized("g.json", (uint64_t{1} << 32) + 1)),
            "@g.json: 4294967297 bytes; expected at most 4294967296\n");
  for (const char* line : {"train {}", "study {}"})
    EXPECT_EQ(refusal(line, sized("s.json", (4u << 20) + 1)), "@s.json: 4194305 bytes; expected at most 4194304\n");
  EXPECT_EQ(refusal("run " + kGraph + "--config {}", sized("c.json", (4u << 20) + 1)),
            "@c.json: 4194305 bytes; expected at most 4194304\n");
  EXPECT_EQ(refusal("registers {}", sized("script", (1u << 24) + 1)),
            "@script: 16777217 bytes; expected at most 16777216\n");
  EXPECT_EQ(refusal("compare {} " + kGraph, sized("trace", (1u << 20) + 1)),
            "@trace: line 1 is longer than 1048576 bytes; expected a trace\n");
}

// Just inside: as many bytes as there may be, most of them blanks.
TEST_F(Inputs, WhatIsAsLongAsItMayBeWorks) {
  const auto padded = [&](const std::string& name, std::string text, size_t bytes) {
    write_text(file(name), text.append(bytes - text.size(), ' '));
    return "'" + file(name) + "' ";
  };
  const size_t written = 4u << 20;
  EXPECT_EQ(run_softamp("train --print-settings " + padded("s.json", "{\"epochs\": 7}", written)).code, 0);
  EXPECT_TRUE(contains(run_softamp("run --quiet " + kGraph + "--config " + padded("c.json", "{}", written)).err,
                       "'x' has no feed"));
  EXPECT_EQ(run_softamp("rewrite " + kGraph + "--recipe " + padded("r.json", "{\"allowlist\": []}", written)).code, 0);
  EXPECT_TRUE(
      contains(run_softamp("study " + padded("study.json", "{\"seeds\": 0}", written)).err, "seeds: 0: expected"));
  EXPECT_EQ(run_softamp("registers " + padded("script", "add 1 1\n", 1u << 24)).out, "add 1 1\n  0x4000 (2)\n");
  const std::string head = R"({"softamp_trace":1,"arithmetic":1,"settings":{}})";
  const std::string trace = padded("trace", head, 1u << 20);
  EXPECT_EQ(run_softamp("compare " + trace + trace).code, 0);
}

}  // namespace
}  // namespace softamp::test
