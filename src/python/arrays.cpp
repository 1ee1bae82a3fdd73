#include "src/python/arrays.h"

#include <cstring>
#include <utility>

#include "softamp/numerics/convert.h"
#include "src/python/dtypes.h"

namespace softamp::python {
namespace {

/// Elements of a format character of the buffer protocol, in the machine's own order.
std::optional<Elements> elements_of_letter(char letter, Py_ssize_t bytes) {
  switch (letter) {
    case 'f': return Elements::kFloat32;
    case 'd': return Elements::kFloat64;
    case 'e': return Elements::kCodes;
    case '?': return Elements::kBool;
    case 'b': return Elements::kInt8;
    case 'B': return Elements::kUint8;
    case 'H': return Elements::kUint16;
    case 'I':
    case 'L':
    case 'Q': return bytes == 4 ? Elements::kUint32 : Elements::kUint64;
    case 'i':
    case 'l':
    case 'q': return bytes == 4 ? Elements::kInt32 : Elements::kInt64;
    default: return std::nullopt;
  }
}

std::optional<Elements> elements_of_dlpack(nb::dlpack::dtype t) {
  using nb::dlpack::dtype_code;
  if (t.lanes != 1) return std::nullopt;
  if (t.code == static_cast<uint8_t>(dtype_code::Float))
    return t.bits == 32   ? std::optional(Elements::kFloat32)
           : t.bits == 64 ? std::optional(Elements::kFloat64)
           : t.bits == 16 ? std::optional(Elements::kCodes)
                          : std::nullopt;
  if (t.code == static_cast<uint8_t>(dtype_code::Bfloat) && t.bits == 16) return Elements::kCodes;
  if (t.code == static_cast<uint8_t>(dtype_code::Bool) && t.bits == 8) return Elements::kBool;
  if (t.code == static_cast<uint8_t>(dtype_code::UInt))
    return t.bits == 8    ? Elements::kUint8
           : t.bits == 16 ? Elements::kUint16
           : t.bits == 32 ? Elements::kUint32
                          : Elements::kUint64;
  if (t.code == static_cast<uint8_t>(dtype_code::Int) && (t.bits == 8 || t.bits == 32 || t.bits == 64))
    return t.bits == 8 ? Elements::kInt8 : t.bits == 32 ? Elements::kInt32 : Elements::kInt64;
  return std::nullopt;
}

bool is_dense(const int64_t* shape, const int64_t* strides, int rank, int64_t bytes) {
  for (int axis = rank; axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != bytes) return false;
    bytes *= shape[axis];
  }
  return true;
}

/// Copies in C order. `from`: the first element; strides in bytes.
void copy_dense(const std::byte* from, std::byte* to, const int64_t* shape, const int64_t* strides, int rank,
                size_t bytes) {
  if (rank == 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  size_t inner = bytes;
  for (int axis = 1; axis < rank; ++axis) inner *= static_cast<size_t>(shape[axis]);
  for (int64_t i = 0; i < shape[0]; ++i)
    copy_dense(from + i * strides[0], to + static_cast<size_t>(i) * inner, shape + 1, strides + 1, rank - 1, bytes);
}

/// "complex64", of an array of NumPy's.
std::string dtype_text(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return nb::cast<std::string>(nb::str(dtype));
}

std::string type_of(nb::handle object) { return nb::cast<std::string>(nb::type_name(object.type())); }

}  // namespace

Array::Array(nb::handle object, const char* name, Access access, Place place) : name_(name) {
  if (const auto format = format_of_ml_array(object)) {
    if (access == Access::kWrite && !nb::cast<bool>(object.attr("flags").attr("writeable"))) refuse_read_only();
    kept_ = codes_of_ml_array(object, *format);
    if (!read_buffer(kept_.ptr(), access)) throw nb::python_error();
    elements_ = Elements::kCodes;
    format_ = *format;
    type_name_ = dtype_name_of(*format);
    return;
  }
  if (read_buffer(object.ptr(), access)) return;
  PyErr_Clear();
  if (nb::hasattr(object, "dtype") && nb::hasattr(object, "__array_interface__")) {  // NumPy's, without the protocol
    type_name_ = dtype_text(object);
    refuse_type("floating-point numbers or codes");
  }
  if (nb::hasattr(object, "__dlpack__")) {
    read_dlpack(object, access, place);
    return;
  }
  throw nb::type_error((std::string(name) +
                        ": expected an array of NumPy, or one with the buffer protocol or DLPack, not " +
                        type_of(object))
                           .c_str());
}

Array::Array(Array&& other) noexcept
    : name_(other.name_),
      elements_(other.elements_),
      format_(other.format_),
      item_bytes_(other.item_bytes_),
      data_(other.data_),
      device_(other.device_),
      size_(other.size_),
      shape_(std::move(other.shape_)),
      type_name_(std::move(other.type_name_)),
      buffer_(other.buffer_),
      has_buffer_(std::exchange(other.has_buffer_, false)),
      kept_(std::move(other.kept_)),
      dlpack_(std::move(other.dlpack_)),
      own_(std::move(other.own_)) {}

Array::~Array() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool Array::read_buffer(PyObject* object, Access access) {
  // A bytes object has the protocol, too; what comes with a letter of a number is taken.
  const int flags = PyBUF_STRIDED_RO | PyBUF_FORMAT | (access == Access::kWrite ? PyBUF_WRITABLE : 0);
  if (!PyObject_CheckBuffer(object)) return false;
  if (PyObject_GetBuffer(object, &buffer_, flags) != 0) {
    if (access == Access::kWrite) {
      PyErr_Clear();
      Py_buffer readable;
      if (PyObject_GetBuffer(object, &readable, PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) {
        PyBuffer_Release(&readable);
        refuse_read_only();
      }
    }
    return false;
  }
  has_buffer_ = true;
  const char* letter = buffer_.format ? buffer_.format : "B";
  type_name_ = letter;
  if (*letter == '@' || *letter == '=' || *letter == '<') ++letter;
  if (*letter == '>' || *letter == '!') {
    type_name_ = "big-endian '" + type_name_ + "'";
    refuse_type("the machine's own byte order");
  }
  const std::optional<Elements> elements =
      letter[0] != 0 && letter[1] == 0 ? elements_of_letter(*letter, buffer_.itemsize) : std::nullopt;
  if (!elements) {
    type_name_ = nb::hasattr(object, "dtype") ? dtype_text(object) : "'" + type_name_ + "'";
    refuse_type("floating-point numbers or codes");
  }
  elements_ = *elements;
  format_ = elements_ == Elements::kCodes ? kFp16 : elements_ == Elements::kFloat64 ? kBinary64 : kFp32;
  item_bytes_ = static_cast<int>(buffer_.itemsize);
  data_ = buffer_.buf;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  set_layout(reinterpret_cast<const int64_t*>(buffer_.shape), reinterpret_cast<const int64_t*>(buffer_.strides),
             buffer_.ndim, access);
  return true;
}

void Array::read_dlpack(nb::handle object, Access access, Place place) {
  if (!nb::try_cast(object, dlpack_) || !dlpack_.is_valid())
    throw nb::type_error((std::string(name_) + ": " + type_of(object) + " gave no tensor by DLPack").c_str());
  if (dlpack_.device_type() == nb::device::cuda::value && place == Place::kAnywhere)
    device_ = dlpack_.device_id();
  else if (dlpack_.device_type() != nb::device::cpu::value)
    throw nb::value_error((std::string(name_) + ": lies on another device; expected the CPU").c_str());
  const nb::dlpack::dtype t = dlpack_.dtype();
  const std::optional<Elements> elements = elements_of_dlpack(t);
  type_name_ = type_of(object) + " of " + std::to_string(t.bits) + " bits";
  if (!elements) refuse_type("floating-point numbers or codes");
  elements_ = *elements;
  if (elements_ == Elements::kCodes)
    format_ = t.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat) ? kBf16 : kFp16;
  else if (elements_ == Elements::kFloat64)
    format_ = kBinary64;
  item_bytes_ = t.bits / 8;
  data_ = dlpack_.data();
  const int rank = static_cast<int>(dlpack_.ndim());
  std::vector<int64_t> extents, strides;
  for (int axis = 0; axis < rank; ++axis) {
    extents.push_back(static_cast<int64_t>(dlpack_.shape(static_cast<size_t>(axis))));
    strides.push_back(dlpack_.stride(static_cast<size_t>(axis)) * item_bytes_);
  }
  set_layout(extents.data(), strides.data(), rank, access);
}

void Array::set_layout(const int64_t* shape, const int64_t* strides, int rank, Access access) {
  shape_.assign(shape, shape + rank);
  size_ = 1;
  for (const int64_t extent : shape_) size_ *= static_cast<size_t>(extent);
  const bool aligned = reinterpret_cast<uintptr_t>(data_) % static_cast<size_t>(item_bytes_) == 0;
  if (size_ == 0 || (aligned && is_dense(shape, strides, rank, item_bytes_))) return;
  if (access == Access::kWrite || device_)
    throw nb::value_error((std::string(name_) + " is not dense and in C order; expected an array that is").c_str());
  own_.resize(size_ * static_cast<size_t>(item_bytes_));
  copy_dense(static_cast<const std::byte*>(data_), own_.data(), shape, strides, rank, static_cast<size_t>(item_bytes_));
  data_ = own_.data();
}

std::vector<double> Array::doubles() const {
  std::vector<double> values(size_);
  const auto fill = [&values](auto elements, auto convert) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = convert(elements[i]);
  };
  const auto code = [this](auto c) { return fp::to_double(format_, c & format_.code_mask()); };
  if (elements_ == Elements::kFloat32)
    fill(as<float>(), [](float x) { return static_cast<double>(x); });
  else if (elements_ == Elements::kFloat64)
    fill(as<double>(), [](double x) { return x; });
  else if (elements_ == Elements::kCodes && item_bytes_ == 1)
    fill(as<uint8_t>(), code);
  else if (elements_ == Elements::kCodes)
    fill(as<uint16_t>(), code);
  else
    refuse_type("floating-point numbers");
  return values;
}

std::vector<float> Array::floats() const {
  if (elements_ == Elements::kFloat64) refuse_type("float32, float16, or a type of ml_dtypes");
  const std::vector<double> wide = doubles();
  return {wide.begin(), wide.end()};
}

std::string Array::shape_text() const {
  std::string text;
  for (const int64_t extent : shape_) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape_.size() == 1 ? ",)" : ")");
}

void Array::refuse_read_only() const {
  throw nb::value_error((std::string(name_) + " is read-only; expected an array that can be written").c_str());
}

void Array::refuse_type(const char* expected) const {
  throw nb::type_error(
      (std::string(name_) + ": has elements of type " + type_name_ + "; expected " + expected).c_str());
}

}  // namespace softamp::python
