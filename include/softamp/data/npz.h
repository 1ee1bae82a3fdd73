// Several arrays in one file: NumPy's .npz, a zip archive with an entry NAME.npy for each array.
//
// Read are the entries that numpy.savez stores and those that numpy.savez_compressed deflates (these not by a minimal
// build); written are stored ones. An array is unpacked when it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/data/npy.h"
#include "softamp/tensor/tensor.h"

/// Everything here throws npy::Error: the file, the array, what was found and what was expected.
namespace softamp::npz {

/// Longest file that is read by default, and most bytes that its arrays have together.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 32;

class Reader {
 public:
  /// Reads the file as it stands, and its directory. Refused are more than `most_bytes`, packed or unpacked, and an
  /// entry that promises more than deflate can hold: so a small file cannot demand much memory.
  explicit Reader(const std::filesystem::path& file, uint64_t most_bytes = kMostBytes);
  /// The same of bytes, which outlive the reader; `name` stands for the file in errors.
  Reader(std::span<const std::byte> bytes, std::string name, uint64_t most_bytes = kMostBytes);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  /// Of the arrays, in the order of the archive, without ".npy". Entries that do not end in it are no arrays.
  const std::vector<std::string>& names() const;
  bool has(std::string_view name) const;
  /// Whether the archive has an entry of this full name, an array or not: "checkpoint.json".
  bool has_entry(std::string_view entry) const;

  /// Type and shape; no more than the header is unpacked. An unknown name is refused with the nearest.
  npy::Header header(std::string_view name) const;
  /// The array, as load_npy reads it: f2 f4 f8 i4 i8 u1 b1, and u2 as bfloat16 where `as_bfloat16`.
  Tensor tensor(std::string_view name, bool as_bfloat16 = false) const;
  /// The array that has this dtype and shape (bfloat16: u2). Another one is refused before it is unpacked.
  Tensor tensor(std::string_view name, const TensorType& expected) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// An array to be written; the tensor lives until `write` returns.
struct Array {
  std::string name;
  const Tensor* value;
};

/// Writes the arrays under their names, whole or not at all; bfloat16 as u2. numpy.load reads it; equal arrays give
/// equal files. Names are not empty, each once; an array or the file beyond 2^32 bytes is refused.
void write(const std::filesystem::path& file, std::span<const Array> arrays);

}  // namespace softamp::npz
