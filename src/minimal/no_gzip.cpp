// Instead of src/data/archive_gzip.cpp and archive_tar.cpp: without libarchive, packed files are refused.
#include "src/data/archive.h"

namespace softamp::archive {
namespace {

[[noreturn]] void refuse(const std::string& name, const char* what) {
  fail(name, 0, std::string(what) + ", and this build (SOFTAMP_MINIMAL=ON) unpacks nothing; expected it unpacked");
}

}  // namespace

struct Source::Gzip {};

void Source::open_gzip() { refuse(name_, "a gzipped file"); }
std::span<const std::byte> Source::next_unpacked() { return {}; }

std::vector<Entry> read_tar(Source& source, const std::function<uint64_t(std::string_view)>&) {
  refuse(source.name(), "a tar archive");
}

}  // namespace softamp::archive
