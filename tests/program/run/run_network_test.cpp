// `softamp run` of a network's file: its weights, first ones and those of files, its precision.
#include "tests/program/process.h"

#include "softamp/data/npz.h"
#include "softamp/tensor/tensor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

namespace softamp::test {
namespace {

class RunNetwork : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }
  TemporaryFolder folder_;
};

/// Two features times a matrix, plus a bias; in training a dropout, which an evaluation leaves out.
const char* const kNetwork = R"({"softamp_network": 1, "input": {"kind": "features", "shape": [2]},
  "output": {"kind": "values", "shape": [2]},
  "layers": [{"type": "dropout", "rate": 0.5}, {"type": "dense", "units": 2, "name": "d"}]})";
TEST_F(RunNetwork, HasItsWeightsFromFilesOrFromTheSeed) {
  write_text(file("net.json"), kNetwork);
  const auto save = [&](const std::string& name, DType dtype, const Shape& shape, const std::vector<double>& values) {
    save_npy(Tensor::from_values(dtype, shape, values), file(name));
    return file(name);
  };
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};
  const std::string net = "run " + file("net.json") + " --quiet ";
  const std::string fed = net + "--feed inputs=" + save("x.npy", DType::kFloat32, {3, 2}, x) + " ";
  const std::string weights = "--feed d/kernel=" + save("w.npy", DType::kFloat32, {2, 2}, {1, 2, 3, 4}) +
                              " --feed d/bias=" + save("b.npy", DType::kFloat32, {2}, {0.5, 0.25}) + " ";
  EXPECT_EQ(run_softamp(fed + weights).out, "outputs: float32 [3,2] [[7.5, 10.25], [15.5, 22.25], [23.5, 34.25]]\n");
  const std::string loss =
      "--fetch loss --feed labels=" + save("y.npy", DType::kFloat32, {3, 2}, {6.5, 8.25, 14.5, 22.25, 23.5, 34.25});
  EXPECT_EQ(run_softamp(fed + weights + loss).out, "loss: float32 [] 1\n") << "(1 + 4 + 1) / 6";
  // First weights and those of a checkpoint are the training run's.
  const std::string y = save("t.npy", DType::kFloat32, {3, 2}, x);
  std::filesystem::create_directory(file("data"));
  for (const char* name : {"x_train", "y_train", "x_test", "y_test"})
    std::filesystem::copy(y, file("data/" + std::string(name) + ".npy"));
  const std::string train = "train --quiet --set batch_size=3 --set seed=5 --network " + file("net.json") + " --data " +
                            file("data") + " --write-initial " + file("first.npz") + " --checkpoint " + file("c.npz");
  ASSERT_EQ(run_softamp(train).code, 0);
  const std::string first = run_softamp(fed + "--variables " + file("first.npz")).out;
  EXPECT_EQ(run_softamp(fed + "--seed 5").out, first);
  EXPECT_NE(run_softamp(fed + "--seed 6").out, first);
  const Outcome trained = run_softamp(fed + "--variables " + file("c.npz"));
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.err, "");
  EXPECT_NE(trained.out, first);
  // Weights of another network are no weights, though a file of them was given.
  const Tensor other = Tensor::full(DType::kFloat32, {2, 2}, 1);
  npz::write(file("other.npz"), std::vector<npz::Array>{{"d/kernle", &other}, {"zzz", &other}});
  const Outcome wrong = run_softamp(fed + "--variables " + file("other.npz"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err, "softamp run: --variables: '" + file("other.npz") +
                           "' has what the graph does not have: 'd/kernle' (nearest: d/kernel), 'zzz'; it lacks "
                           "variables of the graph: 'd/kernel', 'd/bias'; expected an array for each variable, or "
                           "--partial-variables\n");
  EXPECT_EQ(run_softamp(fed + "--seed 5 --partial-variables --variables " + file("other.npz")).out, first);
  EXPECT_EQ(run_softamp(fed + "--partial-variables").code, 2) << "without --variables it says nothing";
  // float16 has its own dtype of the input and of the weights.
  const std::string half = net + "--precision fp16 --feed inputs=" + save("h.npy", DType::kFloat16, {3, 2}, x);
  EXPECT_EQ(run_softamp(half).out.substr(0, 22), "outputs: float16 [3,2]");
  EXPECT_EQ(run_softamp(half + " --seed 6 --variables " + file("first.npz")).out, run_softamp(half + " --seed 5").out)
      << "weights of float32 are rounded, as the first ones are";
  EXPECT_NE(run_softamp(net + "--print text").out.find("inputs"), std::string::npos);
  write_text(file("g.json"), R"({"softamp_graph": 1, "nodes": [
    {"name": "x", "op": "Placeholder", "attributes": {"dtype": "float16", "shape": [4]}}]})");
  EXPECT_EQ(run_softamp("run " + file("g.json") + " --precision float16").err,
            "softamp run: --precision: 'float16': '" + file("g.json") +
                "' is a graph, which has its dtypes; expected it with a network's file\n");
  EXPECT_NE(run_softamp(net + "--precision float15").err.find("--precision: "), std::string::npos);
  const Outcome narrow = run_softamp(net + "--feed inputs=" + save("n.npy", DType::kFloat32, {3, 1}, {1, 2, 3}));
  EXPECT_EQ(narrow.code, 2);
  EXPECT_NE(narrow.err.find("'inputs'"), std::string::npos) << narrow.err;
}

}  // namespace
}  // namespace softamp::test
