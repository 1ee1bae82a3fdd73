// What asks an object of Python's, whose class may be written in Python. The thread may never come back from there
// (gil.h): what the call itself needs is made before it, so that nothing is let go of without the lock.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "src/python/gil.h"

namespace softamp::python {

namespace nb = nanobind;

/// What a function of Python's C interface gives, which is a new reference. Throws the exception that it has set.
template <typename Call>
nb::object given_by(Call call) {
  PyObject* const object = calling_python(call);
  if (!object) throw nb::python_error();
  return nb::steal(object);
}

inline nb::object attribute(nb::handle object, const char* name) {
  return given_by([&] { return PyObject_GetAttrString(object.ptr(), name); });
}

/// False, too, where an exception is raised instead.
inline bool has_attribute(nb::handle object, const char* name) {
  return calling_python([&] { return PyObject_HasAttrString(object.ptr(), name); }) == 1;
}

template <typename... Arguments>
nb::object called(nb::handle function, const Arguments&... arguments) {
  return given_by([&] { return PyObject_CallFunctionObjArgs(function.ptr(), arguments.ptr()..., nullptr); });
}

inline nb::object imported(const char* module) {
  return given_by([&] { return PyImport_ImportModule(module); });
}

/// str(object), in UTF-8; a surrogate on its own, which that has not, as \\udc80.
std::string text_of(nb::handle object);
/// repr(object), likewise.
std::string shown(nb::handle object);

}  // namespace softamp::python
