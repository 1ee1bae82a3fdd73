// What an error says, in words for people.
#pragma once

#include <exception>
#include <string>

namespace softamp {

/// e.what(); for errors of libraries, whose texts are names of functions and codes, their reason: "there is not enough
/// memory", "key 'step' not found", "'/x': Permission denied".
std::string reason_of(const std::exception& e);

}  // namespace softamp
