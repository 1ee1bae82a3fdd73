// The program around the parity suite: PROGRAM [--full | --names] [FAMILY [FILTER]]. --names: a line "FAMILY NAME" for
// each case, none of which runs. Exit code 0: no difference; 1: one, or no case; 2: usage.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "parity.h"

namespace softamp::parity {

/// `elements`, `part` of `parts`: see Suite; `full`: elements with --full.
inline int main_of(int argc, char** argv, int64_t elements, int64_t full, uint64_t part = 0, uint64_t parts = 1) {
  int next = 1;
  if (next < argc && std::strcmp(argv[next], "--full") == 0) elements = full, ++next;
  const bool names_alone = next < argc && std::strcmp(argv[next], "--names") == 0;
  next += names_alone;
  const std::string wanted = next < argc ? argv[next++] : "", filter = next < argc ? argv[next++] : "";
  bool any = false;
  uint64_t failed = 0, cases = 0;
  for (const Family& family : families()) {
    if (!wanted.empty() && wanted != "all" && wanted != family.name) continue;
    any = true;
    const auto start = std::chrono::steady_clock::now();
    Suite suite("cuda", elements, filter, part, parts);
    std::vector<std::string> names;
    if (names_alone) suite.only_name(names);
    family.run(suite);
    for (const std::string& name : names) std::printf("%s %s\n", family.name, name.c_str());
    cases += names.size();
    if (names_alone) continue;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Report& r = suite.report();
    std::printf("%-14s %6llu cases, %12llu elements, %4llu differ  (%.1f s)\n", family.name,
                static_cast<unsigned long long>(r.cases), static_cast<unsigned long long>(r.elements),
                static_cast<unsigned long long>(r.failed), seconds);
    std::fflush(stdout);
    failed += r.failed;
    cases += r.cases;
  }
  if (!any) {
    std::fprintf(stderr, "no family '%s'; known:", wanted.c_str());
    for (const Family& family : families()) std::fprintf(stderr, " %s", family.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  if (cases == 0) std::fprintf(stderr, "no case has run\n");
  return failed || cases == 0 ? 1 : 0;
}

}  // namespace softamp::parity
