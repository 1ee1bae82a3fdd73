// What a fuzzing target demands of the code under it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

inline void require_named(const std::exception& e) {
  require(std::string(e.what()).rfind("input: ", 0) == 0, "an error names the source");
}
