#include "src/program/provenance.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "softamp/numerics/version.h"
#include "softamp/tensor/bulk.h"
#include "src/files/sha256.h"
#include "src/program/description/commit.h"
#include "src/program/usage.h"
#include "src/text/joined.h"
#include "src/text/printable.h"
#include "src/text/shell_word.h"

namespace softamp::program {
namespace {

/// Of this process, which runs one command.
struct Remembered {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< names, digests
  std::string instruction_set;
};

Remembered& remembered() {
  static Remembered all;
  return all;
}

std::string command() { return joined(remembered().words, " ", shell_word); }

/// A digest of less than all would be a wrong one. Throws UsageError.
std::string sha256_of(const std::filesystem::path& file) {
  const auto refuse = [&] {
    throw UsageError(files::printable(file.string()) + ": cannot be read: " + std::strerror(errno));
  };
  struct Open {
    int descriptor;
    ~Open() {
      if (descriptor >= 0) ::close(descriptor);
    }
  } const in{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.descriptor < 0) refuse();
  std::vector<char> piece(size_t{1} << 20);
  Sha256 digest;
  for (ssize_t bytes = 1; bytes != 0;) {
    bytes = ::read(in.descriptor, piece.data(), piece.size());
    if (bytes > 0) digest.add(piece.data(), static_cast<size_t>(bytes));
    if (bytes < 0 && errno != EINTR) refuse();
  }
  return digest.hex();
}

}  // namespace

void remember_command(int count, const char* const* words) {
  remembered().words = {"softamp"};
  if (count > 1) remembered().words.insert(remembered().words.end(), words + 1, words + count);
}

void remember_inputs(const files::RunFiles& files) {
  remembered().inputs.clear();
  for (const std::filesystem::path& file : files.inputs()) {
    std::error_code none;
    if (std::filesystem::is_regular_file(file, none)) remembered().inputs.emplace_back(file.string(), sha256_of(file));
  }
}

void remember_instruction_set(const std::string& name) { remembered().instruction_set = name; }

nlohmann::ordered_json provenance() {
  const Remembered& all = remembered();
  nlohmann::ordered_json json = {{"version", SOFTAMP_VERSION}};
  if (*kCommit) json["commit"] = kCommit;
  json["arithmetic"] = kArithmeticVersion;
  json["instruction_set"] =
      all.instruction_set.empty() ? bulk::name(bulk::best_instruction_set()) : all.instruction_set;
  json["command"] = command();
  if (!all.inputs.empty()) json["inputs"] = nlohmann::ordered_json::object();
  for (const auto& [name, digest] : all.inputs) json["inputs"][files::printable(name)] = digest;
  return json;
}

std::string provenance_line() {
  return "softamp " SOFTAMP_VERSION ", arithmetic " + std::to_string(kArithmeticVersion) + ": " + command();
}

}  // namespace softamp::program
