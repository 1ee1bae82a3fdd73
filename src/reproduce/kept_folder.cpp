#include "src/reproduce/kept_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "src/files/file_lock.h"
#include "src/files/output_file.h"
#include "src/report/sha256.h"

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
  if (in.bad()) throw std::runtime_error("the program's own file cannot be read: " + std::string(std::strerror(errno)));
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
  try {
    files::try_output(folder / "softamp");
  } catch (const files::LockedError&) {  // another run finds out the same just now
  } catch (const files::OutputError& e) {
    refuse(e.reason);
  }
}

}  // namespace softamp::reproduce
