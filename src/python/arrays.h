// Arrays of Python as the library takes them: NumPy's, of ml_dtypes, anything with the buffer protocol or with DLPack.
// Nothing is copied, but an input whose elements are not dense and in C order: that, once.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softamp/numerics/format.h"

namespace softamp::python {

namespace nb = nanobind;

/// What the elements of an array are.
enum class Elements : uint8_t {
  kFloat32,
  kFloat64,
  kCodes,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt8,
  kInt32,
  kInt64,
  kBool
};

enum class Access : uint8_t { kRead, kWrite };

/// Where an array may lie: in the host's memory, or on a CUDA device, too.
enum class Place : uint8_t { kHost, kAnywhere };

/// An array that lives as long as this object. kCodes: codes of `format`, as float16 and the types of ml_dtypes have
/// it.
class Array {
 public:
  /// `name`: of the argument, for messages. Throws TypeError for what is no array, a big-endian one and elements of
  /// another kind; ValueError for one to write that is read-only, or not dense and in C order; and for one that may not
  /// lie where it does; BufferError for one whose owner does not give its elements, or describes them wrongly.
  Array(nb::handle object, const char* name, Access access = Access::kRead, Place place = Place::kHost);
  Array(Array&&) noexcept = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  Elements elements() const { return elements_; }
  const FloatFormat& format() const { return format_; }
  size_t size() const { return size_; }
  int item_bytes() const { return item_bytes_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const char* name() const { return name_; }
  const std::string& type_name() const { return type_name_; }
  /// The CUDA device that has the elements; none: they are in the host's memory.
  std::optional<int> device() const { return device_; }

  template <typename T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), size_};
  }
  template <typename T>
  std::span<T> to_write() const {
    return {static_cast<T*>(const_cast<void*>(data_)), size_};
  }

  /// The elements as binary64, exactly: of floating ones and of codes. Throws TypeError for others.
  std::vector<double> doubles() const;
  /// The same as float32, which holds every code of a format of at most 24 bits of precision; of float64 it throws.
  std::vector<float> floats() const;

  /// "(3, 4)".
  std::string shape_text() const;
  [[noreturn]] void refuse_type(const char* expected) const;

 private:
  struct ReleaseBuffer {
    void operator()(Py_buffer* view) const;
  };

  [[noreturn]] void refuse_read_only() const;
  [[noreturn]] void refuse_layout(const std::string& what) const;
  bool read_buffer(PyObject* object, Access access);
  void read_dlpack(nb::handle object, Access access, Place place);
  /// strides: in bytes; none: of a dense array in C order.
  void set_layout(std::vector<int64_t> shape, std::optional<std::vector<int64_t>> strides, Access access);

  const char* name_;
  Elements elements_ = Elements::kFloat32;
  FloatFormat format_ = kFp32;
  int item_bytes_ = 4;
  const void* data_ = nullptr;
  std::optional<int> device_;
  size_t size_ = 0;
  std::vector<int64_t> shape_;
  std::string type_name_;
  nb::object kept_;                                   ///< a view of the codes of ml_dtypes; the capsule of DLPack
  std::unique_ptr<Py_buffer, ReleaseBuffer> buffer_;  ///< behind kept_: released before that is let go of
  std::vector<std::byte> own_;                        ///< the dense copy
};

/// Throws TypeError unless `out` has codes of the format: in its own dtype, or in unsigned integers of its width. An
/// array of another format of the same width is refused: it would show other numbers. `otherwise`: what else is
/// expected, for the message.
void check_codes(const Array& out, const FloatFormat& format, const char* otherwise = "");

/// What an output may be.
enum class InPlace : uint8_t { kNever, kSameElements };

/// Throws ValueError where an output shares bytes with an input; kSameElements: unless each element takes the place of
/// its own input.
void check_overlap(const Array& out, const Array& in, InPlace in_place);

/// The name of NumPy's or ml_dtypes' dtype of these codes: "float16", "float8_e4m3fn"; nullptr where there is none.
const char* dtype_name_of(const FloatFormat& format);
/// The format of such a name.
std::optional<FloatFormat> format_of_dtype(std::string_view name);

/// A format: its name, softamp.Format, or a dtype. Throws ValueError with the C++ side's message, TypeError for others.
FloatFormat format_from(nb::handle object);
/// The same, but refuses binary64, which is for conversions only. `name`: of the argument.
FloatFormat compute_format_from(nb::handle object, const char* name = "format");

/// Bytes of an element that holds codes of this format: 1, 2 or 4.
int code_bytes(const FloatFormat& format);

/// A new array, not filled. dtype: NumPy's name.
nb::object new_array(const std::vector<int64_t>& shape, const char* dtype);
/// A new array for codes: of NumPy's dtype of the format where there is one and `plain` is not set, else of unsigned
/// integers.
nb::object new_codes(const std::vector<int64_t>& shape, const FloatFormat& format, bool plain);
/// Codes of new_codes, not plain, as the dtype that an installed ml_dtypes has for the format; as they are without one.
nb::object in_own_dtype(nb::object codes, const FloatFormat& format);

}  // namespace softamp::python
