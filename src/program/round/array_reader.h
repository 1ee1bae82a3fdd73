// The arrays that `softamp round` reads: .npy files, and tensors of .safetensors files.
#pragma once

#include "softamp/data/npy.h"
#include "softamp/data/safetensors.h"

#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

using TensorElement = safetensors::ElementType;

/// "w.safetensors:layer.0.weight": a file and a tensor in it. The first ".safetensors:" ends the file's name. Of all
/// other names the whole is that of a .npy file.
struct ArrayName {
  std::string file;
  std::string tensor;  ///< empty: none named
  bool in_safetensors = false;

  explicit ArrayName(const std::string& text);
};

/// A type of tensors that is read, and what it is given out as: the same bits, or
///   kFloat32  of a narrower float: its value, which float32 has
///   kUint8    of F4: one code a byte
struct TensorAs {
  TensorElement type;
  npy::ElementType as;
};
/// Numbers: F64, F32, F16, BF16 and those of 8 bits, scales of E8M0 among them.
std::vector<TensorAs> tensors_of_values();
/// Codes: `own` type of theirs, and unsigned numbers of any width.
std::vector<TensorAs> tensors_of_codes(TensorElement own);
/// Unsigned numbers: U8, U16, U32.
std::vector<TensorAs> tensors_of_words();

/// An array that is read front to back, in pieces of any size.
class ArrayReader {
 public:
  /// known: which types of tensors are read; .npy files are read in any type. Throws npy::Error, safetensors::Error;
  /// UsageError for another type, and where a .safetensors file is named without a tensor.
  ArrayReader(const std::string& name, std::vector<TensorAs> known);

  const std::string& name() const { return name_; }
  bool is_tensor() const { return tensors_.has_value(); }
  /// Shape, and the type that is given out.
  const npy::Header& header() const { return header_; }
  /// As the file spells it: "<f4", "BF16".
  std::string type_name() const;
  /// Copies the next elements, at most `capacity`, to `out`; returns how many (0 at the end).
  size_t read(void* out, size_t capacity);
  /// Of the tensor's file; with is_tensor() alone.
  const safetensors::Reader& tensors() const { return *tensors_; }

 private:
  void open_tensor(const ArrayName& place, const std::vector<TensorAs>& known);
  void read_tensor(void* out, size_t count);

  std::string name_;
  std::optional<npy::Reader> array_;
  std::optional<safetensors::Reader> tensors_;
  std::string tensor_;
  TensorElement type_ = {};
  npy::Header header_;
  uint64_t next_ = 0;
};

}  // namespace softamp::program
