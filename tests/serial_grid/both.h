// One test, two backends: the same thing done on emu and on the CUDA engine, and what came of it as text.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "tests/files.h"
#include "tests/serial_grid/serial_grid.h"

namespace softamp::test {

/// While it lives, "cuda" is the CUDA engine on the host.
class BothBackends : public ::testing::Test {
 private:
  serial_grid::Installed installed_;
};

/// What `act(backend)` says, or the error that it ends with.
template <class Act>
std::string said(Act&& act, const char* backend) {
  try {
    return act(std::string(backend));
  } catch (const std::exception& e) {
    return std::string("error: ") + e.what();
  }
}

/// Says on "cuda" what it says on "emu"; returns that.
template <class Act>
std::string said_on_both(Act&& act) {
  const std::string expected = said(act, "emu");
  EXPECT_EQ(said(act, "cuda"), expected);
  return expected;
}

}  // namespace softamp::test
