// A folder in which results are kept, and the program by which a kept result is known: what `softamp reproduce` and
// `softamp study` have in common.
#pragma once

#include <filesystem>
#include <string>

namespace softamp::reproduce {

/// The program that computes a result. Two of one digest are one program: a version has many builds, whose results
/// need not be the same.
struct Program {
  std::string version;
  std::string digest{};
  bool operator==(const Program&) const = default;
};
/// SHA-256 of the running program's file, in hexadecimal; empty where the system does not show it.
std::string program_digest();

/// Asked before a run: makes the folder where it is not there yet, and sees that files can be written to it. Throws
/// std::runtime_error: "'DIR': Not a directory; expected a folder that can be written to, or a place for one".
void make_folder(const std::filesystem::path& folder);

/// Whole or not at all. Throws std::runtime_error: "cannot write 'FILE': No space left on device".
void write_file(const std::filesystem::path& file, const std::string& text);

}  // namespace softamp::reproduce
