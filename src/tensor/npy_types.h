// Tensors and .npy headers: dtypes as element types, extents as shapes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "softamp/data/npy.h"
#include "softamp/tensor/tensor.h"

namespace softamp {

/// How a dtype is stored; bfloat16 as unsigned 16-bit integers.
npy::ElementType npy_type(DType t);

/// The header's shape. Throws npy::Error, beginning with `name`, for an extent above 2^40 or an impossible Shape.
Shape shape_of(const npy::Header& header, const std::string& name);

/// The tensor of a .npy file's bytes, as load_npy. Throws npy::Error, with `name` as the file's name.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name, bool as_bfloat16);

/// The tensor of a .npy file in pieces: load_npy for files of any size.
class TensorPieces {
 public:
  /// As load_npy. Throws npy::Error.
  explicit TensorPieces(const std::filesystem::path& file, bool as_bfloat16 = false);

  /// Of the whole.
  const TensorType& type() const { return type_; }
  /// The next `count` elements, in the order of the file; there must be as many. Throws npy::Error.
  void read(void* out, size_t count);

 private:
  std::string name_;
  npy::Reader reader_;
  TensorType type_;
};

}  // namespace softamp
