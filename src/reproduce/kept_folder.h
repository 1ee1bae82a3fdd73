// A folder in which results are kept, and the identity of the program that computed them: shared by `softamp reproduce`
// and `softamp study`.
#pragma once

#include <filesystem>
#include <string>

namespace softamp::reproduce {

/// The program that computes a result. Programs with one digest are the same; builds of one version may differ in
/// results.
struct Program {
  std::string version;
  std::string digest{};
  bool operator==(const Program&) const = default;
};
/// XXH3-128 of the running program's file, in hexadecimal; empty if the system does not show it.
std::string program_digest();

/// Call before a run: makes the folder if it does not exist, and checks that files can be written to it. Throws
/// std::runtime_error: "'DIR': Not a directory; expected a folder that can be written to, or a place for one".
void make_folder(const std::filesystem::path& folder);

}  // namespace softamp::reproduce
