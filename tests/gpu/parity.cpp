// The parity suite on a GPU:
//   gpu_parity [--full | --small] [--budget SECONDS] [--json FILE] [FAMILY...]
// Exit code 0: no difference; 1: a difference, or an error; 2: usage; 77: no GPU to run on. Families that the budget
// leaves no time to begin are named as cut. --full: large cases have 10^7 elements, --small: 3000 [=10^6].
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tests/backend/parity.h"
#include "tests/gpu/install.h"
#include "tests/gpu/json_file.h"

namespace {

using namespace softamp;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Arguments {
  int64_t elements = 1000000;
  double budget = 1e9;
  std::string json;
  std::vector<std::string> families;
};

/// False: not understood.
bool read(int argc, char** argv, Arguments& a) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--full") {
      a.elements = 10000000;
    } else if (word == "--small") {
      a.elements = 3000;
    } else if ((word == "--budget" || word == "--json") && i + 1 < argc) {
      ++i;
      if (word == "--json")
        a.json = argv[i];
      else {
        char* end = nullptr;
        a.budget = std::strtod(argv[i], &end);
        if (end == argv[i] || *end || !(a.budget > 0)) return false;
      }
    } else if (word[0] == '-') {
      return false;
    } else {
      bool known = false;
      for (const parity::Family& f : parity::families()) known = known || word == f.name;
      if (!known) return false;
      a.families.push_back(word);
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: gpu_parity [--full | --small] [--budget SECONDS] [--json FILE] [FAMILY...]; families:");
    for (const parity::Family& f : parity::families()) std::fprintf(stderr, " %s", f.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  const gpu::Installed installed;
  std::string device;
  try {
    ExecutorOptions options;
    options.backend = "cuda";
    device = choose_backend(options).about;
  } catch (const std::exception& error) {
    std::printf("no GPU: %s\n", error.what());
    return 77;
  }
  std::printf("%s\n", device.c_str());

  const Clock::time_point start = Clock::now();
  parity::Report total;
  gpu::Object families;
  std::string cut;
  for (const parity::Family& family : parity::families()) {
    bool wanted = arguments.families.empty();
    for (const std::string& name : arguments.families) wanted = wanted || name == family.name;
    if (!wanted) continue;
    if (seconds_since(start) > arguments.budget) {
      cut += (cut.empty() ? "" : " ") + std::string(family.name);
      continue;
    }
    const Clock::time_point began = Clock::now();
    parity::Suite suite("cuda", arguments.elements);
    try {
      family.run(suite);
    } catch (const std::exception& error) {
      std::printf("ERROR %s: %s\n", family.name, error.what());
      ++total.failed;
      total.differences.push_back(std::string(family.name) + ": " + error.what());
    }
    const parity::Report& r = suite.report();
    char digest[17];
    std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(r.digest));
    std::printf("%-14s %6llu cases, %12llu elements, %4llu differ, digest %s  (%.1f s)\n", family.name,
                static_cast<unsigned long long>(r.cases), static_cast<unsigned long long>(r.elements),
                static_cast<unsigned long long>(r.failed), digest, seconds_since(began));
    std::fflush(stdout);
    families.add(family.name, gpu::Object()
                                  .add("cases", gpu::number(r.cases))
                                  .add("elements", gpu::number(r.elements))
                                  .add("differ", gpu::number(r.failed))
                                  .add("digest", gpu::quoted(digest))
                                  .add("seconds", gpu::number(seconds_since(began)))
                                  .text());
    total.cases += r.cases;
    total.elements += r.elements;
    total.failed += r.failed;
    total.digest = (total.digest ^ r.digest) * 0x100000001B3u;
    total.differences.insert(total.differences.end(), r.differences.begin(), r.differences.end());
  }
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(total.digest));
  if (!cut.empty()) std::printf("cut: %s\n", cut.c_str());
  std::printf("all: %llu cases, %llu elements, %llu differ, digest %s\n", static_cast<unsigned long long>(total.cases),
              static_cast<unsigned long long>(total.elements), static_cast<unsigned long long>(total.failed), digest);
  gpu::Object all;
  all.add("device", gpu::quoted(device))
      .add("size", gpu::number(static_cast<uint64_t>(arguments.elements)))
      .add("cases", gpu::number(total.cases))
      .add("elements", gpu::number(total.elements))
      .add("differ", gpu::number(total.failed))
      .add("digest", gpu::quoted(digest))
      .add("cut", gpu::quoted(cut))
      .add("first_difference", total.differences.empty() ? "null" : gpu::quoted(total.differences.front()))
      .add("families", families.text());
  if (!all.write(arguments.json)) {
    std::fprintf(stderr, "ERROR %s: cannot be written\n", arguments.json.c_str());
    return 1;
  }
  if (total.cases == 0 && cut.empty()) std::fprintf(stderr, "ERROR no case has run\n");
  return total.failed || (total.cases == 0 && cut.empty()) ? 1 : 0;
}
