#include "src/python/calls.h"

namespace softamp::python {
namespace {

std::string utf8_of(const nb::object& text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(bytes.ptr()), static_cast<size_t>(PyBytes_Size(bytes.ptr()))};
}

}  // namespace

std::string text_of(nb::handle object) {
  return utf8_of(given_by([&] { return PyObject_Str(object.ptr()); }));
}

std::string shown(nb::handle object) {
  return utf8_of(given_by([&] { return PyObject_Repr(object.ptr()); }));
}

}  // namespace softamp::python
