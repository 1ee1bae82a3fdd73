#include "src/reproduce/kept_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "softamp/graph/trace.h"
#include "src/files/file_lock.h"
#include "src/files/output_file.h"

namespace softamp::reproduce {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string program_digest() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  if (!in) return {};
  std::string file(fs::file_size("/proc/self/exe"), '\0');
  if (!in.read(file.data(), static_cast<std::streamsize>(file.size())))
    throw std::runtime_error("the program's own file cannot be read: " + std::string(std::strerror(errno)));
  return hash_text(file.data(), file.size());
}

void make_folder(const fs::path& folder) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("'" + folder.string() + "': " + why +
                             "; expected a folder that can be written to, or a place for one");
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(error.message());
  try {
    files::try_output(folder / "softamp");
  } catch (const files::LockedError&) {  // another run finds out the same just now
  } catch (const files::OutputError& e) {
    refuse(e.reason);
  }
}

}  // namespace softamp::reproduce
