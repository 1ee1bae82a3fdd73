// What tests of layers run their graphs with.
#pragma once

#include "softamp/graph/executor.h"

namespace softamp::test {

inline ExecutorOptions ieee_on_one_thread() {
  ExecutorOptions options;
  options.semantics = Semantics::ieee();
  options.threads = 1;
  return options;
}

}  // namespace softamp::test
