// `softamp run` of TensorFlow's GraphDefs: feeds, variables, names, and a network that was trained here.
#include "tests/program/process.h"

#include "softamp/data/npz.h"
#include "softamp/graph/executor.h"
#include "softamp/tensor/tensor.h"
#include "softamp/train/models.h"
#include "src/data/npz_tensors.h"

#include <gtest/gtest.h>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace softamp::test {
namespace {

const std::string kExampleGraphs = SOFTAMP_SOURCE_DIR "/examples/graphs/";

class RunGraphDef : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  void save(const std::string& name, DType dtype, const Shape& shape, uint32_t seed) const {
    std::vector<double> values(static_cast<size_t>(shape.elements()));
    boost::random::mt19937 random(seed);
    boost::random::uniform_int_distribution<int> whole(-256, 255);
    for (double& v : values) v = whole(random) / 256.0;
    save_npy(Tensor::from_values(dtype, shape, values), file(name + ".npy"));
  }
  /// @ for the folder, # for that of the examples.
  Outcome softamp(std::string arguments) const {
    for (const auto& [mark, place] : {std::pair{'@', folder_.path().string() + "/"}, {'#', kExampleGraphs}})
      for (size_t at; (at = arguments.find(mark)) != std::string::npos;) arguments.replace(at, 1, place);
    return run_softamp(arguments);
  }
  Outcome run(const std::string& arguments) const { return softamp("run " + arguments); }
  std::string error(const std::string& arguments) const {
    std::string why = complaint_of("run", run(arguments + " --quiet"), folder_, arguments);
    if (const size_t at = why.find(kExampleGraphs); at != std::string::npos)
      why.replace(at, kExampleGraphs.size(), "#");
    return why;
  }
  TemporaryFolder folder_;
};

TEST_F(RunGraphDef, FetchesHaveTheNamesOfTheGraphDef) {
  save("x", DType::kFloat32, {2, 2, 6, 6}, 1);
  const std::string conv = "#conv_norm.pbtxt --feed x=@x.npy --quiet ";
  EXPECT_EQ(run(conv).out.find("probabilities: float32 [2,3] "), 0u) << run(conv).err;
  const std::string several = run(conv + "--fetch norm --fetch norm:1 --fetch flatten/shape").out;
  EXPECT_NE(several.find("norm: float32 [2,4,6,6] "), std::string::npos) << several;
  EXPECT_NE(several.find("norm:1: float32 [4] [0.25, -0.5, 0.125, 1]\n"), std::string::npos) << several;
  EXPECT_NE(several.find("flatten/shape: int32 [2] [2, -1]\n"), std::string::npos) << several;
  const Outcome written = run(conv + "--fetch norm:1 --out @out");
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(load_npy(file("out/norm_1.npy")).value(1), -0.5);
  // Options of the verb: what the graph becomes, a trace, statistics, behaviour, the reference.
  EXPECT_NE(run(conv + "--print text").out.find("\nconv "), std::string::npos);
  EXPECT_EQ(run(conv + "--trace @t.jsonl").code, 0);
  EXPECT_NE(read_text(file("t.jsonl")).find("\"logits\""), std::string::npos);
  EXPECT_NE(run(conv + "--statistics").out.find("logits: {"), std::string::npos);
  EXPECT_EQ(run(conv + "--reference").out, run(conv).out);
  EXPECT_EQ(run("#chain.pbtxt --quiet --behaviour oflo").code, 0);
}

TEST_F(RunGraphDef, ABranchThatDependsOnAFeed) {
  save("sequence", DType::kFloat32, {4, 2, 3}, 1);
  save_npy(Tensor::full(DType::kBool, {}, 0), file("no.npy"));
  save_npy(Tensor::full(DType::kBool, {}, 1), file("yes.npy"));
  const std::string cell = "#recurrent.pbtxt --feed sequence=@sequence.npy --fetch last --quiet ";
  EXPECT_EQ(run(cell).out, run(cell + "--feed training=@no.npy").out);
  const Outcome trains = run(cell + "--feed training=@yes.npy");
  EXPECT_EQ(trains.code, 0) << trains.err;
  EXPECT_NE(trains.out, run(cell).out);
}

TEST_F(RunGraphDef, AStepIsRepeated) {
  const std::string counter = R"(
    node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "shape" value { shape { } } } }
    node { name: "start" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: 40 } } } }
    node { name: "v/Assign" op: "AssignVariableOp" input: "v" input: "start"
           attr { key: "dtype" value { type: DT_INT64 } } }
    node { name: "by" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } }
    node { name: "add" op: "AssignAddVariableOp" input: "v" input: "by" attr { key: "dtype" value { type: DT_INT64 } } }
    node { name: "now" op: "ReadVariableOp" input: "v" input: "^add" attr { key: "dtype" value { type: DT_INT64 } } })";
  write_text(file("c.pbtxt"), counter);
  Tensor one(DType::kInt64, Shape{});
  one.as<int64_t>()[0] = 1;
  save_npy(one, file("one.npy"));
  const std::string run_it = "@c.pbtxt --feed by=@one.npy --fetch now --quiet ";
  EXPECT_EQ(run(run_it + "--steps 2").out, "now: int32 [] 42\n") << run(run_it).err;
  EXPECT_EQ(run(run_it + "--feed v=@one.npy").out, "now: int32 [] 2\n");
  one.as<int64_t>()[0] = int64_t{1} << 31;
  save_npy(one, file("one.npy"));
  EXPECT_EQ(error(run_it),
            "the value of 'by': element 0 is 2147483648; expected integers of 32 bits, in which they are "
            "computed with\n");
}

TEST_F(RunGraphDef, ATrainedNetworkRunsAsItDoesHere) {
  const Outcome trained = softamp(
      "train --set generated=true --set train_images=640 --set epochs=1 --set evaluate=false "
      "--quiet --checkpoint @cnn.npz");
  ASSERT_EQ(trained.code, 0) << trained.err;
  save("images", DType::kFloat32, {4, 28, 28, 1}, 3);
  const std::string cnn =
      "#small_cnn.pbtxt --feed images=@images.npy --variables @cnn.npz --fetch dense/BiasAdd --quiet ";
  ASSERT_EQ(run(cnn + "--out @before").code, 0) << run(cnn).err;
  EXPECT_EQ(run(cnn).err, "") << "slots of the optimizer are no variables of the graph";
  // Names with an output's number are those of TensorFlow; others are refused, unless they may differ.
  std::vector<npz::Array> arrays;
  const std::map<std::string, Tensor> kept = load_npz(file("cnn.npz"));
  for (const auto& [name, tensor] : kept)
    if (name.find("Momentum") == std::string::npos) arrays.push_back({name + ":0", &tensor});
  arrays.push_back({"dense/kernal", &kept.at("dense/kernel")});
  npz::write(file("named.npz"), arrays);
  std::string named = cnn;
  named.replace(named.find("@cnn.npz"), 8, "@named.npz");
  const Outcome refused = run(named);
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err, "softamp run: --variables: '" + file("named.npz") +
                             "' has what the graph does not have: 'dense/kernal' (nearest: dense/kernel); expected an "
                             "array for each variable, or --partial-variables\n");
  EXPECT_EQ(run(named + "--partial-variables --out @named").err, "");
  EXPECT_TRUE(load_npy(file("named/dense_BiasAdd.npy")).same_bits(load_npy(file("before/dense_BiasAdd.npy"))));
  // The network that was trained, with the variables of the checkpoint.
  ModelOptions options;
  options.batch_size = 4;
  const Model model = build_model(find_network("small_cnn").build, options);
  const auto executor = make_executor(model.graph);
  const std::map<std::string, Tensor> variables = load_npz(file("cnn.npz"));
  for (const Node& node : model.graph.nodes())
    if (node.op == "VariableV2") executor->set_variable(node.name, variables.at(node.name));
  const Tensor images = load_npy(file("images.npy")), labels(DType::kInt32, {4});
  const Feed feeds[] = {{"images", &images}, {"labels", &labels}};
  const std::string fetches[] = {"logits"};
  const Tensor wanted = std::move(executor->run(feeds, fetches).values[0]);
  EXPECT_TRUE(load_npy(file("before/dense_BiasAdd.npy")).same_bits(wanted));
  // The rewritten network: other bits, nearly the same numbers.
  const Outcome rewritten = softamp("rewrite #small_cnn.pbtxt --tensorflow --fetch dense/BiasAdd --quiet -o @half.pb");
  ASSERT_EQ(rewritten.code, 0) << rewritten.err;
  const std::string half = "@half.pb --feed images=@images.npy --variables @cnn.npz --fetch dense/BiasAdd --quiet ";
  ASSERT_EQ(run(half + "--out @after").code, 0) << run(half).err;
  const Tensor after = load_npy(file("after/dense_BiasAdd.npy"));
  double most = 0, scale = 0;
  for (int64_t i = 0; i < wanted.elements(); ++i) {
    most = std::max(most, std::abs(after.value(i) - wanted.value(i)));
    scale = std::max(scale, std::abs(wanted.value(i)));
  }
  EXPECT_GT(most, 0);
  EXPECT_LT(most, scale / 256);
}

TEST_F(RunGraphDef, VariablesOfAGraphOfOurs) {
  const char* const kCounter = R"({"softamp_graph": 1, "nodes": [
    {"name": "v", "op": "VariableV2", "attributes": {"dtype": "float32", "shape": [1]}},
    {"name": "y", "op": "Neg", "inputs": ["v"]}]})";
  write_text(file("g.json"), kCounter);
  save_npy(Tensor::full(DType::kFloat32, {1}, 3), file("v.npy"));
  EXPECT_EQ(run("@g.json --quiet").out, "y: float32 [1] [-0]\n");
  EXPECT_EQ(run("@g.json --quiet --feed v=@v.npy").out, "y: float32 [1] [-3]\n");
}

TEST_F(RunGraphDef, ComplaintsNameValuePlaceAndWhatWasExpected) {
  save("x", DType::kFloat32, {2, 2, 6, 6}, 1);
  save("half", DType::kFloat16, {2, 2, 6, 6}, 1);
  save("flat", DType::kFloat32, {3}, 1);
  write_text(file("empty.pb"), "");
  write_text(file("fft.pbtxt"), R"(node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } } } } }
    node { name: "a" op: "FFT" input: "x" } node { name: "b" op: "MatmulX" input: "a" input: "x" })");
  const std::pair<const char*, const char*> rows[] = {
      {"#conv_norm.pbtxt",
       "#conv_norm.pbtxt: node 'x' (Placeholder): its shape is not known, [?,2,6,6]; expected a feed, from whose file "
       "it is "
       "taken: --feed x=FILE.npy\n"},
      {"#conv_norm.pbtxt --feed x=@flat.npy",
       "#conv_norm.pbtxt: node 'x' (Placeholder): it is fed a tensor of shape [3]; expected [?,2,6,6]\n"},
      {"#conv_norm.pbtxt --feed x=@half.npy",
       "feed 'x' is float16 [2,2,6,6]; Placeholder 'x' expects float32 [2,2,6,6]\n"},
      {"#conv_norm.pbtxt --feed z=@x.npy",
       "#conv_norm.pbtxt: 'z' is given a value, but it is no node; expected a placeholder or a variable\n"},
      {"#conv_norm.pbtxt --feed relu=@x.npy",
       "#conv_norm.pbtxt: 'relu' is given a value, but it is a Relu; expected a placeholder or a variable\n"},
      {"#two_dense_layers.pbtxt --fetch dense/kernel --fetch dense/MatMul/ReadVariableOp", "2 variables"},
      {"@empty.pb", "@empty.pb: the file is empty; expected a GraphDef\n"},
      {"@fft.pbtxt",
       "@fft.pbtxt: 2 operations are not run here: 'FFT' (node 'a'), 'MatmulX' (node 'b'; nearest: MatMul)\n"},
  };
  for (const auto& [arguments, words] : rows) {
    const std::string why = error(arguments);
    if (!std::string_view(words).ends_with("\n"))
      EXPECT_NE(why, "");
    else
      EXPECT_EQ(why, words) << arguments;
  }
  EXPECT_EQ(error("#two_dense_layers.pbtxt --fetch dense/BiasAdd/ReadVariableOp"),
            "1 variable has no value: 'dense/bias' (nothing in the graph assigns it a value); expected --feed "
            "NAME=FILE.npy, or --variables FILE.npz with all of them\n");
  EXPECT_NE(error("#chain.pbtxt --variables @half.npy").find("@half.npy"), std::string::npos);
}

}  // namespace
}  // namespace softamp::test
