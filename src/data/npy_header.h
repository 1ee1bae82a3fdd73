// The dictionary in a .npy header, which uses a small part of Python's grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::npy {

/// The three entries of the dictionary; only their Python types are checked.
struct HeaderFields {
  std::string descr;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
};

/// Reads `text`, which begins at byte `offset` of the file `name`. Keys in any order, each exactly once, no others.
/// Throws Error with the offset of the first byte that does not fit.
HeaderFields parse_dictionary(std::string_view text, uint64_t offset, std::string_view name);

/// Throws Error: "name: byte N: message".
[[noreturn]] void fail(std::string_view name, uint64_t offset, const std::string& message);

/// Text made safe to print: cut after 40 characters, unprintable ones as \xNN.
std::string quoted(std::string_view text);

}  // namespace softamp::npy
