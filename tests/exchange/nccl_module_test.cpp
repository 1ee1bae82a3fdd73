// Where the module of NCCL is looked for, in a build that has none.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

#include "src/exchange/nccl_exchange.h"
#include "tests/files.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

TEST(NcclModule, IsLookedForBesideTheProgramAndWhereItIsInstalled) {
  ::unsetenv("SOFTAMP_NCCL_MODULE");
  const std::string said = refusal<std::runtime_error>([] { nccl_table(); });
  if (said.empty()) GTEST_SKIP() << "this build has the module";
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  EXPECT_TRUE(said.starts_with("no NCCL module: there is no " + folder + "/libsoftamp_nccl.so, /")) << said;
  EXPECT_TRUE(contains(said, "/softamp/libsoftamp_nccl.so; expected softamp built where nvcc and nccl.h are")) << said;
}

TEST(NcclModule, IsTheOneThatTheEnvironmentNames) {
  const TemporaryFolder folder;
  const std::string file = folder.file("module.so");
  ::setenv("SOFTAMP_NCCL_MODULE", file.c_str(), 1);
  const auto said = [] { return refusal<std::runtime_error>([] { nccl_table(); }); };
  const std::string absent = said();
  write_text(file, "no library");
  const std::string broken = said();
  ::unsetenv("SOFTAMP_NCCL_MODULE");
  if (absent.empty()) GTEST_SKIP() << "this build has the module, and it is loaded";
  EXPECT_TRUE(absent.starts_with("no NCCL module: there is no " + file + "; expected")) << absent;
  EXPECT_TRUE(broken.starts_with(file + " cannot be loaded: ")) << broken;
}

}  // namespace
}  // namespace softamp::test
