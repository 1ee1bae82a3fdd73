#include "softamp/data/npz.h"

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "src/data/archive.h"
#include "src/data/npy_header.h"
#include "src/data/npy_types.h"
#include "src/data/told_as.h"
#include "src/files/known_file.h"
#include "src/files/output_file.h"
#include "src/text/nearest_name.h"

namespace softamp::npz {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::string type_text(npy::ElementType type, const std::vector<uint64_t>& shape) {
  return std::string("'") + npy::descr(type) + "' " + npy::shape_text(shape);
}

}  // namespace

struct Reader::Impl {
  std::string file;
  std::vector<std::byte> own;
  std::vector<archive::PackedEntry> arrays;
  std::vector<std::string> names;
  std::map<std::string, size_t, std::less<>> at;  ///< of a name among them, the first
  std::set<std::string, std::less<>> entries;

  void open(std::span<const std::byte> bytes, uint64_t most_bytes) {
    const auto text = [&] { return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
    if (bytes.size() > 1 && text().substr(0, 2) != "PK")
      if (const std::string kind = files::known_kind(text(), file); !kind.empty())
        throw npy::Error(file + ": is " + kind + "; expected an archive of NumPy (.npz)");
    uint64_t total = 0;
    for (archive::PackedEntry& entry : archive::list_zip(bytes, file)) {
      total += entry.unpacked;
      entries.insert(entry.name);
      if (total > most_bytes)
        throw npy::Error(file + ": entry " + npy::quoted(entry.name) + ": the archive unpacks to more than the " +
                         std::to_string(most_bytes) + " bytes that are expected at most");
      if (!entry.name.ends_with(kSuffix)) continue;
      names.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
      at.try_emplace(names.back(), arrays.size());
      arrays.push_back(std::move(entry));
    }
    if (!arrays.empty() || entries.empty()) return;
    if (const std::string kind = files::known_kind(text(), file); kind.find("numpy.savez") != std::string::npos)
      throw npy::Error(file + ": is " + kind + "; expected an archive of NumPy (.npz)");
  }

  std::string place_of(std::string_view name) const { return file + ": " + std::string(name); }

  const archive::PackedEntry& find(std::string_view name) const {
    if (const auto found = at.find(name); found != at.end()) return arrays[found->second];
    graph_detail::Nearest nearest(name);
    for (const std::string& known : names) nearest.offer(known);
    throw npy::Error(file + ": there is no array " + npy::quoted(name) +
                     (names.empty()            ? "; the archive holds none"
                      : nearest.best().empty() ? "; expected one of its " + std::to_string(names.size()) +
                                                     " arrays, the first of them " + npy::quoted(names[0])
                                               : ". Did you mean " + npy::quoted(nearest.best()) + "?"));
  }

  npy::Header header(std::string_view name) const {
    const archive::PackedEntry& entry = find(name);
    return npy::parse_header(archive::unpack(entry, file, npy::kMaxHeader + 12), entry.unpacked, place_of(name));
  }

  Tensor tensor(std::string_view name, const npy::Header& header, bool as_bfloat16) const {
    const archive::PackedEntry& entry = find(name);
    return tensor_of_npy(archive::unpack(entry, file, entry.unpacked), header, as_bfloat16, place_of(name));
  }
};

Reader::Reader(const std::filesystem::path& file, uint64_t most_bytes) : impl_(std::make_unique<Impl>()) {
  told_as<npy::Error>([&] {
    impl_->file = file.string();
    impl_->own = archive::read_as_it_stands(file, most_bytes);
    impl_->open(impl_->own, most_bytes);
  });
}

Reader::Reader(std::span<const std::byte> bytes, std::string name, uint64_t most_bytes)
    : impl_(std::make_unique<Impl>()) {
  told_as<npy::Error>([&] {
    impl_->file = std::move(name);
    impl_->open(bytes, most_bytes);
  });
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

const std::vector<std::string>& Reader::names() const { return impl_->names; }

bool Reader::has(std::string_view name) const { return impl_->at.contains(name); }

bool Reader::has_entry(std::string_view entry) const { return impl_->entries.contains(entry); }

npy::Header Reader::header(std::string_view name) const {
  return told_as<npy::Error>([&] { return impl_->header(name); });
}

Tensor Reader::tensor(std::string_view name, bool as_bfloat16) const {
  return told_as<npy::Error>([&] {
    const npy::Header header = impl_->header(name);
    dtype_of(header.type, as_bfloat16, impl_->place_of(name));  // before it is unpacked
    return impl_->tensor(name, header, as_bfloat16);
  });
}

Tensor Reader::tensor(std::string_view name, const TensorType& expected) const {
  return told_as<npy::Error>([&] {
    const npy::Header header = impl_->header(name);
    const std::vector<uint64_t> shape(expected.shape.begin(), expected.shape.end());
    if (header.type != npy_type(expected.dtype) || header.shape != shape)
      throw npy::Error(impl_->place_of(name) + ": an array of " + type_text(header.type, header.shape) + "; expected " +
                       type_text(npy_type(expected.dtype), shape) + ", for " + name_of(expected.dtype));
    return impl_->tensor(name, header, expected.dtype == DType::kBFloat16);
  });
}

void write(const std::filesystem::path& file, std::span<const Array> arrays) {
  told_as<npy::Error>([&] {
    std::vector<archive::Entry> entries;
    for (const Array& array : arrays) {
      if (array.name.empty()) throw npy::Error(file.string() + ": an array without a name; expected a name for each");
      entries.push_back({array.name + std::string(kSuffix), npy_bytes(*array.value)});
    }
    files::OutputFile out(file);
    archive::write_zip(out, entries);
    out.commit();
  });
}

}  // namespace softamp::npz
