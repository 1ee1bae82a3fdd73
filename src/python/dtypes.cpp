#include "src/python/dtypes.h"

#include <map>

#include "softamp/names/names.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/format_class.h"

namespace softamp::python {
namespace {

struct Row {
  const char* dtype;
  FloatFormat format;
};
constexpr Row kRows[] = {{"float16", kFp16},
                         {"bfloat16", kBf16},
                         {"float32", kFp32},
                         {"float64", kBinary64},
                         {"float8_e4m3fn", kE4m3},
                         {"float8_e5m2", kE5m2},
                         {"float8_e4m3fnuz", kF143},
                         {"float8_e5m2fnuz", kF152},
                         {"float8_e4m3", FloatFormat::ieee(4, 4)},
                         {"float8_e3m4", FloatFormat::ieee(3, 5)},
                         {"float6_e2m3fn", kE2m3},
                         {"float6_e3m2fn", kE3m2},
                         {"float4_e2m1fn", kE2m1}};

/// NumPy's function that makes arrays. Never let go of: the interpreter may end before the module does.
nb::handle numpy(const char* member) {
  static std::map<std::string, nb::handle> kept;
  const auto found = kept.find(member);
  if (found != kept.end()) return found->second;
  return kept[member] = attribute(imported("numpy"), member).release();
}

bool is_numpys(std::string_view name) {
  return name == "float16" || name == "float32" || name == "float64" || name.starts_with("uint") ||
         name.starts_with("int") || name == "bool";
}

nb::object shape_tuple(const std::vector<int64_t>& shape) {
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return nb::steal(tuple);
}

nb::object empty(const std::vector<int64_t>& shape, nb::handle dtype) {
  return called(numpy("empty"), shape_tuple(shape), dtype);
}

nb::object viewed(nb::handle array, nb::handle dtype) {
  return called(attribute(numpy("ndarray"), "view"), array, dtype);
}

/// The word that a dtype, or the class of one, goes by; empty for other objects.
std::string dtype_word(nb::handle object) {
  if (!has_attribute(object, "dtype") && !has_attribute(object, "itemsize") && !nb::isinstance<nb::type_object>(object))
    return {};
  try {
    return text_of(attribute(called(numpy("dtype"), object), "name"));
  } catch (const nb::python_error&) {
    return {};
  }
}

}  // namespace

const char* dtype_name_of(const FloatFormat& format) {
  for (const Row& row : kRows)
    if (row.format == format) return row.dtype;
  return nullptr;
}

std::optional<FloatFormat> format_of_dtype(std::string_view name) {
  for (const Row& row : kRows)
    if (name == row.dtype) return row.format;
  return std::nullopt;
}

nb::handle dtype_object(std::string_view name) {
  static std::map<std::string, nb::handle, std::less<>> kept;
  const auto found = kept.find(name);
  if (found != kept.end()) return found->second;
  nb::object made;
  try {
    const nb::object type = is_numpys(name) ? nb::object(nb::str(name.data(), name.size()))
                                            : attribute(imported("ml_dtypes"), std::string(name).c_str());
    made = called(numpy("dtype"), type);
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_ImportError) && !e.matches(PyExc_AttributeError)) throw;  // none, or an older ml_dtypes
  }
  return kept[std::string(name)] = made.release();
}

nb::handle unsigned_dtype(int bytes) { return dtype_object(bytes == 1 ? "uint8" : bytes == 2 ? "uint16" : "uint32"); }

std::optional<FloatFormat> format_of_ml_array(nb::handle array) {
  if (array.type().ptr() != numpy("ndarray").ptr()) return std::nullopt;
  using Known = std::vector<std::pair<PyObject*, FloatFormat>>;
  // Not behind the guard of a static's first use: an import lets other threads run, which would wait at the guard with
  // the lock that this one needs.
  static const Known* known = nullptr;
  if (!known) {
    Known all;
    for (const Row& row : kRows)
      if (!is_numpys(row.dtype) && dtype_object(row.dtype)) all.emplace_back(dtype_object(row.dtype).ptr(), row.format);
    if (!known) known = new Known(std::move(all));
  }
  const nb::object dtype = attribute(array, "dtype");
  for (const auto& [object, format] : *known)
    if (object == dtype.ptr()) return format;
  return std::nullopt;
}

nb::object codes_of_ml_array(nb::handle array, const FloatFormat& format) {
  return viewed(array, unsigned_dtype(code_bytes(format)));
}

int code_bytes(const FloatFormat& f) { return f.storage_bits() <= 8 ? 1 : f.storage_bits() <= 16 ? 2 : 4; }

nb::object new_array(const std::vector<int64_t>& shape, const char* dtype) { return empty(shape, dtype_object(dtype)); }

nb::object new_codes(const std::vector<int64_t>& shape, const FloatFormat& format, bool plain) {
  const char* const name = plain ? nullptr : dtype_name_of(format);
  return empty(shape, name && is_numpys(name) ? dtype_object(name) : unsigned_dtype(code_bytes(format)));
}

nb::object in_own_dtype(nb::object codes, const FloatFormat& format) {
  const char* const name = dtype_name_of(format);
  const nb::handle own = name && !is_numpys(name) ? dtype_object(name) : nb::handle();
  return own ? viewed(codes, own) : codes;
}

FloatFormat format_from(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    const std::string_view name = word(object, "format");
    if (const auto of_dtype = format_of_dtype(name)) return *of_dtype;
    return format_from_name(name);
  }
  if (nb::isinstance<Format>(object)) return nb::cast<const Format&>(object).format;
  if (const auto format = format_of_dtype(dtype_word(object))) return *format;
  throw nb::type_error(
      ("format: expected a name, a softamp.Format or a dtype with a format, not " + shown(object)).c_str());
}

FloatFormat compute_format_from(nb::handle object, const char* name) {
  const FloatFormat format = format_from(object);
  if (format == kBinary64)
    throw nb::value_error((std::string(name) +
                           ": 'fp64': expected a format of at most 24 bits of precision; fp64 is for conversions only")
                              .c_str());
  return format;
}

}  // namespace softamp::python
