// `softamp compare`: two traces, two arrays; equal, unlike, and neither.
#include "tests/program/process.h"

#include "softamp/numerics/version.h"
#include "softamp/tensor/tensor.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace softamp::test {
namespace {

using nlohmann::json;

const char* const kComparedGraph = R"({"softamp_graph": 1, "nodes": [
  {"name": "x", "op": "Fill", "attributes": {"dtype": "float16", "shape": [2, 64], "value": 1}},
  {"name": "little", "op": "Fill", "attributes": {"dtype": "float16", "shape": [2, 64], "value": 0.001}},
  {"name": "exact", "op": "AddV2", "inputs": ["x", "x"]},
  {"name": "scope/z", "op": "AddV2", "inputs": ["x", "little"]},
  {"name": "end", "op": "Neg", "inputs": ["scope/z"]}]})";

class CompareVerb : public ::testing::Test {
 protected:
  CompareVerb() { write_text(file("g.json"), kComparedGraph); }
  std::string file(const std::string& name) const { return folder_.file(name); }
  void trace(const std::string& name, const std::string& options) const {
    EXPECT_EQ(run_softamp("run " + file("g.json") + " --quiet --out " + file("o_" + name) + " --trace " + file(name) +
                          " " + options)
                  .code,
              0);
  }
  Outcome compare(const std::string& a, const std::string& b, const std::string& options = "") const {
    Outcome o = run_softamp("compare " + file(a) + " " + file(b) + " " + options);
    for (std::string* text : {&o.out, &o.err}) *text = folder_.without(*text);
    return o;
  }
  void save(const std::string& name, const Tensor& t) const { save_npy(t, file(name + ".npy")); }
  TemporaryFolder folder_;
};

Tensor halves(const Shape& shape, const std::vector<double>& values) {
  return Tensor::from_values(DType::kFloat16, shape, values);
}

TEST_F(CompareVerb, EqualTracesWhateverTheThreads) {
  trace("a", "--behaviour esr --steps 2");
  trace("b", "--behaviour esr --steps 2 --threads 1 --isa portable --reference");
  const Outcome o = compare("a", "b");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "10 tensors are equal\n");
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(without_provenance(compare("a", "b", "--json").out), (json{{"equal", true}, {"equal_tensors", 10}}));
}

TEST_F(CompareVerb, TheFirstTensorThatDiffersAndTheSettingsThatMadeIt) {
  trace("a", "--behaviour esr --seed 1");
  trace("b", "--behaviour esr --seed 2");
  const Outcome o = compare("a", "b");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out.find("first difference after 3 equal tensors: step 0, AddV2 'scope/z': hash \""), 0u) << o.out;
  EXPECT_EQ(o.err, "softamp compare: settings differ: seed: 1 is 2\n");
  const json d = without_provenance(compare("a", "b", "--json").out);
  EXPECT_EQ(d["equal"], false);
  EXPECT_EQ(d["equal_tensors"], 3);
  EXPECT_EQ(d["difference"]["line"], 5);
  EXPECT_EQ(d["difference"]["tensor"], "scope/z");
  EXPECT_EQ(d["difference"]["op"], "AddV2");
  EXPECT_EQ(d["difference"]["step"], 0);
}

TEST_F(CompareVerb, BackendsAreNoDifference) {
  trace("a", "--behaviour esr --seed 1");
  trace("b", "--behaviour esr --seed 2");
  const std::string emu = read_text(file("a")), other_seed = read_text(file("b"));
  const auto of_backend = [&](std::string text, const std::string& backend) {
    const std::string named = "\"backend\":\"emu\",";
    const size_t at = text.find(named);
    EXPECT_NE(at, std::string::npos) << text;
    return text.replace(at, named.size(), backend.empty() ? "" : "\"backend\":\"" + backend + "\",");
  };
  write_text(file("gpu"), of_backend(emu, "cuda"));
  const Outcome o = compare("a", "gpu");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "5 tensors are equal, emu and cuda\n");
  EXPECT_EQ(o.err, "") << "settings are equal";
  EXPECT_EQ(without_provenance(compare("gpu", "a", "--json").out),
            (json{{"equal", true}, {"equal_tensors", 5}, {"backends", {"cuda", "emu"}}}));
  write_text(file("gpu"), of_backend(other_seed, "cuda"));
  const Outcome differ = compare("a", "gpu");
  EXPECT_EQ(differ.code, 1);
  EXPECT_EQ(differ.out.find("first difference after 3 equal tensors: step 0, AddV2 'scope/z': hash \""), 0u);
  EXPECT_NE(differ.out.find(" (emu, cuda)\n"), std::string::npos) << differ.out;
  write_text(file("old"), of_backend(emu, ""));
  EXPECT_EQ(compare("a", "old").out, "5 tensors are equal\n") << "a trace from before there were two";
  write_text(file("odd"), "{\"softamp_trace\":1,\"arithmetic\":1,\"backend\":7,\"settings\":{}}\n");
  EXPECT_NE(compare("a", "odd").err.find("odd, line 1: expected \"backend\" to be a text"), std::string::npos);
}

TEST_F(CompareVerb, TwoVersionsOfTheArithmetic) {
  trace("now", "--behaviour esr --seed 1");
  trace("other", "--behaviour esr --seed 2");
  const std::string mine = "\"arithmetic\":" + std::to_string(kArithmeticVersion);
  const auto with = [&](const char* name, const std::string& version) {
    std::string text = read_text(file(name));
    const size_t at = text.find(mine);
    EXPECT_NE(at, std::string::npos) << text;
    return text.replace(at, mine.size(), version);
  };
  const std::string now = "now is of version " + std::to_string(kArithmeticVersion) + " of the arithmetic";
  const std::string meaning = "; results may differ only because of that\n";
  write_text(file("next"), with("now", "\"arithmetic\":99"));
  const Outcome o = compare("now", "next");
  EXPECT_EQ(o.code, 0) << "they are compared, and equal";
  EXPECT_EQ(o.out, "5 tensors are equal\n");
  EXPECT_EQ(o.err, "softamp compare: " + now + ", next is of version 99 of the arithmetic" + meaning);
  EXPECT_EQ(without_provenance(compare("next", "now", "--json").out),
            (json{{"equal", true}, {"equal_tensors", 5}, {"arithmetic", {99, kArithmeticVersion}}}));
  write_text(file("old"), with("other", "\"spec\":1"));
  const Outcome old = compare("old", "now");
  EXPECT_EQ(old.code, 1);
  EXPECT_EQ(old.err, "softamp compare: old was written before versions of the arithmetic were counted, " + now +
                         meaning + "softamp compare: settings differ: seed: 2 is 1\n");
  EXPECT_EQ(without_provenance(compare("old", "now", "--json").out)["arithmetic"], (json{nullptr, kArithmeticVersion}));
}

TEST_F(CompareVerb, AShorterTrace) {
  trace("a", "--steps 1");
  trace("b", "--steps 2");
  const Outcome o = compare("a", "b");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "first difference after 5 equal tensors: step 1, Fill 'x': is missing in a\n");
}

TEST_F(CompareVerb, Arrays) {
  save("a", halves({2, 2}, {1, 2, 3, 4}));
  save("same", halves({2, 2}, {1, 2, 3, 4}));
  save("other", halves({2, 2}, {1, 2, -0.0, 5}));
  EXPECT_EQ(compare("a.npy", "same.npy").out, "4 elements are equal\n");
  EXPECT_EQ(compare("a.npy", "same.npy").code, 0);
  const Outcome o = compare("a.npy", "other.npy");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "2 of 4 elements differ, the first at [1,0]: 0x4200 (3) is 0x8000 (-0)\n");
  const json d = without_provenance(compare("a.npy", "other.npy", "--json").out);
  EXPECT_EQ(d["different_elements"], 2);
  EXPECT_EQ(d["elements"], 4);
  EXPECT_EQ(d["difference"], (json{{"index", "[1,0]"}, {"a", "0x4200 (3)"}, {"b", "0x8000 (-0)"}}));
}

TEST_F(CompareVerb, ArraysBitForBit) {
  Tensor nan = halves({3}, {NAN, 0, 0}), other = nan.clone();
  other.as<uint16_t>()[0] ^= 1;
  save("nan", nan);
  save("other", other);
  EXPECT_EQ(compare("nan.npy", "nan.npy").code, 0) << "a NaN equals itself";
  EXPECT_EQ(compare("nan.npy", "other.npy").code, 1) << "and no other NaN";
  save("plus", halves({}, {0}));
  save("minus", halves({}, {-0.0}));
  EXPECT_EQ(compare("plus.npy", "minus.npy").out,
            "1 of 1 elements differ, the first at []: 0x0000 (0) is 0x8000 (-0)\n");
  save("empty", halves({0}, {}));
  EXPECT_EQ(compare("empty.npy", "empty.npy").out, "0 elements are equal\n");
  save("i", Tensor::from_values(DType::kInt32, {2}, std::vector<double>{1, -2147483648.0}));
  save("j", Tensor::from_values(DType::kInt32, {2}, std::vector<double>{1, -1}));
  EXPECT_EQ(compare("i.npy", "j.npy").out, "1 of 2 elements differ, the first at [1]: -2147483648 is -1\n");
}

TEST_F(CompareVerb, ArraysOfSeveralPieces) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  Tensor a = Tensor::full(DType::kInt32, {2, kPiece + 3}, 7), b = a.clone();
  const auto last = static_cast<size_t>(2 * (kPiece + 3) - 1);
  save("a", a);
  EXPECT_EQ(compare("a.npy", "a.npy").out, "2097158 elements are equal\n");
  b.as<int32_t>()[last] = 8;
  save("b", b);
  EXPECT_EQ(compare("a.npy", "b.npy").out, "1 of 2097158 elements differ, the first at [1,1048578]: 7 is 8\n");
  b.as<int32_t>()[static_cast<size_t>(kPiece)] = 9;
  save("b", b);
  EXPECT_EQ(compare("a.npy", "b.npy").out, "2 of 2097158 elements differ, the first at [0,1048576]: 7 is 9\n");
}

TEST_F(CompareVerb, ArraysOfOtherTypes) {
  save("a", halves({2}, {1, 2}));
  save("shape", halves({2, 1}, {1, 2}));
  save("dtype", Tensor::from_values(DType::kFloat32, {2}, std::vector<double>{1, 2}));
  EXPECT_EQ(compare("a.npy", "shape.npy").out, "a.npy is float16 [2], shape.npy is float16 [2,1]\n");
  EXPECT_EQ(compare("a.npy", "dtype.npy").code, 1);
  EXPECT_EQ(without_provenance(compare("a.npy", "dtype.npy", "--json").out)["difference"],
            (json{{"a", "float16 [2]"}, {"b", "float32 [2]"}}));
  save("b", Tensor::from_values(DType::kBFloat16, {1}, std::vector<double>{3}));
  save("c", Tensor::from_values(DType::kBFloat16, {1}, std::vector<double>{4}));
  EXPECT_EQ(compare("b.npy", "c.npy", "--bfloat16").out,
            "1 of 1 elements differ, the first at [0]: 0x4040 (3) is 0x4080 (4)\n");
  EXPECT_EQ(compare("b.npy", "c.npy").code, 2) << "'<u2' says nothing by itself";
}

TEST_F(CompareVerb, WhatIsNeither) {
  save("a", halves({2}, {1, 2}));
  trace("t", "");
  const auto error = [&](const std::string& a, const std::string& b) {
    const Outcome o = compare(a, b);
    EXPECT_EQ(o.code, 2) << a << " " << b;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err.find("softamp compare: "), 0u);
    return o.err.substr(std::min<size_t>(o.err.size(), 17));
  };
  EXPECT_EQ(error("a.npy", "t"), "a.npy and t: expected two traces or two .npy files\n");
  EXPECT_NE(error("t", "none").find("none: No such file or directory; expected a trace"), std::string::npos);
  EXPECT_NE(error("a.npy", "none.npy").find("none.npy"), std::string::npos);
  EXPECT_EQ(error("g.json", "t").find("g.json: line 1, column "), 0u);
  write_text(file("cut"), read_text(file("t")).substr(0, read_text(file("t")).size() - 20));
  EXPECT_EQ(error("t", "cut").find("cut: line 6, column "), 0u);
  write_text(file("none_of_ours"), "{\"softamp_trace\":1,\"settings\":{}}\n");
  EXPECT_EQ(error("t", "none_of_ours"),
            "none_of_ours, line 1: version of the arithmetic null; expected \"arithmetic\" "
            "to be 1..1000000\n");
  EXPECT_EQ(run_softamp("compare " + file("t")).code, 2);
  EXPECT_EQ(run_softamp("compare --help").code, 0);
}

}  // namespace
}  // namespace softamp::test
