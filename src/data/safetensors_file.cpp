// Reader and Writer of safetensors.h.
#include <algorithm>
#include <bit>
#include <utility>

#include "src/data/npy_header.h"
#include "src/data/safetensors_layout.h"
#include "src/data/told_as.h"
#include "src/files/output_file.h"
#include "src/files/regular_file.h"
#include "src/text/nearest_name.h"

namespace softamp::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "the data are handed out as they stand in the file");

/// "; it has "a" and "b"", of many the first ones.
std::string names_there(const std::vector<Entry>& tensors) {
  constexpr size_t kShown = 20;
  if (tensors.empty()) return "; the file has none";
  std::string text = "; the file has ";
  for (size_t i = 0; i < tensors.size() && i < kShown; ++i)
    text += (i == 0 ? "" : i + 1 == tensors.size() ? " and " : ", ") + npy::quoted(tensors[i].name);
  return text + (tensors.size() > kShown ? " and " + std::to_string(tensors.size() - kShown) + " more" : "");
}

[[noreturn]] void refuse_name(const std::string& path, std::string_view tensor, const std::vector<Entry>& tensors) {
  graph_detail::Nearest nearest(tensor);
  for (const Entry& e : tensors) nearest.offer(e.name);
  throw Error(path + ": there is no " + tensor_text(tensor) + names_there(tensors) +
              (nearest.best().empty() ? "" : ". Did you mean " + npy::quoted(nearest.best()) + "?"));
}

}  // namespace

Reader::Reader(const std::string& path) : path_(path) {
  told_as<Error>([&] {
    file_ = std::make_unique<files::RegularFile>(path, "a .safetensors file");
    const uint64_t size = file_->size();
    std::vector<std::byte> start(kLengthBytes);
    start.resize(file_->read_at(0, start.data(), start.size()));
    start.resize(kLengthBytes + static_cast<size_t>(header_length(start, size, path)));
    start.resize(file_->read_at(0, start.data(), start.size()));
    header_ = parse_header(start, size, path);
  });
  for (size_t i = 0; i < header_.tensors.size(); ++i) index_.emplace(header_.tensors[i].name, i);
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

bool Reader::has(std::string_view tensor) const { return index_.contains(tensor); }

const Entry& Reader::entry(std::string_view tensor) const {
  const auto at = index_.find(tensor);
  if (at == index_.end()) refuse_name(path_, tensor, header_.tensors);
  return header_.tensors[at->second];
}

void Reader::read(std::string_view tensor, uint64_t first, std::span<std::byte> out) const {
  const Entry& e = entry(tensor);
  if (first > e.bytes() || out.size() > e.bytes() - first)
    throw Error(path_ + ": " + tensor_text(tensor) + " has " + std::to_string(e.bytes()) + " bytes; " +
                std::to_string(out.size()) + " were asked for from byte " + std::to_string(first));
  const uint64_t offset = header_.data_offset + e.begin + first;
  if (told_as<Error>([&] { return file_->read_at(offset, out.data(), out.size()); }) != out.size())
    throw Error(path_ + ": the file was shortened while it was read, within " + tensor_text(tensor));
}

Writer::Writer(const std::string& path, std::vector<Entry> tensors, Metadata metadata)
    : path_(path), header_(arrange(std::move(tensors), std::move(metadata), path)), written_(header_.data_offset) {
  for (const Entry& e : header_.tensors)
    parts_.emplace(e.name, Part{header_.data_offset + e.begin, header_.data_offset + e.end});
  told_as<Error>([&] {
    out_ = std::make_unique<files::OutputFile>(path);
    out_->write(header_bytes(header_));
  });
}

Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::write(std::string_view tensor, std::span<const std::byte> bytes) {
  const auto at = parts_.find(tensor);
  if (at == parts_.end()) refuse_name(path_, tensor, header_.tensors);
  Part& part = at->second;
  if (bytes.size() > part.end - part.next)
    throw Error(path_ + ": " + std::to_string(bytes.size()) + " bytes more of " + tensor_text(tensor) +
                ", where its shape has room for " + std::to_string(part.end - part.next));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  told_as<Error>([&] { part.next == written_ ? out_->write(text) : out_->write_at(part.next, text); });
  if (part.next == written_) written_ += bytes.size();
  part.next += bytes.size();
}

void Writer::commit() {
  for (const auto& [name, part] : parts_)
    if (part.next != part.end)
      throw Error(path_ + ": " + std::to_string(part.end - part.next) + " bytes of " + tensor_text(name) +
                  " are missing");
  told_as<Error>([&] { out_->commit(); });
}

}  // namespace softamp::safetensors
