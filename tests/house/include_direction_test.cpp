// The arrows of the house (docs/ARCHITECTURE.md) hold in the tree as it is, and the checker sees each kind of fault.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "tests/house/include_rules.h"

namespace {

namespace fs = std::filesystem;
using softamp::house::faults_of;
using softamp::house::rooms;
using softamp::house::wrong_arrow;
using softamp::house::wrong_order;
using softamp::house::wrong_outside_header;

const fs::path kRoot = SOFTAMP_SOURCE_DIR;

// tests: N381, N387
TEST(IncludeDirection, HoldsInTheTree) {
  for (const std::string& fault : faults_of(kRoot)) ADD_FAILURE() << fault;
}

TEST(IncludeDirection, RoomsStandOnRoomsBeforeThem) {
  for (const std::string& fault : wrong_order(rooms())) ADD_FAILURE() << fault;
  EXPECT_EQ(wrong_order({{"cellar", {"cellar/"}, {"roof"}}, {"roof", {"roof/"}, {"cellar"}}}),
            std::vector<std::string>{"cellar: stands on roof, which does not come before it"});
}

TEST(IncludeDirection, KnowsEachArrow) {
  struct Case {
    const char* file;
    const char* target;
    bool allowed;
  };
  const Case cases[] = {
      {"include/softamp/numerics/round.h", "include/softamp/numerics/format.h", true},
      {"include/softamp/numerics/round.h", "include/softamp/tensor/bulk.h", false},
      {"include/softamp/numerics/round.h", "include/softamp/numerics/block/scale.h", false},
      {"include/softamp/numerics/block/scale.h", "include/softamp/numerics/round.h", true},
      {"include/softamp/numerics/round.h", "include/softamp/kernel/round.h", false},
      {"include/softamp/kernel/round.h", "include/softamp/numerics/round.h", true},
      {"include/softamp/kernel/round.h", "include/softamp/tensor/bulk.h", false},
      {"include/softamp/tensor/bulk.h", "include/softamp/numerics/round.h", true},
      {"include/softamp/names/names.h", "include/softamp/tensor/bulk.h", false},
      {"include/softamp/tensor/bulk.h", "emu/bulk.h", false},
      {"include/softamp/names/names.h", "src/names/name_rows.h", false},
      {"include/softamp/softamp.h", "include/softamp/names/names.h", true},
      {"include/softamp/softamp.h", "include/softamp/kernel/round.h", false},
      {"include/softamp/softamp.h", "include/softamp/engine/engine.h", false},
      {"include/softamp/engine/engine.h", "include/softamp/kernel/round.h", true},
      {"include/softamp/graph/graph.h", "include/softamp/engine/engine.h", false},
      {"emu/bulk/bulk.cpp", "include/softamp/kernel/round.h", true},
      {"cuda/bulk.cu", "include/softamp/engine/engine.h", true},
      {"emu/bulk/bulk.cpp", "cuda/bulk.h", false},
      {"emu/bulk/bulk.cpp", "src/data/npy_header.h", false},
      {"cuda/bulk.cu", "emu/bulk.h", false},
      {"cuda/bulk.cu", "src/backend.h", false},
      {"src/backend.cpp", "emu/bulk.h", true},
      {"src/data/npy.cpp", "emu/bulk.h", false},
      {"src/data/npy.cpp", "src/program/program.h", false},
      {"src/program/sum/sum.cpp", "src/program/program.h", true},
      {"src/pictures/plot.cpp", "src/files/output_file.h", true},
      {"src/files/output_file.cpp", "src/text/printable.h", true},
      {"src/text/printable.cpp", "src/files/output_file.h", false},
      {"src/data/npz.cpp", "include/softamp/graph/trace.h", false},
      {"src/graph/trace.cpp", "include/softamp/engine/settings.h", false},
      {"src/files/output_file.cpp", "include/softamp/names/names.h", false},
      {"src/program/sum/sum.cpp", "tests/oracle/exact.h", false},
      {"src/python/experiments.cpp", "src/reproduce/experiment.h", true},
      {"src/python/inspect.cpp", "src/program/program.h", false},
      {"src/names/names.cpp", "src/python/arrays.h", false},
      {"src/program/sum/sum.cpp", "src/python/arrays.h", false},
      {"emu/softmax/softmax.cpp", "emu/reductions/reduction_results.h", true},
      {"emu/softmax/softmax.cpp", "emu/parallel.h", true},
      {"emu/reductions/reduction.cpp", "emu/softmax/softmax.h", false},
      {"emu/parallel.cpp", "emu/bulk/plan.h", false},
      {"emu/engine.cpp", "emu/bulk/dispatch.h", true},
      {"cuda/norms/norm.cu", "cuda/reductions/tree_sum.h", true},
      {"cuda/products/product_float.cu", "cuda/convolutions/convolution_parts.h", false},
      {"include/softamp/train/trainer.h", "include/softamp/train/keras/layer.h", false},
      {"include/softamp/train/keras/layer.h", "include/softamp/train/layers.h", true},
      {"include/softamp/train/keras/layer.h", "include/softamp/train/mindspore/cell.h", false},
      {"src/train/keras/layer.cpp", "include/softamp/train/keras/layer.h", true},
      {"src/train/keras/layer.cpp", "src/train/cast_node.h", true},
      {"src/train/keras/layer.cpp", "include/softamp/train/mindspore/cell.h", false},
      {"src/train/trainer.cpp", "include/softamp/train/mindspore/cell.h", false},
      {"src/train/trainer.cpp", "src/train/mindspore/cell_model.h", false},
      {"src/program/train/train.cpp", "include/softamp/train/graphcore/estimator.h", false},
      {"tests/train/keras/keras_test.cpp", "include/softamp/train/keras/layer.h", true},
      {"examples/01_swamping.cpp", "include/softamp/softamp.h", true},
      {"examples/01_swamping.cpp", "include/softamp/kernel/round.h", false},
      {"examples/01_swamping.cpp", "src/data/npy_header.h", false},
      {"elsewhere/file.cpp", "include/softamp/softamp.h", false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(wrong_arrow(c.file, c.target).empty(), c.allowed) << c.file << " -> " << c.target;
}

TEST(IncludeDirection, KnowsOutsideHeaders) {
  EXPECT_TRUE(wrong_outside_header("include/softamp/numerics/round.h", "cstdint").empty());
  EXPECT_FALSE(wrong_outside_header("include/softamp/numerics/round.h", "vector").empty());
  EXPECT_FALSE(wrong_outside_header("include/softamp/numerics/round.h", "boost/random.hpp").empty());
  EXPECT_FALSE(wrong_outside_header("include/softamp/tensor/bulk.h", "oneapi/tbb.h").empty());
  EXPECT_TRUE(wrong_outside_header("include/softamp/tensor/bulk.h", "vector").empty());
  EXPECT_TRUE(wrong_outside_header("emu/bulk/bulk.cpp", "oneapi/tbb.h").empty());
}

// A small tree with one fault of each kind, written to disk and read back by the checker itself.
TEST(IncludeDirection, SeesPlantedFaults) {
  const fs::path root = fs::temp_directory_path() / ("softamp_house_" + std::to_string(getpid()));
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  write("include/softamp/numerics/good.h", "#pragma once\n#include <cstdint>\n");
  write("include/softamp/numerics/bad.h", "  #  include \"softamp/tensor/bulk.h\"\n");
  write("include/softamp/numerics/angled.h", "#include <softamp/tensor/bulk.h>\n");
  write("src/data/bad.cpp", "#include \"emu/bulk.h\"\n");
  write("emu/bulk.h", "#include \"../src/data/private.h\"\n");
  write("src/utils/fine.h", "");
  write("tests/long.cpp", std::string(601, '\n'));
  write("tests/just_fits.cpp", std::string(600, '\n'));
  for (int i = 0; i < 41; ++i) write("tests/crowded/" + std::to_string(i) + ".h", "");
  for (int i = 0; i < 40; ++i) write("tests/full/" + std::to_string(i) + ".h", "");

  const std::vector<std::string> found = faults_of(root);
  const std::set<std::string> faults(found.begin(), found.end());
  fs::remove_all(root);
  const std::set<std::string> planted = {
      "include/softamp/numerics/bad.h: may not include include/softamp/tensor/bulk.h: numerics does not stand on "
      "tensor",
      "include/softamp/numerics/angled.h: may not include include/softamp/tensor/bulk.h: numerics does not stand on "
      "tensor",
      "src/data/bad.cpp: may not include emu/bulk.h: data does not stand on emu",
      "emu/bulk.h: may not include src/data/private.h: emu does not stand on data",
      "src/utils: a folder is named for what is in it, not utils",
      "tests/long.cpp: has 601 lines, more than 600",
      "tests/crowded: has 41 files, more than 40",
  };
  EXPECT_EQ(faults, planted);
}

TEST(Umbrella, IncludesEveryHeaderForUsers) {
  std::ifstream in(kRoot / "include/softamp/softamp.h");
  ASSERT_TRUE(in) << "include/softamp/softamp.h is not there";
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / "include/softamp")) {
    const std::string name = fs::relative(entry.path(), kRoot / "include").generic_string();
    if (entry.path().extension() != ".h" || name == "softamp/softamp.h") continue;
    const bool included = text.find("#include \"" + name + "\"") != std::string::npos;
    // The last one needs GoogleTest; the environment is what computing on the host sets.
    const bool for_all = name.rfind("softamp/kernel/", 0) != 0 && name.rfind("softamp/engine/", 0) != 0 &&
                         name != "softamp/machine/float_environment.h" && name != "softamp/findings/gtest.h";
    EXPECT_EQ(included, for_all) << name;
  }
}

}  // namespace
