// What cannot fit into memory is refused before it begins; what may fit is tried (docs/RESOURCES.md).
#include "tests/program/memory_limit.h"

#include <gtest/gtest.h>

#include <string>

#include "softamp/data/npy.h"

namespace softamp::test {
namespace {

class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kMemoryCanBeLimited) GTEST_SKIP() << "a sanitizer reserves more memory than any limit";
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  TemporaryFolder folder_;
};

/// Two tensors that live at once, of so many MB each.
std::string two_tensors(int megabytes) {
  const std::string shape = "[" + std::to_string(megabytes) + ",250000]";
  return R"({"softamp_graph": 1, "nodes": [{"name": "a", "op": "Fill", "attributes": {"dtype": "float32", "shape": )" +
         shape + R"(, "value": 1}}, {"name": "b", "op": "Exp", "inputs": ["a"]}, {"name": "c", "op": "AddV2", )" +
         R"("inputs": ["a", "b"]}, {"name": "s", "op": "Sum", "inputs": ["c"]}]})";
}

TEST_F(Memory, OfAGraphOnThisMachineAlone) {
  const auto run = [&](int megabytes) {
    write_text(file("g.json"), two_tensors(megabytes));
    return run_softamp_within(600, "run " + file("g.json") + " --fetch s --memory-per-tile 0 --quiet --threads 1");
  };
  EXPECT_EQ(run(20).code, 0) << "it has room";
  const Outcome o = run(2000);
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_NE(o.err.find("this process gets at most 629145600 bytes (ulimit -v); expected smaller tensors: the program "
                       "needs "),
            std::string::npos)
      << o.err;
  EXPECT_NE(o.err.find(" bytes  a\n"), std::string::npos) << "the largest by name: " << o.err;
}

const std::string kTrainingOfMemory =
    "train --quiet --set generated=true --set train_images=256 --set test_images=8 --set batch_size=64 --set epochs=1 "
    "--set steps=1 --set evaluate=false --threads 1 ";

TEST_F(Memory, OfReplicas) {
  EXPECT_EQ(run_softamp_within(1500, kTrainingOfMemory + "--set replicas=2").code, 0);
  const Outcome o = run_softamp_within(
      700,
      "train --quiet --set generated=true --set train_images=16384 --set test_images=8 --set batch_size=64 --set "
      "replicas=256 --set epochs=1 --threads 1 --log " +
          file("log"));
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("settings: 'replicas' 256 x (parameters "), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("this process gets at most 734003200 bytes (ulimit -v); expected a smaller 'batch_size', or "
                       "fewer replicas"),
            std::string::npos)
      << o.err;
  EXPECT_EQ(read_text(file("log")), "") << "nothing has begun";
}

TEST_F(Memory, OfAScriptsDocument) {
  std::string script;
  for (int i = 0; i < 2000000; ++i) script += "print\n";
  write_text(file("long"), script);
  const Outcome o = run_softamp_within(400, "registers --json " + file("long"));
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_NE(o.err.find("--json: " + file("long") +
                       " has 2000000 commands, which need 512000000 bytes at least, and this process gets at most "
                       "419430400 bytes (ulimit -v); expected a shorter script, or no --json"),
            std::string::npos)
      << o.err;
  write_text(file("short"), "# nothing\n\n" + script.substr(0, 600));
  EXPECT_EQ(run_softamp_within(400, "registers --json " + file("short")).code, 0);
}

TEST_F(Memory, OfAGraphsFile) {
  for (const std::string& verb : {std::string("run "), "rewrite --tensorflow -o " + file("none.json") + " "}) {
    write_text(file("g.json"), "{");
    std::filesystem::resize_file(file("g.json"), uint64_t{500} << 20);  // no place on the disk
    const Outcome o = run_softamp_within(400, verb + file("g.json"));
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(
        o.err.find(file("g.json") + ": 524288000 bytes, and this process gets at most 419430400 bytes (ulimit -v); "
                                    "expected a smaller graph"),
        std::string::npos)
        << o.err;
    std::filesystem::resize_file(file("g.json"), uint64_t{1} << 20);
    EXPECT_EQ(run_softamp_within(400, verb + file("g.json")).err.find("this process gets"), std::string::npos);
  }
}

/// An array that has no place on the disk, but for its first and last bytes.
void save_sparse(const std::string& file, uint64_t elements, const std::string& last) {
  const std::string header = npy::make_header(npy::ElementType::kFloat16, std::vector<uint64_t>{elements});
  write_text(file, header);
  std::filesystem::resize_file(file, header.size() + 2 * elements - last.size());
  std::ofstream(file, std::ios::app | std::ios::binary) << last;
}

TEST_F(Memory, OfTwoArraysIsAFewPieces) {
  constexpr uint64_t kElements = uint64_t{1} << 29;  // 1 GiB each
  save_sparse(file("a.npy"), kElements, {});
  save_sparse(file("b.npy"), kElements, std::string("\0\x3c", 2));
  const Outcome o = run_softamp_within(400, "compare " + file("a.npy") + " " + file("b.npy"));
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_EQ(o.out, "1 of 536870912 elements differ, the first at [536870911]: 0x0000 (0) is 0x3c00 (1)\n");
}

}  // namespace
}  // namespace softamp::test
