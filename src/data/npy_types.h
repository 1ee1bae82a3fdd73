// Tensors and .npy headers: dtypes as element types, extents as shapes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "softamp/data/npy.h"
#include "softamp/tensor/tensor.h"

namespace softamp {

/// How a dtype is stored; bfloat16 as unsigned 16-bit integers.
npy::ElementType npy_type(DType t);

/// The dtype that is stored so; unsigned 16-bit integers are bfloat16 where `as_bfloat16`. Throws npy::Error, beginning
/// with `name`, for a type that no dtype has.
DType dtype_of(npy::ElementType type, bool as_bfloat16, const std::string& name);

/// The header's shape. Throws npy::Error, beginning with `name`, for an extent above 2^40 or an impossible Shape.
Shape shape_of(const npy::Header& header, const std::string& name);

/// A .npy file in memory, of this tensor; bfloat16 as u2.
std::vector<std::byte> npy_bytes(const Tensor& tensor);
/// The tensor of such a file, whose header has been read. `name` stands for the file in errors.
Tensor tensor_of_npy(std::span<const std::byte> bytes, const npy::Header& header, bool as_bfloat16,
                     const std::string& name);

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
