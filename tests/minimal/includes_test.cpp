// The sources of a minimal build, and its programs, include the standard library, the system and themselves: no
// package.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "tests/house/include_rules.h"

namespace softamp::house {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = SOFTAMP_SOURCE_DIR;

/// Headers of the system, the compiler, and CUDA; the last two under conditions.
const std::set<std::string> kSystem = {
    "dlfcn.h",     "sched.h",    "unistd.h",       "emmintrin.h", "immintrin.h",        "cpuid.h",
    "xmmintrin.h", "sys/mman.h", "sys/resource.h", "x86intrin.h", "cuda_runtime_api.h", "sanitizer/tsan_interface.h",
    "fcntl.h",     "poll.h",     "spawn.h",        "sys/file.h",  "sys/socket.h",       "sys/stat.h",
    "sys/types.h", "sys/wait.h", "arm_neon.h"};

/// "FILE: <header>" of all that is included from outside, by any file that `start` leads to.
/// `stood_for`: what src/minimal/packages has in the place of a package counts as inside.
std::set<std::string> outside(std::deque<std::string> start, bool stood_for = false) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^">]+)[">])");
  std::set<std::string> seen(start.begin(), start.end()), found;
  for (; !start.empty(); start.pop_front()) {
    const std::string file = start.front();
    std::ifstream in(kRoot / file);
    if (!in) found.insert(file + ": is not there");
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, kInclude)) continue;
      const std::string name = match[2];
      if (match[1] == "<" && !starts_with(name, "softamp/")) {
        if (stood_for && fs::exists(kRoot / "src/minimal/packages" / name)) continue;
        if (name.find_first_of("./") != std::string::npos && !kSystem.contains(name))
          found.insert(file + ": <" + name + ">");
        continue;
      }
      const std::string target = resolve(kRoot, file, name);
      if (seen.insert(target).second) start.push_back(target);
    }
  }
  return found;
}

/// Adds the files of a list of CMake's.
void add_listed(std::deque<std::string>& files, const char* list) {
  std::ifstream in(std::string(SOFTAMP_MINIMAL_LISTS) + list + ".txt");
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) files.push_back(fs::relative(line, kRoot).generic_string());
}

TEST(Minimal, IncludesNoPackage) {
  std::deque<std::string> files;
  add_listed(files, "minimal_sources");
  EXPECT_GT(files.size(), 150u);
  for (const char* folder : {"cuda", "tests/gpu"})
    for (const auto& entry : fs::directory_iterator(kRoot / folder))
      if (is_source(entry.path()) && entry.path().extension() != ".sh")
        files.push_back(fs::relative(entry.path(), kRoot).generic_string());
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/backend"))
    if (const std::string name = entry.path().filename().string();
        is_source(entry.path()) && name.find("_test.") == std::string::npos)
      files.push_back("tests/backend/" + name);
  for (const std::string& fault : outside(files)) ADD_FAILURE() << fault;
}

TEST(Minimal, ItsCommandIncludesNoPackageButThoseThatWeStandFor) {
  std::deque<std::string> files;
  add_listed(files, "minimal_json_sources");
  add_listed(files, "minimal_program_sources");
  EXPECT_GT(files.size(), 20u);
  for (const std::string& fault : outside(files, true)) ADD_FAILURE() << fault;
  EXPECT_TRUE(outside(files).contains("src/train/checkpoint.cpp: <nlohmann/json.hpp>"));
}

TEST(Minimal, SeesAPackage) {
  EXPECT_TRUE(outside({"src/graph/trace.cpp"}).contains("src/graph/trace.cpp: <nlohmann/json.hpp>"));
  EXPECT_TRUE(
      outside({"src/sums/running_sum.cpp"}).contains("src/numbers/dyadic.h: <boost/multiprecision/cpp_int.hpp>"));
  EXPECT_TRUE(outside({"emu/parallel_tbb.cpp"}).contains("emu/parallel_tbb.cpp: <oneapi/tbb/info.h>"));
}

}  // namespace
}  // namespace softamp::house
