// Archives of arrays: NumPy's, and checkpoints.
#include "src/data/npz_tensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "softamp/data/npy.h"
#include "src/data/archive.h"

#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

class NpzTensors : public ::testing::Test {
 protected:
  archive::Entry array(const std::string& name, const Tensor& value) const {
    save_npy(value, folder_.file("a.npy"));
    return text(name, read_text(folder_.file("a.npy")));
  }
  static archive::Entry text(const std::string& name, const std::string& bytes) {
    archive::Entry entry{name, std::vector<std::byte>(bytes.size())};
    if (!bytes.empty()) std::memcpy(entry.bytes.data(), bytes.data(), bytes.size());
    return entry;
  }
  std::map<std::string, Tensor> loaded(const std::vector<archive::Entry>& entries) const {
    files::OutputFile out(folder_.file("f.npz"));
    archive::write_zip(out, entries);
    out.commit();
    return load_npz(folder_.file("f.npz"));
  }
  TemporaryFolder folder_;
};

const Tensor& three() {
  static const Tensor kThree = Tensor::full(DType::kFloat32, {2}, 3);
  return kThree;
}

TEST_F(NpzTensors, ArraysByName) {
  const auto all =
      loaded({array("x.npy", three()), array("dense/kernel.npy", Tensor::full(DType::kBFloat16, {1, 2}, -1)),
              array("flags.npy", Tensor::full(DType::kBool, {3}, 1)), array("none.npy", Tensor(DType::kInt64, {0}))});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_TRUE(all.at("x").same_bits(three()));
  EXPECT_EQ(all.at("dense/kernel").type(), (TensorType{DType::kBFloat16, Shape{1, 2}}));
  EXPECT_EQ(all.at("dense/kernel").value(1), -1);
  EXPECT_EQ(all.at("flags").value(2), 1);
  EXPECT_EQ(all.at("none").elements(), 0);
}

TEST_F(NpzTensors, OfACheckpointTheVariables) {
  const archive::Entry json = text("checkpoint.json", "{}");
  const auto one = loaded({array("variables/dense/kernel.npy", three()), json});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one.at("dense/kernel").same_bits(three()));
  const auto replicas =
      loaded({array("0/w.npy", three()), array("1/w.npy", Tensor::full(DType::kFloat32, {2}, 4)), json});
  ASSERT_EQ(replicas.size(), 1u);
  EXPECT_TRUE(replicas.at("w").same_bits(three()));
}

TEST_F(NpzTensors, FaultsNameTheEntry) {
  const auto fault = [&](const std::vector<archive::Entry>& entries) {
    const std::string why = refusal<std::runtime_error>([&] { loaded(entries); });
    return why.substr(std::min(why.size(), folder_.file("f.npz").size()));
  };
  EXPECT_EQ(fault({text("x.txt", "a")}), "") << "no array: passed over";
  EXPECT_EQ(fault({text("x.npy", "abc")}).find(": x: "), 0u);
  write_text(folder_.file("g.npz"), "no archive");
  EXPECT_NE(refusal<std::runtime_error>([&] { load_npz(folder_.file("g.npz")); }).find("g.npz"), std::string::npos);
}

}  // namespace
}  // namespace softamp::test
