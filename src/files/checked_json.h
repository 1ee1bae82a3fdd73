// JSON documents in files that say whether they are as they were written.
#pragma once

#include <string>
#include <string_view>

namespace softamp {

/// The text of a JSON object with a last member "checksum": SHA-256 of all that stands before it.
std::string with_checksum(std::string_view object);

/// Throws std::invalid_argument where a text has no such member, or another checksum than it says.
void verify_checksum(std::string_view text);

}  // namespace softamp
