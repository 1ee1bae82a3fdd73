// Tensors in .npy files.
#include <cstring>
#include <stdexcept>

#include "src/data/npy_types.h"

namespace softamp {
namespace {

/// NumPy takes every byte except 0 for true.
void make_true_one(void* out, size_t count) {
  auto* const bytes = static_cast<uint8_t*>(out);
  for (size_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
}

}  // namespace

DType dtype_of(npy::ElementType type, bool as_bfloat16, const std::string& name) {
  using enum npy::ElementType;
  switch (type) {
    case kFloat16: return DType::kFloat16;
    case kFloat32: return DType::kFloat32;
    case kFloat64: return DType::kFloat64;
    case kInt32: return DType::kInt32;
    case kBool: return DType::kBool;
    case kInt64: return DType::kInt64;
    case kUint8: return DType::kUint8;
    case kUint16:
      if (as_bfloat16) return DType::kBFloat16;
      break;
    default: break;
  }
  throw npy::Error(
      name + ": elements of type '" + npy::descr(type) +
      "'; expected '<f2', '<f4', '<f8', '<i4', '<i8', '|b1' or '|u1', or '<u2' where a bfloat16 tensor is read");
}

npy::ElementType npy_type(DType t) {
  switch (t) {
    case DType::kFloat16: return npy::ElementType::kFloat16;
    case DType::kBFloat16: return npy::ElementType::kUint16;
    case DType::kFloat32: return npy::ElementType::kFloat32;
    case DType::kFloat64: return npy::ElementType::kFloat64;
    case DType::kInt32: return npy::ElementType::kInt32;
    case DType::kInt64: return npy::ElementType::kInt64;
    case DType::kUint8: return npy::ElementType::kUint8;
    case DType::kBool:
    case DType::kString: break;
  }
  return npy::ElementType::kBool;
}

Shape shape_of(const npy::Header& header, const std::string& name) {
  try {
    std::vector<int64_t> extents;
    for (const uint64_t extent : header.shape) {
      if (extent > static_cast<uint64_t>(Shape::kMaxElements)) throw std::invalid_argument("an extent above 2^40");
      extents.push_back(static_cast<int64_t>(extent));
    }
    return Shape(std::span<const int64_t>(extents));
  } catch (const std::invalid_argument& e) {
    throw npy::Error(name + ": shape " + npy::shape_text(header.shape) + ": " + e.what());
  }
}

std::vector<std::byte> npy_bytes(const Tensor& tensor) {
  const std::vector<uint64_t> shape(tensor.shape().begin(), tensor.shape().end());
  const std::string header = npy::make_header(npy_type(tensor.dtype()), shape);
  std::vector<std::byte> bytes(header.size() + tensor.bytes());
  std::memcpy(bytes.data(), header.data(), header.size());
  if (tensor.bytes() > 0) std::memcpy(bytes.data() + header.size(), tensor.data(), tensor.bytes());
  return bytes;
}

Tensor tensor_of_npy(std::span<const std::byte> bytes, const npy::Header& header, bool as_bfloat16,
                     const std::string& name) {
  Tensor tensor(dtype_of(header.type, as_bfloat16, name), shape_of(header, name));
  if (tensor.bytes() > 0) std::memcpy(tensor.data(), bytes.data() + header.data_offset, tensor.bytes());
  if (tensor.dtype() == DType::kBool) make_true_one(tensor.data(), static_cast<size_t>(tensor.elements()));
  return tensor;
}

TensorPieces::TensorPieces(const std::filesystem::path& file, bool as_bfloat16)
    : name_(file.string()),
      reader_(name_),
      type_{dtype_of(reader_.header().type, as_bfloat16, name_), shape_of(reader_.header(), name_)} {}

void TensorPieces::read(void* out, size_t count) {
  for (size_t done = 0; done < count;) {
    const size_t n = reader_.read(static_cast<std::byte*>(out) + done * size_of(type_.dtype), count - done);
    if (n == 0) throw npy::Error(name_ + ": the data are cut off");
    done += n;
  }
  if (type_.dtype == DType::kBool) make_true_one(out, count);
}

Tensor load_npy(const std::filesystem::path& file, bool as_bfloat16) {
  TensorPieces pieces(file, as_bfloat16);
  Tensor tensor(pieces.type().dtype, pieces.type().shape);
  pieces.read(tensor.data(), static_cast<size_t>(tensor.elements()));
  return tensor;
}

void save_npy(const Tensor& tensor, const std::filesystem::path& file) {
  const std::vector<uint64_t> shape(tensor.shape().begin(), tensor.shape().end());
  npy::Writer writer(file.string(), npy_type(tensor.dtype()), shape);
  if (tensor.elements() > 0) writer.write(tensor.data(), static_cast<size_t>(tensor.elements()));
  writer.commit();
}

}  // namespace softamp
