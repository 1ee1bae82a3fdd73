// `softamp run`: arrays in, arrays out, every option, every complaint.
#include "tests/program/process.h"

#include "softamp/tensor/tensor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace softamp::test {
namespace {

using nlohmann::json;

const char* const kRunGraph = R"({"softamp_graph": 1, "nodes": [
  {"name": "x", "op": "Placeholder", "attributes": {"dtype": "float16", "shape": [4]}},
  {"name": "w", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [4], "values": [1, 2, 3, 4]}}},
  {"name": "scope/z", "op": "AddV2", "inputs": ["x", "w"]},
  {"name": "s", "op": "Split", "inputs": ["scope/z"], "attributes": {"axis": 0, "num_split": 2}},
  {"name": "square", "op": "Mul", "inputs": ["x", "x"]}]})";

/// 1 + 0.001 in 4096 lanes.
const char* const kLittle = R"({"softamp_graph": 1, "nodes": [
  {"name": "one", "op": "Fill", "attributes": {"dtype": "float16", "shape": [4096], "value": 1}},
  {"name": "little", "op": "Fill", "attributes": {"dtype": "float16", "shape": [4096], "value": 0.001}},
  {"name": "z", "op": "AddV2", "inputs": ["one", "little"]}]})";

/// 4096 ones times 4096 ones.
const char* const kOnes = R"({"softamp_graph": 1, "nodes": [
  {"name": "a", "op": "Fill", "attributes": {"dtype": "float16", "shape": [1, 4096], "value": 1}},
  {"name": "b", "op": "Fill", "attributes": {"dtype": "float16", "shape": [4096, 1], "value": 1}},
  {"name": "z", "op": "MatMul", "inputs": ["a", "b"]}]})";

const char* const kCounter = R"({"softamp_graph": 1, "nodes": [
  {"name": "v", "op": "VariableV2", "attributes": {"dtype": "float16", "shape": [1]}},
  {"name": "one", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [1], "values": [1]}}},
  {"name": "next", "op": "AddV2", "inputs": ["v", "one"]},
  {"name": "shown", "op": "PrintTensor", "inputs": ["next"], "attributes": {"message": "now"}},
  {"name": "set", "op": "Assign", "inputs": ["shown"], "attributes": {"ref": "v"}}]})";

class RunVerb : public ::testing::Test {
 protected:
  RunVerb() {
    write_text(file("g.json"), kRunGraph);
    write_text(file("little.json"), kLittle);
    write_text(file("ones.json"), kOnes);
    write_text(file("counter.json"), kCounter);
    save("x", {10, 20, 30, 40});
    save("big", {1, 10000, -10000, 1});
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  void save(const std::string& name, const std::vector<double>& values, DType dtype = DType::kFloat16) const {
    save_npy(Tensor::from_values(dtype, Shape{static_cast<int64_t>(values.size())}, values), file(name + ".npy"));
  }
  /// Arguments with @ for the folder.
  Outcome softamp(std::string arguments) const {
    for (size_t at; (at = arguments.find('@')) != std::string::npos;)
      arguments.replace(at, 1, folder_.path().string() + "/");
    return run_softamp(arguments);
  }
  Outcome run(const std::string& arguments) const { return softamp("run " + arguments); }
  json document(const std::string& arguments) const { return json_of(run(arguments + " --json")); }
  std::string error(const std::string& arguments) const {
    return complaint_of("run", run(arguments + " --quiet"), folder_, arguments);
  }
  TemporaryFolder folder_;
};

const std::string kX = "@g.json --feed x=@x.npy ";

TEST_F(RunVerb, PrintsTensorsAndSaysTheSettingsApart) {
  const Outcome o = run(kX + "--fetch scope/z --fetch s:1");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.out, "scope/z: float16 [4] [11, 22, 33, 44]\ns:1: float16 [2] [33, 44]\n");
  EXPECT_EQ(o.err, "softamp run: the defaults\n");
  const Outcome chosen = run(kX + "--fetch s:1 --behaviour esr --seed 7 --json");
  EXPECT_EQ(chosen.err, "softamp run: esr=true, rounding=stochastic, bits=13, variant=carry, seed=7\n");
  EXPECT_EQ(json_of(chosen)["settings"]["seed"], 7);
  EXPECT_EQ(run(kX + "--fetch scope/z --quiet").err, "");
}

TEST_F(RunVerb, WithoutFetchesWhatNothingReads) {
  EXPECT_EQ(run(kX).out, "s: float16 [2] [11, 22]\nsquare: float16 [4] [100, 400, 900, 1600]\n");
  std::string named = kRunGraph;
  named.replace(named.rfind('}'), 1, R"(, "outputs": ["s:1"]})");
  write_text(file("named.json"), named);
  EXPECT_EQ(run("@named.json --feed x=@x.npy").out, "s:1: float16 [2] [33, 44]\n") << "what the file names";
  EXPECT_EQ(run("@named.json --feed x=@x.npy --fetch s").out, "s: float16 [2] [11, 22]\n");
}

TEST_F(RunVerb, WritesArrays) {
  const Outcome o = run(kX + "--fetch scope/z --fetch s:1 --fetch x --out @deep/er --quiet");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_TRUE(load_npy(file("deep/er/scope_z.npy"))
                  .same_bits(Tensor::from_values(DType::kFloat16, {4}, std::vector<double>{11, 22, 33, 44})));
  EXPECT_EQ(load_npy(file("deep/er/s_1.npy")).value(1), 44);
  EXPECT_TRUE(load_npy(file("deep/er/x.npy")).same_bits(load_npy(file("x.npy"))));
  const auto files = std::distance(std::filesystem::directory_iterator(file("deep/er")), {});
  EXPECT_EQ(files, 3);
}

TEST_F(RunVerb, BFloat16GoesAsItsCodes) {
  std::string graph = kRunGraph;
  for (size_t at; (at = graph.find("float16")) != std::string::npos;) graph.replace(at, 7, "bf16");
  write_text(file("b.json"), graph);
  save("b", {1, 2, 3, 4}, DType::kBFloat16);
  EXPECT_EQ(run("@b.json --feed x=@b.npy --fetch scope/z --out @o --quiet").code, 0);
  EXPECT_EQ(load_npy(file("o/scope_z.npy"), true).value(3), 8);
  EXPECT_EQ(run("@b.json --feed x=@b.npy --fetch scope/z").out, "scope/z: bfloat16 [4] [2, 4, 6, 8]\n");
}

TEST_F(RunVerb, JsonIsOneDocument) {
  const json d = document(kX + "--fetch scope/z --fetch square --out @o --status --statistics");
  EXPECT_EQ(d["step"], 0);
  EXPECT_EQ(d["files"]["scope/z"], file("o/scope_z.npy"));
  EXPECT_EQ(d["hashes"]["square"].get<std::string>().size(), 32u);
  EXPECT_EQ(d["status"], json::array());
  EXPECT_EQ(d["statistics"]["square"]["maximum"], 1600);
  const json flags = document("@g.json --feed x=@big.npy --fetch square --status");
  ASSERT_EQ(flags["status"].size(), 1u);
  EXPECT_EQ(flags["status"][0]["operation"], "square");
  EXPECT_EQ(flags["status"][0]["op"], "Mul");
  EXPECT_EQ(flags["status"][0]["lowest_index"], (json{{"overflow", 1}}));
}

TEST_F(RunVerb, StatusAndStatisticsForPeople) {
  const Outcome o = run("@g.json --feed x=@big.npy --fetch square --status --statistics --quiet");
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "step 0: Mul 'square': overflow, first at element 1\n");
  EXPECT_EQ(o.out.find("square: float16 [4] [1, 65504, 65504, 1]\nsquare: {\"elements\":4,"), 0u) << o.out;
}

TEST_F(RunVerb, AnExceptionStopsWithItsReport) {
  const Outcome o = run("@g.json --feed x=@big.npy --fetch square --behaviour oflo --out @o --trace @t --quiet --json");
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.err,
            "floating-point exception: overflow\n  $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0\n"
            "  operation: Mul 'square', element 1\n  operands: 0x70e2 (10000), 0x70e2 (10000)\n  tile 0, worker 0\n");
  const json d = json::parse(o.out);
  EXPECT_EQ(d["exception"]["index"], 1);
  EXPECT_EQ(d["exception"]["operation"], "Mul 'square'");
  EXPECT_FALSE(d.contains("hashes"));
  EXPECT_FALSE(std::filesystem::exists(file("o"))) << "no results";
  EXPECT_TRUE(std::filesystem::exists(file("t"))) << "the trace up to there";
  EXPECT_FALSE(std::filesystem::exists(file(".t.part")));
}

TEST_F(RunVerb, EachBehaviour) {
  const auto square = [&](const std::string& behaviour) {
    return run("@g.json --feed x=@big.npy --fetch square --quiet --behaviour " + behaviour);
  };
  const std::string saturated = "square: float16 [4] [1, 65504, 65504, 1]\n";
  for (const char* word : {"off", "inv", "div0", "esr", "inv,div0", "oflo,off"})
    EXPECT_EQ(square(word).out, saturated) << word;
  EXPECT_EQ(square("nanoo").out, "square: float16 [4] [1, nan, nan, 1]\n");
  EXPECT_EQ(square("oflo").code, 3);
  EXPECT_EQ(square("all").code, 3);
  EXPECT_NE(square("all").err.find("OFLO: 0x1 DIV0: 0x0 INV: 0x1"), std::string::npos);
}

TEST_F(RunVerb, Presets) {
  const auto square = [&](const std::string& options) {
    return run("@g.json --feed x=@big.npy --fetch square --quiet " + options).out;
  };
  EXPECT_EQ(square("--preset ieee"), "square: float16 [4] [1, inf, inf, 1]\n");
  EXPECT_EQ(square("--preset ieee --behaviour esr"), square("--preset ieee"));
  EXPECT_EQ(square("--preset ipu"), square(""));
  EXPECT_EQ(error("@g.json --feed x=@big.npy --preset ieee --behaviour nanoo").find("preset ieee and floating_point_"),
            0u);
  EXPECT_NE(error("@g.json --preset iee").find("--preset: unknown preset 'iee'; nearest: ieee"), std::string::npos);
  EXPECT_NE(run("@g.json --feed x=@big.npy --fetch square --preset ieee").err.find("semantics=ieee"),
            std::string::npos);
}

TEST_F(RunVerb, AGraphsOwnPreset) {
  const auto sum = [&](const std::string& head, const std::string& options) {
    write_text(file("p.json"), "{\"softamp_graph\": 1, " + head +
                                   R"("nodes": [
      {"name": "a", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [], "values": [60000]}}},
      {"name": "s", "op": "AddV2", "inputs": ["a", "a"]}], "outputs": ["s"]})");
    return run("@p.json --quiet " + options).out;
  };
  EXPECT_EQ(sum("", ""), "s: float16 [] 65504\n");
  EXPECT_EQ(sum(R"("preset": "ieee", )", ""), "s: float16 [] inf\n");
  EXPECT_EQ(sum(R"("preset": "ieee", )", "--preset ipu"), "s: float16 [] 65504\n");
  EXPECT_EQ(sum(R"("preset": "ieee", )", "--behaviour nanoo"), "s: float16 [] nan\n");
  EXPECT_EQ(sum(R"("preset": "IPU", )", ""), "s: float16 [] 65504\n");
  write_text(file("bad.json"), R"({"softamp_graph": 1, "preset": "tpu", "nodes": []})");
  EXPECT_NE(error("@bad.json").find("'preset': unknown preset 'tpu'"), std::string::npos);
  write_text(file("bad.json"), R"({"softamp_graph": 1, "preset": 754, "nodes": []})");
  EXPECT_NE(error("@bad.json").find("'preset': expected \"ieee\" or \"ipu\", found"), std::string::npos);
}

TEST_F(RunVerb, AGraphDefIsComputedAsTensorFlowDoes) {
  write_text(file("g.pbtxt"), R"(
node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_HALF } }
       attr { key: "value" value { tensor { dtype: DT_HALF tensor_shape {} half_val: 31744 } } } }
node { name: "b" op: "Const" attr { key: "dtype" value { type: DT_HALF } }
       attr { key: "value" value { tensor { dtype: DT_HALF tensor_shape {} half_val: 31743 } } } }
node { name: "s" op: "AddV2" input: "b" input: "b" attr { key: "T" value { type: DT_HALF } } }
node { name: "d" op: "Sub" input: "s" input: "s" attr { key: "T" value { type: DT_HALF } } }
)");
  EXPECT_EQ(run("@g.pbtxt --quiet --fetch s").out, "s: float16 [] inf\n");
  EXPECT_EQ(run("@g.pbtxt --quiet --fetch d").out, "d: float16 [] nan\n");
  EXPECT_EQ(run("@g.pbtxt --quiet --fetch s --preset ipu").out, "s: float16 [] 65504\n");
  EXPECT_EQ(run("@g.pbtxt --quiet --fetch s --behaviour nanoo").out, "s: float16 [] nan\n");
}

TEST_F(RunVerb, PartialsAndBlocks) {
  const auto product = [&](const std::string& options) { return run("@ones.json --quiet " + options).out; };
  const std::string stagnates = "z: float16 [1,1] [[2048]]\n", whole = "z: float16 [1,1] [[4096]]\n";
  EXPECT_EQ(product(""), whole);
  EXPECT_EQ(product("--block 1 --inner exact_dot4"), whole) << "float partials";
  EXPECT_EQ(product("--partials half"), whole);
  EXPECT_EQ(product("--partials half --block 1"), stagnates);
  EXPECT_EQ(product("--partials half --block 1 --inner rn32_each"), stagnates);
  EXPECT_EQ(product("--partials half --block 4"), whole);
  EXPECT_EQ(product("--partials half --block k --inner exact_dot4"), whole);
  EXPECT_EQ(product("--set matmuls.poplar_options.partialsType=half --block 1"), stagnates);
  EXPECT_EQ(product("--partials half --set matmuls.poplar_options.partialsType=float"), whole);
}

TEST_F(RunVerb, AChipSaysBitsAndVariant) {
  const auto sum = [&](const std::string& options) {
    return document("@little.json --behaviour esr --seed 3 " + options)["hashes"]["z"].get<std::string>();
  };
  // cvt.rs takes 13 bits for fp16, and carries.
  EXPECT_EQ(sum("--chip nvidia_sm100"), sum("--bits 13 --variant carry"));
  EXPECT_EQ(sum("--chip B200"), sum("--chip nvidia_sm100"));
  EXPECT_EQ(sum("--chip p3109_rne"), sum("--bits 8 --variant rne"));
  EXPECT_NE(sum("--chip p3109_rne"), sum("--chip nvidia_sm100"));
  const std::string of = "@little.json --behaviour esr ";
  EXPECT_EQ(error(of + "--chip b200 --bits 4"),
            "--chip: nvidia_sm100 says bits and variant; expected no --bits and no --variant beside it\n");
  EXPECT_EQ(error("@little.json --chip b200"),
            "--chip: nvidia_sm100 rounds stochastically; expected esr in --behaviour\n");
  EXPECT_EQ(
      error(of + "--chip intel_xe"),
      "--chip: intel_xe adds its random bits to the source, which graphs do not; expected a chip that aligns them "
      "with what is discarded\n");
  EXPECT_EQ(error(of + "--chip amd_cdna3").find("chip amd_cdna3 does not round to fp16"), 0u);
  write_text(file("wide.json"), R"({"softamp_graph": 1, "nodes": [
    {"name": "a", "op": "Fill", "attributes": {"dtype": "float32", "shape": [2], "value": 1}}]})");
  EXPECT_EQ(error("@wide.json --behaviour esr --chip b200"),
            "--chip: nvidia_sm100: no tensor of the graph has 16 bits; expected float16 or bfloat16\n");
  write_text(file("both.json"), R"({"softamp_graph": 1, "nodes": [
    {"name": "a", "op": "Fill", "attributes": {"dtype": "float16", "shape": [2], "value": 1}},
    {"name": "b", "op": "Fill", "attributes": {"dtype": "bfloat16", "shape": [2], "value": 1}}]})");
  EXPECT_EQ(error("@both.json --behaviour esr --chip b200"),
            "--chip: nvidia_sm100 rounds float16 and bfloat16 with different random bits, and the graph has both; "
            "expected a graph with one of them\n");
}

TEST_F(RunVerb, Accumulators) {
  // 2^20 - 2^20 + 2^-8: the last is lost where it stands in a group with the first two.
  write_text(file("far.json"), R"({"softamp_graph": 1, "nodes": [
    {"name": "a", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [1, 6],
      "values": [1024, -1024, 0, 0, 0, 0.00390625]}}},
    {"name": "b", "op": "Const", "attributes": {"value": {"dtype": "float16", "shape": [6, 1],
      "values": [1024, 1024, 1, 1, 1, 1]}}},
    {"name": "z", "op": "MatMul", "inputs": ["a", "b"]}]})");
  const auto product = [&](const std::string& options) { return run("@far.json --quiet " + options).out; };
  const std::string kept = "z: float16 [1,1] [[0.003906]]\n", lost = "z: float16 [1,1] [[0]]\n";
  EXPECT_EQ(product(""), kept);
  for (const char* same : {"ipu_model_a", "fp32_chain", "tensorcore_volta"})
    EXPECT_EQ(product(std::string("--accumulator ") + same), kept) << same;
  for (const char* other : {"turing", "ampere", "ada", "hopper", "blackwell"}) {
    EXPECT_EQ(product(std::string("--accumulator tensorcore_") + other), lost) << other;
    EXPECT_EQ(product(std::string("--reference --accumulator tensorcore_") + other), lost) << other;
  }
  const Outcome unknown = run("@far.json --accumulator tensorcore_hoper");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--accumulator: "), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("tensorcore_hopper"), std::string::npos) << unknown.err;
  const Outcome conflict = run("@far.json --accumulator fp32_chain --partials half");
  EXPECT_EQ(conflict.code, 2);
  EXPECT_NE(conflict.err.find("accumulator fp32_chain and matmuls.poplar_options: partialsType half"),
            std::string::npos)
      << conflict.err;
  // What a tensor core is fed, and its fp16 accumulator: 2^-8 is no number of e4m3 beside others, but is one itself.
  EXPECT_EQ(product("--accumulator volta --partials half"), kept);
  EXPECT_EQ(product("--accumulator ada --tensor-core-operands bf16"), lost);
  EXPECT_EQ(product("--accumulator ada --tensor-core-operands e5m2 --partials half"), lost);
  const Outcome fed = run("@far.json --accumulator ampere --tensor-core-operands float8_e4m3fn");
  EXPECT_EQ(fed.code, 2);
  EXPECT_NE(fed.err.find("accumulator tensorcore_ampere has no operands of e4m3"), std::string::npos) << fed.err;
  const Outcome word = run("@far.json --tensor-core-operands e4m4");
  EXPECT_NE(word.err.find("--tensor-core-operands: unknown operands 'e4m4'; nearest: e4m3"), std::string::npos)
      << word.err;
}

TEST_F(RunVerb, AWarningIsNoResult) {
  std::string graph = kOnes;
  for (size_t at; (at = graph.find("float16")) != std::string::npos;) graph.replace(at, 7, "fp32");
  write_text(file("wide.json"), graph);
  EXPECT_EQ(run("@wide.json --partials half").err,
            "softamp run: --partials: 'half': no such result is of fp16; expected --partials float\n");
  const std::string inputs = R"("inputs": ["a", "b"])";
  graph.replace(graph.find(inputs), inputs.size(), inputs + R"(, "attributes": {"partialsType": "half"})");
  write_text(file("wide.json"), graph);
  const Outcome o = run("@wide.json --quiet");
  EXPECT_EQ(o.out, "z: float32 [1,1] [[4096]]\n");
  EXPECT_EQ(o.err,
            "softamp run: warning: MatMul 'z': partialsType half is ignored: smaller than the output type float32\n");
}

TEST_F(RunVerb, SeedsStepsAndEngines) {
  const auto hash = [&](const std::string& options) {
    return document("@little.json --fetch z --behaviour esr --quiet " + options)["hashes"]["z"].get<std::string>();
  };
  const std::string usual = hash("");
  EXPECT_EQ(hash("--seed 0 --bits 13 --variant carry --random philox --first-step 0"), usual);
  for (const char* same : {"--threads 1", "--threads 3", "--isa portable", "--reference"}) EXPECT_EQ(hash(same), usual);
  std::vector<std::string> seen = {usual};
  for (const char* other : {"--seed 1", "--seed 0xffffffffffffffff", "--bits 8", "--variant rne --bits 4",
                            "--random philox7", "--random xoroshiro128aox", "--random xoroshiro128aox --tiles 1",
                            "--first-step 1", "--first-step 4294967279"}) {
    seen.push_back(hash(other));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), seen.back()), 1) << other;
  }
  EXPECT_EQ(hash("--steps 2"), hash("--first-step 1")) << "the results are the last step's";
  // N349: 98 of 4096 go up.
  EXPECT_EQ(
      run("@little.json --fetch z --behaviour esr --quiet --random xoroshiro128aox --tiles 1 --seed 42 --out @o").code,
      0);
  const Tensor z = load_npy(file("o/z.npy"));
  int up = 0;
  for (int64_t i = 0; i < 4096; ++i) up += z.code(i) == 0x3C02;
  EXPECT_EQ(up, 98);
}

TEST_F(RunVerb, StepsKeepVariablesAndPrintOnStandardError) {
  const Outcome o = run("@counter.json --steps 3 --fetch set --quiet");
  EXPECT_EQ(o.out, "set: float16 [1] [3]\n");
  EXPECT_EQ(o.err, "now: float16 [1] [1]\nnow: float16 [1] [2]\nnow: float16 [1] [3]\n");
  EXPECT_EQ(document("@counter.json --steps 3 --first-step 7 --quiet")["step"], 9);
}

TEST_F(RunVerb, TheGraphInsteadOfARun) {
  EXPECT_NE(run("@g.json --print text").out.find("scope/z = AddV2(x, w)"), std::string::npos);
  EXPECT_NE(run("@g.json --print dot").out.find("digraph"), std::string::npos);
  EXPECT_EQ(error("@g.json --print pdf").find("--print"), 0u);
}

TEST_F(RunVerb, ConfigFilesAndSettings) {
  write_text(file("c.json"), R"({"floating_point_behaviour": {"nanoo": true}})");
  const std::string big = "@g.json --feed x=@big.npy --fetch square --quiet ";
  EXPECT_NE(run(big + "--config @c.json").out.find("nan"), std::string::npos);
  EXPECT_EQ(run(big + "--config @c.json --behaviour off").out.find("nan"), std::string::npos);
  EXPECT_NE(run(big + "--set floating_point_behaviour.nanoo=true").out.find("nan"), std::string::npos);
  EXPECT_EQ(run(big + "--set floating_point_behaviour.set_all=True").code, 3);
  EXPECT_EQ(run(big + "--set floating_point_behaviour.esr=ON").code, 0);
  write_text(file("p.json"), R"({"matmuls": {"poplar_options": {"partialsType": "half"}}})");
  EXPECT_EQ(run("@ones.json --quiet --block 1 --config @p.json").out, "z: float16 [1,1] [[2048]]\n");
  EXPECT_EQ(error(kX + "--set matmul.poplar_options.partialsType=half"),
            "'matmul' is not a valid attribute of this config. Did you mean 'matmuls'?\n");
  EXPECT_EQ(error(kX + "--set norms.use_stable_statistics=3"),
            "Trying to set norms.use_stable_statistics to '3', but it must be of type bool\n");
  // The dictionary of the vendor's page, and JSON's.
  for (const char* dictionary :
       {R"('matmuls.poplar_options={"partialsType": "half"}')", R"("matmuls.poplar_options={'partialsType': 'half'}")"})
    EXPECT_EQ(run(std::string("@ones.json --quiet --block 1 --set ") + dictionary).out, "z: float16 [1,1] [[2048]]\n");
  EXPECT_NE(error(kX + "--set matmuls.poplar_options=half").find("expected a dictionary of texts such as"),
            std::string::npos);
  EXPECT_NE(error(kX + R"(--set 'matmuls.poplar_options={"partialsType": 1}')").find("expected a dictionary of texts"),
            std::string::npos);
  EXPECT_NE(run("@ones.json --set matmuls.clear_pass_type=true")
                .err.find("softamp run: warning: matmuls.clear_pass_type is True, which has no effect here"),
            std::string::npos);
  EXPECT_EQ(error(kX + "--set ipu_model.version=foo"),
            "ipu_model.version is 'foo'; expected 'ipu2' or 'ipu21': no other version is emulated\n");
  EXPECT_EQ(error(kX + "--set norms=true"), "norms is a category and cannot be assigned to.\n");
  EXPECT_EQ(error(kX + "--set norms"), "--set: 'norms': expected NAME=VALUE\n");
  EXPECT_EQ(error(kX + "--set norms.experimental.distributed_batch_norm_replica_group_size=0"),
            "norms.experimental.distributed_batch_norm_replica_group_size must be at least 1.\n");
  EXPECT_NE(error(kX + "--set auto_select_ipus=x").find("expected a whole number in 0..2147483648"), std::string::npos);
  EXPECT_NE(error(kX + "--set matmuls.poplar_options.partialType=half").find("nearest: partialsType"),
            std::string::npos);
  write_text(file("bad.json"), R"({"norms": {"use_stable": true}})");
  EXPECT_EQ(error(kX + "--config @bad.json"),
            "@bad.json: 'use_stable' is not a valid attribute of this config. Did you mean 'experimental'?\n");
  EXPECT_EQ(error(kX + "--config @none.json"),
            "@none.json: No such file or directory; expected a JSON file of IpuConfig attributes\n");
}

// TUTORIAL G21: what a step computed is the next one's operand; ten thousand additions in one command, in one process
// or in two.
// tests: G21
TEST_F(RunVerb, G21FeedsBackWhatAStepComputed) {
  const std::string graph = SOFTAMP_SOURCE_DIR "/examples/graphs/add_two_numbers.json",
                    zeros = " --feed sum=" SOFTAMP_SOURCE_DIR "/examples/graphs/zeros.npy";
  const Outcome nearest = run(graph + zeros + " --feed-back sum=next --steps 10000");
  EXPECT_EQ(nearest.code, 0);
  EXPECT_EQ(nearest.out.find("next: float16 [20] [0.25, 0.25, 0.25, "), 0u) << nearest.out;

  const std::string stochastic = " --feed-back sum=next --behaviour esr --seed 7 --out @";
  const json whole = document(graph + zeros + stochastic + "whole --steps 10000");
  document(graph + zeros + stochastic + "part --steps 4321");
  const json rest = document(graph + " --feed sum=@part/next.npy" + stochastic + "rest --first-step 4321 --steps 5679");
  EXPECT_EQ(whole["hashes"], rest["hashes"]);
  EXPECT_NE(whole["hashes"], json_of(run(graph + zeros + " --steps 10000 --json"))["hashes"]) << "without feeding back";
}

TEST_F(RunVerb, WrongFeedsBack) {
  EXPECT_EQ(error(kX + "--feed-back x"), "--feed-back: 'x': expected NAME=TENSOR\n");
  EXPECT_EQ(error(kX + "--feed-back x=scope/z --feed-back x=square"), "--feed-back: 'x' is given twice\n");
  EXPECT_EQ(error(kX + "--feed-back y=square"),
            "--feed-back: 'y' has no value for the first step; expected --feed y=FILE.npy\n");
  EXPECT_EQ(error(kX + "--fetch square --feed-back x=scope/z"),
            "--feed-back: unknown fetch 'scope/z'; known: square\n");
  EXPECT_EQ(error(kX + "--fetch s:0 --feed-back x=s:0"),
            "--feed-back: 's:0' is float16 [2]; Placeholder 'x' expects float16 [4]\n");
}

TEST_F(RunVerb, WrongFeedsAndFetches) {
  EXPECT_EQ(error("@g.json --fetch scope/z"), "Placeholder 'x' has no feed; expected float16 [4]\n");
  EXPECT_EQ(error(kX + "--feed y=@x.npy"), "unknown placeholder 'y'; known: x\n");
  EXPECT_EQ(error(kX + "--feed x=@x.npy"), "--feed: 'x' is given twice\n");
  EXPECT_EQ(error("@g.json --feed x"), "--feed: 'x': expected NAME=FILE.npy\n");
  EXPECT_EQ(error("@g.json --feed =@x.npy").find("--feed: '="), 0u);
  EXPECT_NE(error("@g.json --feed x=@none.npy").find("none.npy"), std::string::npos);
  EXPECT_NE(error("@g.json --feed x=@g.json").find("g.json"), std::string::npos);
  save("three", {1, 2, 3});
  save("wide", {1, 2, 3, 4}, DType::kFloat32);
  EXPECT_EQ(error("@g.json --feed x=@three.npy"), "feed 'x' is float16 [3]; Placeholder 'x' expects float16 [4]\n");
  EXPECT_EQ(error("@g.json --feed x=@wide.npy"), "feed 'x' is float32 [4]; Placeholder 'x' expects float16 [4]\n");
  EXPECT_EQ(error(kX + "--fetch scope/y"), "the graph has no node 'scope/y'; nearest: scope/z\n");
  EXPECT_NE(error(kX + "--fetch s:2").find("node 's' has 2 outputs"), std::string::npos);
}

TEST_F(RunVerb, WrongValuesOfOptions) {
  EXPECT_EQ(error(kX + "--behaviour oflow")
                .find("--behaviour: unknown flag 'oflow'; nearest: oflo; known: inv, div0, oflo, "),
            0u);
  EXPECT_EQ(error(kX + "--partials quarter"), "--partials: unknown partials 'quarter'; known: half, float\n");
  EXPECT_EQ(error(kX + "--block 2"), "--block: unknown block '2'; known: 1, 4, 16, k\n");
  EXPECT_EQ(error(kX + "--inner fma").find("--inner: unknown accumulation 'fma'; nearest: fma_chain"), 0u);
  EXPECT_EQ(error(kX + "--isa sse").find("--isa: unknown instruction set 'sse'"), 0u);
  EXPECT_EQ(error(kX + "--random mt19937").find("--random: unknown random engine"), 0u);
  EXPECT_EQ(error(kX + "--variant none").find("--variant: unknown variant"), 0u);
  EXPECT_EQ(error(kX + "--bits 33"), "--bits: '33': expected a whole number in 1..32\n");
  EXPECT_EQ(error(kX + "--steps 0"), "--steps: '0': expected a whole number in 1..2147483648\n");
  EXPECT_EQ(error(kX + "--tiles 0"), "--tiles: '0': expected a whole number in 1..1048576\n");
  EXPECT_EQ(error(kX + "--threads 1025"), "--threads: '1025': expected a whole number in 0..1024\n");
  EXPECT_EQ(error(kX + "--first-step 4294967279 --steps 2"),
            "--steps: 2 from step 4294967279 on: expected steps below 2^32 - 16\n");
  EXPECT_EQ(error(kX + "--first-step 4294967280"),
            "--first-step: '4294967280': expected a whole number in 0..4294967279\n");
  EXPECT_NE(error(kX + "--behaviour esr --random xoroshiro128aox --first-step 1").find("set_step(1)"),
            std::string::npos);
  EXPECT_EQ(error(kX + "--seeed 1").find("unknown option '--seeed'; nearest: --seed"), 0u);
  EXPECT_NE(error("").find("GRAPH"), std::string::npos);
}

TEST_F(RunVerb, WrongGraphs) {
  EXPECT_NE(error("@none.json").find("@none.json"), std::string::npos);
  write_text(file("bad.json"), "{");
  EXPECT_EQ(error("@bad.json").find("@bad.json"), 0u);
  write_text(file("op.json"), R"({"softamp_graph": 1, "nodes": [{"name": "x", "op": "Placehodler"}]})");
  EXPECT_NE(error("@op.json").find("Placeholder"), std::string::npos);
}

TEST_F(RunVerb, AProgramThatDoesNotFit) {
  EXPECT_EQ(error(kX + "--fetch scope/z --tiles 1 --memory-per-tile 20"),
            "the program needs 24 bytes at 'scope/z'; the device has 20. Largest tensors then:\n"
            "  8 bytes  x\n  8 bytes  w\n  8 bytes  scope/z\n");
  EXPECT_EQ(run(kX + "--fetch scope/z --tiles 1 --memory-per-tile 24 --quiet").code, 0);
  EXPECT_EQ(run(kX + "--fetch scope/z --tiles 1 --memory-per-tile 0 --quiet").code, 0);
  EXPECT_EQ(error(kX + "--set ipu_model.tiles_per_ipu=1 --memory-per-tile 20").find("the program needs"), 0u);
}

TEST_F(RunVerb, WhereResultsCannotGo) {
  EXPECT_EQ(error(kX + "--out @x.npy"), "--out: '@x.npy' is not a folder\n");
  std::string graph = kRunGraph;
  graph.replace(graph.find("\"square\""), 8, "\"s_1\"");
  write_text(file("twins.json"), graph);
  EXPECT_EQ(error("@twins.json --feed x=@x.npy --fetch s:1 --fetch s_1 --out @o"),
            "--out: 's:1' and 's_1' would both be written to @o/s_1.npy; expected fetches whose files differ\n");
  EXPECT_FALSE(std::filesystem::exists(file("o")));
  EXPECT_EQ(run("@twins.json --feed x=@x.npy --fetch s:1 --fetch s:1 --out @o --quiet").code, 0);
  EXPECT_EQ(error(kX + "--trace @no/such/t"), "--trace: '@no/such/t' cannot be written: No such file or directory\n");
  EXPECT_EQ(error(kX + "--out @x.npy/deeper"), "--out: '@x.npy/deeper' cannot be written: Not a directory\n");
}

TEST_F(RunVerb, ATraceOfEveryStepAndNothingLeftAfterAnError) {
  EXPECT_EQ(run(kX + "--fetch s --steps 2 --trace @t --quiet").code, 0);
  const std::string text = read_text(file("t"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 3);
  EXPECT_NE(text.find(R"({"step":1,"tensor":"s:1","op":"Split","dtype":"float16","shape":[2],"hash":")"),
            std::string::npos);
  error("@g.json --fetch scope/z --trace @u");  // no feed
  EXPECT_FALSE(std::filesystem::exists(file("u")));
  EXPECT_FALSE(std::filesystem::exists(file(".u.part")));
}

TEST_F(RunVerb, ASignalEndsTheRunInOrder) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = "t" + std::to_string(signal), trace = file(name), part = file("." + name + ".part"),
                      out = file("o" + std::to_string(signal));
    const pid_t child = fork();
    if (child == 0) {
      std::freopen((out + ".err").c_str(), "w", stderr);
      execl(SOFTAMP_PROGRAM, "softamp", "run", file("little.json").c_str(), "--steps", "2000000000", "--fetch", "z",
            "--quiet", "--out", out.c_str(), "--trace", trace.c_str(), nullptr);
      _exit(127);
    }
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto begun = [&] {
      std::error_code none;
      return std::filesystem::file_size(part, none) + 1 > 4096;  // no file: 2^64 - 1 + 1
    };
    while (!begun() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(child, signal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + signal) << status;
    EXPECT_FALSE(std::filesystem::exists(part));
    EXPECT_TRUE(std::filesystem::exists(trace)) << "what was traced is there";
    EXPECT_TRUE(std::filesystem::exists(out + "/z.npy")) << "and the last step's results";
    const std::string said = read_text(out + ".err");
    EXPECT_EQ(said.find("softamp run: interrupted; continue with --first-step "), 0u) << said;
    EXPECT_EQ(softamp("compare " + trace + " " + trace).code, 0) << "a whole trace";
  }
}

TEST_F(RunVerb, ASignalEndsALongOperation) {
  write_text(file("long.json"), R"({"softamp_graph": 1, "nodes": [
      {"name": "a", "op": "Fill", "attributes": {"shape": [3000, 3000], "value": 0.5, "dtype": "float16"}},
      {"name": "y", "op": "MatMul", "inputs": ["a", "a"]}]})");
  const std::string said = file("long.err");
  const pid_t child = fork();
  if (child == 0) {
    std::freopen(said.c_str(), "w", stderr);
    execl(SOFTAMP_PROGRAM, "softamp", "run", file("long.json").c_str(), "--fetch", "y", "--reference", nullptr);
    _exit(127);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - start; };
  while (!contains(read_text(said), "amp_block") && passed() < std::chrono::seconds(20))  // the settings: it begins
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) << status;
  EXPECT_LT(passed(), std::chrono::seconds(25)) << "by the bodies the product takes minutes";
  EXPECT_TRUE(contains(read_text(said), "softamp run: interrupted; continue with --first-step 0\n"));
}

}  // namespace
}  // namespace softamp::test
