// How much memory there is: the least of what machine, control groups and limits give, each of them in its turn.
#include "src/machine/machine_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/files.h"

namespace softamp::engine {
namespace {

namespace fs = std::filesystem;

class Machine : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    const fs::path file = folder_.file(name);
    fs::create_directories(file.parent_path());
    test::write_text(file, text);
  }
  void has(uint64_t kilobytes, uint64_t swap) const {
    put("proc/meminfo", "MemTotal:       " + std::to_string(kilobytes) +
                            " kB\nMemFree:  5 kB\nSwapTotal:  " + std::to_string(swap) + " kB\n");
  }
  MachineMemory memory(const ProcessLimits& limits = {}) const { return machine_memory(limits, folder_.path()); }
  test::TemporaryFolder folder_;
};

TEST_F(Machine, NothingIsKnownOfOneThatSaysNothing) {
  EXPECT_EQ(memory().bytes, UINT64_MAX);
  put("proc/meminfo", "MemTotal: many kB\nSwapTotal:\n");
  put("proc/self/cgroup", "\n0\n0:\n::\nx\n0::/a\n");
  put("sys/fs/cgroup/a/memory.max", "");
  EXPECT_EQ(memory().bytes, UINT64_MAX);
}

TEST_F(Machine, HasMemoryAndSwap) {
  has(1000, 24);
  EXPECT_EQ(memory().bytes, 1024u * 1024);
  EXPECT_EQ(memory().text(), "1048576 bytes (this machine, swap included)");
  has(UINT64_MAX / 1024, 1000);
  EXPECT_EQ(memory().bytes, UINT64_MAX) << "a sum that is none";
}

TEST_F(Machine, AGroupOfVersion2MayHaveLess) {
  has(1000, 24);
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(memory().of, "this machine, swap included");
  put("sys/fs/cgroup/a/memory.max", "500000\n");
  EXPECT_EQ(memory().bytes, 500000u + 24 * 1024) << "all of the swap";
  EXPECT_EQ(memory().of, "its control group");
  put("sys/fs/cgroup/a/memory.swap.max", "1000\n");
  EXPECT_EQ(memory().bytes, 501000u);
  put("sys/fs/cgroup/a/b/memory.max", "400000\n");
  put("sys/fs/cgroup/a/b/memory.swap.max", "0\n");
  EXPECT_EQ(memory().bytes, 400000u) << "the least, of the group or above it";
  put("sys/fs/cgroup/a/b/memory.max", "1000000000000\n");
  EXPECT_EQ(memory().bytes, 501000u);
  // A container sees its own group as the root, under a path that is the host's.
  put("proc/self/cgroup", "0::/docker/123\n");
  EXPECT_EQ(memory().of, "this machine, swap included");
  put("sys/fs/cgroup/memory.max", "300000\n");
  put("sys/fs/cgroup/memory.swap.max", "0\n");
  EXPECT_EQ(memory().bytes, 300000u);
}

TEST_F(Machine, SoMayOneOfVersion1) {
  has(1000, 24);
  put("proc/self/cgroup", "5:cpu:/a\n4:hugetlb,memory:/a\n1:name=systemd:/\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory().of, "this machine, swap included");
  put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "600000\n");
  EXPECT_EQ(memory().bytes, 600000u + 24 * 1024);
  put("sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", "610000\n");
  EXPECT_EQ(memory().bytes, 610000u);
}

TEST_F(Machine, LimitsOfTheProcessCountToo) {
  has(1000, 0);
  EXPECT_EQ(memory({1024 * 1000 - 1, UINT64_MAX}).text(), "1023999 bytes (ulimit -v)");
  EXPECT_EQ(memory({1024 * 1000 + 1, UINT64_MAX}).of, "this machine, swap included");
  EXPECT_EQ(memory({900000, 800000}).text(), "800000 bytes (ulimit -d)");
}

TEST(MachineMemory, IsOfThisProcess) {
  const MachineMemory now = machine_memory();
  EXPECT_GT(now.bytes, uint64_t{1} << 24) << now.of << ": the tests run in more";
  EXPECT_LT(now.bytes, uint64_t{1} << 50) << "/proc/meminfo is read";
  EXPECT_FALSE(now.of.empty());
}

}  // namespace
}  // namespace softamp::engine
