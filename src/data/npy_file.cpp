// Reader and Writer of npy.h.
#include <algorithm>

#include "softamp/data/npy.h"
#include "src/data/told_as.h"
#include "src/files/output_file.h"
#include "src/files/regular_file.h"

namespace softamp::npy {

Reader::Reader(const std::string& path) : path_(path) {
  file_ = told_as<Error>([&] { return std::make_unique<files::RegularFile>(path, "a .npy file"); });
  std::vector<std::byte> start(std::min<uint64_t>(file_->size(), kMaxHeader + 12));
  start.resize(told_as<Error>([&] { return file_->read_at(0, start.data(), start.size()); }));
  header_ = parse_header(start, file_->size(), path);
}

Reader::~Reader() = default;

size_t Reader::read(void* out, size_t capacity) {
  const size_t count = static_cast<size_t>(std::min<uint64_t>(capacity, header_.elements - next_));
  const size_t size = size_of(header_.type), bytes = count * size;
  if (told_as<Error>([&] { return file_->read_at(header_.data_offset + next_ * size, out, bytes); }) != bytes)
    throw Error(path_ + ": the file was shortened while it was read, after element " + std::to_string(next_));
  next_ += count;
  return count;
}

Writer::Writer(const std::string& path, ElementType type, std::span<const uint64_t> shape)
    : path_(path), type_(type), missing_(element_count(shape, size_of(type), path)) {
  const std::string header = make_header(type, shape);
  told_as<Error>([&] {
    out_ = std::make_unique<files::OutputFile>(path);
    out_->write(header);
  });
}

Writer::~Writer() = default;

void Writer::write(const void* elements, size_t count) {
  if (count > missing_)
    throw Error(path_ + ": " + std::to_string(count) + " elements more, where the shape has room for " +
                std::to_string(missing_));
  told_as<Error>([&] { out_->write({static_cast<const char*>(elements), count * size_of(type_)}); });
  missing_ -= count;
}

void Writer::commit() {
  if (missing_ > 0) throw Error(path_ + ": " + std::to_string(missing_) + " elements of its shape are missing");
  told_as<Error>([&] { out_->commit(); });
}

}  // namespace softamp::npy
