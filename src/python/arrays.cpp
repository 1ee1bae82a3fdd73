#include "src/python/arrays.h"

#include <cstring>
#include <utility>

#include <nanobind/ndarray.h>

#include "softamp/names/names.h"
#include "softamp/numerics/convert.h"
#include "src/python/calls.h"
#include "src/python/dtypes.h"
#include "src/text/joined.h"

namespace softamp::python {
namespace {

namespace dlpack = nb::dlpack;

/// What the elements are, and of codes their format.
struct ElementType {
  Elements elements;
  FloatFormat format = kFp32;
};

/// Of a format character of the buffer protocol, in the machine's own order. Width and character must fit: an
/// exporter's say is not believed.
std::optional<ElementType> type_of_letter(char letter, Py_ssize_t bytes) {
  const auto wide = [bytes](Py_ssize_t width, Elements elements, FloatFormat format = kFp32) {
    return bytes == width ? std::optional(ElementType{elements, format}) : std::nullopt;
  };
  switch (letter) {
    case 'f': return wide(4, Elements::kFloat32);
    case 'd': return wide(8, Elements::kFloat64, kBinary64);
    case 'e': return wide(2, Elements::kCodes, kFp16);
    case '?': return wide(1, Elements::kBool);
    case 'b': return wide(1, Elements::kInt8);
    case 'B': return wide(1, Elements::kUint8);
    case 'H': return wide(2, Elements::kUint16);
    case 'I':
    case 'L':
    case 'Q': return bytes == 4 ? wide(4, Elements::kUint32) : wide(8, Elements::kUint64);
    case 'i':
    case 'l':
    case 'q': return bytes == 4 ? wide(4, Elements::kInt32) : wide(8, Elements::kInt64);
    default: return std::nullopt;
  }
}

std::optional<ElementType> type_of_dlpack(dlpack::dtype t) {
  struct Row {
    dlpack::dtype_code code;
    uint8_t bits;
    ElementType type;
  };
  using enum dlpack::dtype_code;
  static constexpr Row kRows[] = {
      {Float, 32, {Elements::kFloat32}},      {Float, 64, {Elements::kFloat64, kBinary64}},
      {Float, 16, {Elements::kCodes, kFp16}}, {Bfloat, 16, {Elements::kCodes, kBf16}},
      {Bool, 8, {Elements::kBool}},           {UInt, 8, {Elements::kUint8}},
      {UInt, 16, {Elements::kUint16}},        {UInt, 32, {Elements::kUint32}},
      {UInt, 64, {Elements::kUint64}},        {Int, 8, {Elements::kInt8}},
      {Int, 32, {Elements::kInt32}},          {Int, 64, {Elements::kInt64}},
  };
  for (const Row& row : kRows)
    if (t.lanes == 1 && t.code == static_cast<uint8_t>(row.code) && t.bits == row.bits) return row.type;
  return std::nullopt;
}

/// Strides in bytes of a dense array in C order.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, int64_t bytes) {
  std::vector<int64_t> strides(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = bytes;
    bytes *= shape[axis];
  }
  return strides;
}

bool is_dense(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, int64_t bytes) {
  const std::vector<int64_t> dense = dense_strides(shape, bytes);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1 && strides[axis] != dense[axis]) return false;
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
std::string dtype_text(nb::handle array) { return text_of(attribute(array, "dtype")); }

std::string type_of(nb::handle object) { return nb::cast<std::string>(nb::type_name(object.type())); }

/// The capsule that an object's __dlpack__ makes, from the first version on that says whether elements are read-only.
nb::object capsule_of(nb::handle object) {
  const nb::object make = attribute(object, "__dlpack__");
  const nb::tuple none;
  nb::dict options;
  options["max_version"] = nb::make_tuple(1, 0);
  try {
    return given_by([&] { return PyObject_Call(make.ptr(), none.ptr(), options.ptr()); });
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  return called(make);
}

/// What a capsule has: DLPack's DLManagedTensor, or DLManagedTensorVersioned.
struct ManagedTensor {
  const dlpack::dltensor* tensor = nullptr;
  bool read_only = false;
};

ManagedTensor tensor_in(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor"))
    return {static_cast<const dlpack::dltensor*>(PyCapsule_GetPointer(capsule, "dltensor"))};
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return {};
  struct Versioned {
    uint32_t major, minor;
    void* context;
    void (*deleter)(Versioned*);
    uint64_t flags;
    dlpack::dltensor tensor;
  };
  constexpr uint64_t kReadOnly = 1;
  const auto* const v = static_cast<const Versioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  if (v->major != 1) return {};
  return {&v->tensor, (v->flags & kReadOnly) != 0};
}

}  // namespace

void Array::ReleaseBuffer::operator()(Py_buffer* view) const {
  calling_python([&] { PyBuffer_Release(view); });
  delete view;
}

Array::Array(nb::handle object, const char* name, Access access, Place place) : name_(name) {
  if (const auto format = format_of_ml_array(object)) {
    if (access == Access::kWrite && !nb::cast<bool>(attribute(attribute(object, "flags"), "writeable")))
      refuse_read_only();
    kept_ = codes_of_ml_array(object, *format);
    if (!read_buffer(kept_.ptr(), access)) throw nb::python_error();
    elements_ = Elements::kCodes;
    format_ = *format;
    type_name_ = dtype_name_of(*format);
    return;
  }
  if (read_buffer(object.ptr(), access)) return;
  std::optional<nb::python_error> withheld;
  if (PyErr_Occurred()) withheld.emplace();
  if (has_attribute(object, "dtype") &&
      has_attribute(object, "__array_interface__")) {  // NumPy's, without the protocol
    type_name_ = dtype_text(object);
    refuse_type("floating-point numbers or codes");
  }
  if (has_attribute(object, "__dlpack__")) {
    read_dlpack(object, access, place);
    return;
  }
  if (withheld)
    nb::raise_from(*withheld, PyExc_BufferError, "%s: %s does not give its buffer", name, type_of(object).c_str());
  throw nb::type_error((std::string(name) +
                        ": expected an array of NumPy, or one with the buffer protocol or DLPack, not " +
                        type_of(object))
                           .c_str());
}

bool Array::read_buffer(PyObject* object, Access access) {
  // A bytes object has the protocol, too; what comes with a letter of a number is taken.
  const int flags = PyBUF_STRIDED_RO | PyBUF_FORMAT | (access == Access::kWrite ? PyBUF_WRITABLE : 0);
  if (!PyObject_CheckBuffer(object)) return false;
  auto view = std::make_unique<Py_buffer>();
  if (calling_python([&] { return PyObject_GetBuffer(object, view.get(), flags); }) != 0) {
    if (access == Access::kWrite) {
      nb::python_error withheld;
      if (PyObject_GetBuffer(object, view.get(), PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) {
        buffer_.reset(view.release());
        refuse_read_only();
      }
      PyErr_Clear();
      withheld.restore();
    }
    return false;
  }
  buffer_.reset(view.release());
  const char* letter = buffer_->format ? buffer_->format : "B";
  type_name_ = letter;
  if (*letter == '@' || *letter == '=' || *letter == '<') ++letter;
  if (*letter == '>' || *letter == '!') {
    type_name_ = "big-endian '" + type_name_ + "'";
    refuse_type("the machine's own byte order");
  }
  const std::optional<ElementType> type =
      letter[0] != 0 && letter[1] == 0 ? type_of_letter(*letter, buffer_->itemsize) : std::nullopt;
  if (!type) {
    type_name_ = has_attribute(object, "dtype") ? dtype_text(object) : "'" + type_name_ + "'";
    refuse_type("floating-point numbers or codes");
  }
  elements_ = type->elements;
  format_ = type->format;
  item_bytes_ = static_cast<int>(buffer_->itemsize);
  data_ = buffer_->buf;
  // Exporters leave out what they were asked for: ctypes and NumPy's scalars strides, where the array is dense; simple
  // ones the shape of a row of bytes.
  const auto rank = static_cast<size_t>(buffer_->ndim);
  if (buffer_->ndim < 0 || buffer_->suboffsets || (!buffer_->shape && rank > 1)) refuse_layout("no shape and strides");
  std::vector<int64_t> shape(rank, buffer_->len / buffer_->itemsize);
  if (buffer_->shape) shape.assign(buffer_->shape, buffer_->shape + rank);
  std::optional<std::vector<int64_t>> strides;
  if (buffer_->strides) strides.emplace(buffer_->strides, buffer_->strides + rank);
  set_layout(std::move(shape), std::move(strides), access);
  return true;
}

void Array::read_dlpack(nb::handle object, Access access, Place place) {
  try {
    kept_ = capsule_of(object);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // Ctrl-C
    nb::raise_from(e, PyExc_BufferError, "%s: %s gave no tensor by DLPack", name_, type_of(object).c_str());
  }
  const auto [tensor, is_read_only] = tensor_in(kept_.ptr());
  if (!tensor)
    throw nb::type_error((std::string(name_) + ": " + type_of(object) +
                          " gave no tensor by DLPack; expected a capsule of version 1 or before")
                             .c_str());
  if (access == Access::kWrite && is_read_only) refuse_read_only();
  if (tensor->device.device_type == nb::device::cuda::value && place == Place::kAnywhere)
    device_ = tensor->device.device_id;
  else if (tensor->device.device_type != nb::device::cpu::value)
    throw nb::value_error((std::string(name_) + ": lies on another device; expected the CPU").c_str());
  const dlpack::dtype t = tensor->dtype;
  const std::optional<ElementType> type = type_of_dlpack(t);
  type_name_ = type_of(object) + " of " + std::to_string(t.bits) + " bits";
  if (!type) refuse_type("floating-point numbers or codes");
  elements_ = type->elements;
  format_ = type->format;
  item_bytes_ = t.bits / 8;
  data_ = tensor->data ? static_cast<const std::byte*>(tensor->data) + tensor->byte_offset : nullptr;
  if (tensor->ndim < 0 || (tensor->ndim > 0 && !tensor->shape)) refuse_layout("no shape");
  const auto rank = static_cast<size_t>(tensor->ndim);
  std::vector<int64_t> shape;
  std::optional<std::vector<int64_t>> strides;
  if (rank > 0) shape.assign(tensor->shape, tensor->shape + rank);
  if (rank > 0 && tensor->strides) {
    strides.emplace();
    for (size_t axis = 0; axis < rank;
         ++axis)  // modulo 2^64: one that is out of range is of an axis without neighbours
      strides->push_back(
          static_cast<int64_t>(static_cast<uint64_t>(tensor->strides[axis]) * static_cast<uint64_t>(item_bytes_)));
  }
  set_layout(std::move(shape), std::move(strides), access);
}

void Array::set_layout(std::vector<int64_t> shape, std::optional<std::vector<int64_t>> strides, Access access) {
  shape_ = std::move(shape);
  constexpr size_t kMostDimensions = 64;  // as NumPy has it
  if (shape_.size() > kMostDimensions) refuse_layout(std::to_string(shape_.size()) + " dimensions");
  int64_t bytes = item_bytes_;
  bool too_large = false, empty = false;
  for (const int64_t extent : shape_) {
    if (extent < 0) refuse_layout("the shape " + shape_text());
    empty = empty || extent == 0;
    too_large = __builtin_mul_overflow(bytes, extent, &bytes) || too_large;
  }
  if (empty) bytes = 0;
  if ((too_large && !empty) || (buffer_ && buffer_->len != bytes))
    refuse_layout("the shape " + shape_text() + (buffer_ ? " and " + std::to_string(buffer_->len) + " bytes" : ""));
  size_ = static_cast<size_t>(bytes / item_bytes_);
  if (size_ == 0) return;
  if (!data_ && !device_) refuse_layout("elements at address 0");
  const bool aligned = reinterpret_cast<uintptr_t>(data_) % static_cast<size_t>(item_bytes_) == 0;
  if (!strides) strides = dense_strides(shape_, item_bytes_);
  if (aligned && is_dense(shape_, *strides, item_bytes_)) return;
  if (access == Access::kWrite || device_)
    throw nb::value_error((std::string(name_) +
                           (aligned ? " is not dense and in C order" : " is not aligned to its elements") +
                           "; expected an array that is")
                              .c_str());
  own_.resize(static_cast<size_t>(bytes));
  copy_dense(static_cast<const std::byte*>(data_), own_.data(), shape_.data(), strides->data(),
             static_cast<int>(shape_.size()), static_cast<size_t>(item_bytes_));
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

std::string Array::shape_text() const { return "(" + joined(shape_) + (shape_.size() == 1 ? ",)" : ")"); }

void Array::refuse_read_only() const {
  throw nb::value_error((std::string(name_) + " is read-only; expected an array that can be written").c_str());
}

void Array::refuse_layout(const std::string& what) const {
  throw nb::buffer_error((std::string(name_) + ": its owner describes it wrongly, by " + what).c_str());
}

void Array::refuse_type(const char* expected) const {
  throw nb::type_error(
      (std::string(name_) + ": has elements of type " + type_name_ + "; expected " + expected).c_str());
}

void check_codes(const Array& out, const FloatFormat& format, const char* otherwise) {
  const bool plain =
      out.elements() == Elements::kUint8 || out.elements() == Elements::kUint16 || out.elements() == Elements::kUint32;
  const bool own = out.elements() == Elements::kCodes || out.elements() == Elements::kFloat32;
  if (plain ? out.item_bytes() == code_bytes(format) : own && out.format() == format) return;
  const char* const dtype = dtype_name_of(format);
  out.refuse_type((otherwise + ("uint" + std::to_string(8 * code_bytes(format))) +
                   (dtype ? std::string(" or ") + dtype : "") + " for codes of " + format_name(format))
                      .c_str());
}

void check_overlap(const Array& out, const Array& in, InPlace in_place) {
  if (out.device() != in.device()) return;
  const auto bytes_of = [](const Array& a) { return a.size() * static_cast<size_t>(a.item_bytes()); };
  const std::byte* const to = out.as<std::byte>().data();
  const std::byte* const from = in.as<std::byte>().data();
  if (from >= to + bytes_of(out) || to >= from + bytes_of(in)) return;
  const bool allowed = in_place == InPlace::kSameElements;
  if (allowed && to == from && out.item_bytes() == in.item_bytes()) return;
  throw nb::value_error((std::string(out.name()) + " overlaps " + in.name() + "; expected an array of its own" +
                         (allowed ? ", or " + std::string(in.name()) + " itself" : ""))
                            .c_str());
}

}  // namespace softamp::python
