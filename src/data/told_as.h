// What files throw, as the error of a header's own.
#pragma once

#include <stdexcept>

#include "src/files/input_file.h"

namespace softamp {

/// What `act` gives. What it throws of files (InputError, OutputError, LockedError, DataError) becomes an Error of the
/// same words.
template <class Error, class Act>
auto told_as(Act&& act) {
  try {
    return act();
  } catch (const Error&) {
    throw;
  } catch (const files::InputError& e) {
    throw Error(e.what());
  } catch (const std::runtime_error& e) {
    throw Error(e.what());
  }
}

}  // namespace softamp
