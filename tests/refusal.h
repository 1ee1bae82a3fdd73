// With which words something is refused.
#pragma once

#include <string>

namespace softamp::test {

/// The words of the `Error` that `act` throws; "" where it throws nothing. Any other error goes on, and fails the test.
template <class Error, class Act>
std::string refusal(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace softamp::test
