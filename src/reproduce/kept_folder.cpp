#include "src/reproduce/kept_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "src/report/sha256.h"
#include "src/report/whole_file.h"

namespace softamp::reproduce {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string program_digest() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  if (!in) return {};
  Sha256 digest;
  std::string part(1 << 20, '\0');
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0)
    digest.add(part.data(), static_cast<size_t>(in.gcount()));
  return digest.hex();
}

void make_folder(const fs::path& folder) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("'" + folder.string() + "': " + why +
                             "; expected a folder that can be written to, or a place for one");
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(error.message());
  const fs::path probe = folder / (".softamp." + std::to_string(::getpid()) + ".probe");
  if (!write_whole_file(probe, "")) refuse(std::strerror(errno));
  fs::remove(probe, error);
}

void write_file(const fs::path& file, const std::string& text) {
  if (!write_whole_file(file, text))
    throw std::runtime_error("cannot write '" + file.string() + "': " + std::strerror(errno));
}

}  // namespace softamp::reproduce
