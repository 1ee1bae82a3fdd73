// A safetensors header, read part by part and checked in full.
#include <algorithm>
#include <utility>

#include "softamp/data/npy.h"
#include "src/data/npy_header.h"
#include "src/data/safetensors_layout.h"
#include "src/text/json_places.h"
#include "src/text/read_json.h"

namespace softamp::safetensors {
namespace {

std::string known_types() {
  std::string text;
  for (int i = 0; i < kElementTypes; ++i)
    text += (i == 0 ? "" : i + 1 == kElementTypes ? " or " : ", ") + std::string(name_of(static_cast<ElementType>(i)));
  return text;
}

/// Fills a header from the parts of its JSON.
// implements: N504, N506
class HeaderParts final : public JsonParts {
 public:
  HeaderParts(std::string_view text, std::string_view file, Header& header)
      : places_(text), file_(file), header_(header) {}

  bool null() override { return refuse_value("null"); }
  bool boolean(bool value) override { return refuse_value(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return refuse_value(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return refuse_value(text); }
  bool binary(binary_t&) override { return false; }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_ != In::kShape && in_ != In::kOffsets) return refuse_value(std::to_string(value));
    numbers().push_back(value);
    places_.next();
    return true;
  }
  bool string(string_t& value) override {
    const size_t at = places_.next();
    if (in_ == In::kMetadata) {
      header_.metadata.emplace(std::move(key_), std::move(value));
      return true;
    }
    if (in_ != In::kEntry || key_ != "dtype") refuse(at, "found " + npy::quoted(value));
    const std::optional<ElementType> type = parse_type(value);
    if (!type)
      fail(file_, kLengthBytes + at,
           here() + ": dtype " + npy::quoted(value) + " is not known; expected " + known_types());
    entry_.type = *type;
    has_type_ = true;
    return true;
  }
  bool key(string_t& name) override {
    const size_t at = places_.next();
    if (in_ == In::kEntry && name != "dtype" && name != "shape" && name != "data_offsets")
      fail(file_, kLengthBytes + at,
           here() + ": unknown key " + npy::quoted(name) + "; expected dtype, shape and data_offsets");
    key_ = std::move(name);
    return true;
  }
  bool start_object(size_t) override {
    const size_t at = places_.next();
    if (in_ == In::kFile) {
      in_ = In::kTensors;
    } else if (in_ != In::kTensors) {
      refuse(at, "found an object");
    } else if (key_ == kMetadataName) {
      in_ = In::kMetadata;
    } else {
      in_ = In::kEntry;
      entry_ = Entry{std::move(key_)};
      entry_at_ = at;
      offsets_.clear();
      has_type_ = has_shape_ = has_offsets_ = false;
    }
    return true;
  }
  bool end_object() override {
    places_.next();
    if (in_ == In::kEntry) end_entry();
    in_ = In::kTensors;
    return true;
  }
  bool start_array(size_t) override {
    const size_t at = places_.next();
    if (in_ != In::kEntry || key_ == "dtype") refuse(at, "found a list");
    in_ = key_ == "shape" ? In::kShape : In::kOffsets;
    (in_ == In::kShape ? has_shape_ : has_offsets_) = true;
    return true;
  }
  bool end_array() override {
    places_.next();
    in_ = In::kEntry;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  enum class In { kFile, kTensors, kMetadata, kEntry, kShape, kOffsets };

  std::vector<uint64_t>& numbers() { return in_ == In::kShape ? entry_.shape : offsets_; }

  /// What is being read.
  std::string here() const {
    return in_ == In::kMetadata                           ? "metadata " + npy::quoted(key_)
           : in_ == In::kTensors && key_ == kMetadataName ? std::string(kMetadataName)
                                                          : tensor_text(in_ == In::kTensors ? key_ : entry_.name);
  }
  const char* expected() const {
    switch (in_) {
      case In::kTensors:
        return key_ == kMetadataName ? "an object of strings" : "an object with dtype, shape and data_offsets";
      case In::kMetadata: return "a string";
      case In::kShape: return "an extent of the shape, a whole number of at least 0";
      case In::kOffsets: return "a whole number of at least 0, the first byte or the end";
      default: break;
    }
    return key_ == "dtype"   ? "a string for dtype"
           : key_ == "shape" ? "a list of extents for shape"
                             : "a list of two numbers for data_offsets";
  }
  [[noreturn]] void refuse(size_t at, const std::string& found) const {
    fail(file_, kLengthBytes + at, here() + ": " + found + "; expected " + expected());
  }
  bool refuse_value(const std::string& value) { refuse(places_.next(), "found " + value); }

  void end_entry() {
    const auto fault = [&](const std::string& what) { fail(file_, kLengthBytes + entry_at_, here() + ": " + what); };
    for (const auto& [has, key] :
         {std::pair{has_type_, "dtype"}, {has_shape_, "shape"}, {has_offsets_, "data_offsets"}})
      if (!has) fault(std::string("has no ") + key);
    if (offsets_.size() != 2)
      fault("data_offsets has " + std::to_string(offsets_.size()) + " numbers; expected 2, the first byte and the end");
    entry_.begin = offsets_[0], entry_.end = offsets_[1];
    const uint64_t bytes =
        measure(entry_, std::string(file_) + ": byte " + std::to_string(kLengthBytes + entry_at_) + ": " + here());
    if (entry_.end < entry_.begin || entry_.bytes() != bytes)
      fault("data_offsets [" + std::to_string(entry_.begin) + ", " + std::to_string(entry_.end) + "]; expected " +
            std::to_string(bytes) + " bytes, shape " + npy::shape_text(entry_.shape) + " of " + name_of(entry_.type));
    header_.tensors.push_back(std::move(entry_));
  }

  JsonPlaces places_;
  std::string_view file_;
  Header& header_;
  In in_ = In::kFile;
  std::string key_;
  Entry entry_;
  size_t entry_at_ = 0;
  std::vector<uint64_t> offsets_;
  bool has_type_ = false, has_shape_ = false, has_offsets_ = false;
};

/// Whether the tensors, in the order of their data, fill the rest of the file.
// implements: N504
void check_that_all_is_full(const Header& header, uint64_t file_size, std::string_view name) {
  uint64_t end = 0;
  for (const Entry& e : header.tensors) {
    if (e.begin != end)
      fail(name, header.data_offset + std::min(end, e.begin),
           tensor_text(e.name) + " begins at byte " + std::to_string(e.begin) + " of the data; expected " +
               std::to_string(end) + ", where the one before ends: there are no gaps, and no byte is of two tensors");
    end = e.end;
  }
  const uint64_t found = file_size - header.data_offset;
  if (found < end)
    fail(name, file_size,
         "the data are cut off: the header promises " + std::to_string(end) + " bytes from byte " +
             std::to_string(header.data_offset) + ", the file holds " + std::to_string(found));
  if (found > end)
    fail(name, header.data_offset + end,
         std::to_string(found - end) + " bytes too many: the header promises " + std::to_string(end) +
             " bytes from byte " + std::to_string(header.data_offset));
}

}  // namespace

uint64_t header_length(std::span<const std::byte> start, uint64_t file_size, std::string_view name) {
  if (start.size() < kLengthBytes)
    fail(name, start.size(), "the file is cut off; expected 8 bytes, the length of the header");
  uint64_t length = 0;
  for (uint64_t i = 0; i < kLengthBytes; ++i) length |= static_cast<uint64_t>(start[i]) << (8 * i);
  if (length > kMaxHeader)
    fail(name, 0,
         "not a .safetensors file: a header of " + std::to_string(length) + " bytes; expected at most " +
             std::to_string(kMaxHeader));
  if (length > file_size - kLengthBytes)
    fail(name, file_size, "the header is cut off; expected " + std::to_string(length) + " bytes from byte 8");
  return length;
}

// implements: N506
Header parse_header(std::span<const std::byte> start, uint64_t file_size, std::string_view name) {
  const uint64_t length = header_length(start, file_size, name);
  const std::string_view text = std::string_view(reinterpret_cast<const char*>(start.data()), start.size())
                                    .substr(kLengthBytes, static_cast<size_t>(length));
  if (text.size() != length)
    fail(name, start.size(), "the header is cut off; expected " + std::to_string(length) + " bytes from byte 8");
  if (!text.starts_with('{'))
    fail(name, kLengthBytes, "expected '{', the first byte of the header; found " + npy::quoted(text.substr(0, 8)));
  Header header;
  header.data_offset = kLengthBytes + length;
  HeaderParts parts(text, name, header);
  try {
    scan_json(text, std::string(name) + ": header", {static_cast<size_t>(kMaxHeader), 3}, parts);
  } catch (const JsonError& e) {
    throw Error(e.what());
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_that_all_is_full(header, file_size, name);
  return header;
}

}  // namespace softamp::safetensors
