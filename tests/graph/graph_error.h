// The words with which a graph is refused.
#pragma once

#include <string>

#include "softamp/graph/graph.h"

namespace softamp::test {

template <class Action>
std::string message(Action action) {
  try {
    action();
  } catch (const GraphError& e) {
    return e.what();
  }
  return "no GraphError was thrown";
}

}  // namespace softamp::test
