// A function with a body of its own for a device is judged on the device (tests/gpu/twins.h): no branch is forgotten.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/gpu/twins.h"

namespace softamp::test {
namespace {

const std::filesystem::path kRoot = SOFTAMP_SOURCE_DIR;

TEST(DeviceBranches, AreAllAmongTheTwins) {
  std::map<std::string, int> found;
  for (const char* folder : {"include", "cuda", "src", "emu"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);)
        if (line.starts_with("#") &&
            (line.find("__CUDA_ARCH__") != std::string::npos || line.find("__CUDA_ARCH_FEAT_") != std::string::npos))
          ++found[std::filesystem::relative(entry.path(), kRoot).generic_string()];
    }
  std::map<std::string, int> known;
  for (const twins::Branches& b : twins::kBranches) known[b.file] = b.count;
  EXPECT_EQ(found, known) << "expected a row in tests/gpu/twins.h for each function with a device's body";
}

/// Every row has operands that matter: results are not all alike.
TEST(DeviceBranches, RowsGiveManyResults) {
  for (int row = 0; row < twins::kRows; ++row) {
    const auto [name, kind] = twins::kRowInfo[row];
    std::map<uint64_t, int> results;
    for (uint64_t i = 0; i < 2000; ++i)
      ++results[twins::result(row, twins::operand(kind, i, 0), twins::operand(kind, i, 1), twins::operand(kind, i, 2))];
    EXPECT_GT(results.size(), 30u) << name;
  }
}

}  // namespace
}  // namespace softamp::test
