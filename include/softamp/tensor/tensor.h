// A tensor: dtype, shape, and contiguous row-major storage of its own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "softamp/names/dtype.h"
#include "softamp/numerics/half.h"
#include "softamp/tensor/list_view.h"
#include "softamp/tensor/shape.h"

namespace softamp {

/// The dtype and shape of a tensor.
struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
  size_t bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
  /// "float16[2,3]".
  std::string text() const { return name_of(dtype) + shape.text(); }
};

/// Which C++ types give access to which dtype: the code (uint16_t, uint32_t, uint64_t), the value's own type, uint8_t
/// for bool.
template <class T>
constexpr bool holds(DType t) {
  using U = std::remove_const_t<T>;
  switch (t) {
    case DType::kFloat16: return std::is_same_v<U, uint16_t> || std::is_same_v<U, Half>;
    case DType::kBFloat16: return std::is_same_v<U, uint16_t> || std::is_same_v<U, BFloat16>;
    case DType::kFloat32: return std::is_same_v<U, uint32_t> || std::is_same_v<U, float>;
    case DType::kFloat64: return std::is_same_v<U, uint64_t> || std::is_same_v<U, double>;
    case DType::kInt32: return std::is_same_v<U, uint32_t> || std::is_same_v<U, int32_t>;
    case DType::kBool:
    case DType::kUint8: return std::is_same_v<U, uint8_t>;
    case DType::kInt64: return std::is_same_v<U, uint64_t> || std::is_same_v<U, int64_t>;
    case DType::kString: break;
  }
  return false;
}

/// Owns its elements, aligned to 64 bytes. Can be moved; a copy needs `clone`, so none is made silently. A tensor that
/// was moved from is empty: its dtype stays, its shape is [0].
class Tensor {
 public:
  Tensor() = default;
  /// Elements are zero. Throws std::bad_alloc with the tensor's type in what() where memory is short, and
  /// std::invalid_argument for strings.
  explicit Tensor(const TensorType& type);
  Tensor(DType dtype, const Shape& shape) : Tensor(TensorType{dtype, shape}) {}
  Tensor(Tensor&& other) noexcept : type_(other.give_up_type()), data_(std::move(other.data_)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    type_ = other.give_up_type();
    data_ = std::move(other.data_);
    return *this;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  Tensor clone() const;

  /// Numbers rounded to nearest even on the way (a host conversion never rounds stochastically; no exceptions, overflow
  /// gives infinity), in row-major order: from_values(DType::kFloat16, {2, 2}, {1, 2, 3, 4}); bool: anything but 0 is
  /// true. Throws std::invalid_argument where the count is not the shape's, and for an int32 out of range.
  static Tensor from_values(DType dtype, const Shape& shape, ListView<double> values);
  /// All elements `value`.
  static Tensor full(DType dtype, const Shape& shape, double value);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t elements() const { return type_.shape.elements(); }
  size_t bytes() const { return type_.bytes(); }

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }

  /// The elements as T. Throws std::invalid_argument where T does not hold this dtype.
  template <class T>
  std::span<T> as() {
    check_holds(holds<T>(type_.dtype));
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(elements())};
  }
  template <class T>
  std::span<const T> as() const {
    check_holds(holds<T>(type_.dtype));
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(elements())};
  }

  /// Element i as a double, exactly. Throws std::out_of_range, as `code` does.
  double value(int64_t i) const;
  /// All elements as doubles, exactly.
  std::vector<double> values() const;
  /// Element i as a code: the bits of the element, right-aligned.
  uint64_t code(int64_t i) const;

  /// dtype, shape and bits are equal (NaNs too).
  bool same_bits(const Tensor& other) const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  void check_holds(bool) const;
  TensorType give_up_type() noexcept { return std::exchange(type_, {type_.dtype, Shape{0}}); }

  TensorType type_{DType::kFloat32, Shape{0}};
  std::unique_ptr<std::byte[], Free> data_;
};

/// The tensor of a .npy file: f2 f4 f8 i4 b1 (and u2 as bfloat16 where `as_bfloat16`); a bool that is not 0 is 1.
/// Throws npy::Error.
Tensor load_npy(const std::filesystem::path& file, bool as_bfloat16 = false);
/// Writes a .npy file, whole or not at all; bfloat16 as u2. Throws npy::Error.
void save_npy(const Tensor& tensor, const std::filesystem::path& file);

}  // namespace softamp
