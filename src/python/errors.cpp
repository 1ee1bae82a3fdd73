#include "src/python/errors.h"

#include <exception>

#include "softamp/graph/executor.h"
#include "softamp/report/exception.h"
#include "softamp/report/names.h"
#include "softamp/report/number_text.h"

namespace softamp::python {
namespace {

PyObject* floating_point_exception = nullptr;

void set(nb::object& error, const char* name, nb::object value) { error.attr(name) = value; }

void raise(const FloatingPointError& e) {
  nb::object error = nb::handle(floating_point_exception)(nb::str(e.what()));
  set(error, "kinds", nb::str(flag_names(e.kinds()).c_str()));
  set(error, "flags", nb::str(flag_names(e.status()).c_str()));
  set(error, "operation", nb::str(e.operation().c_str()));
  set(error, "index", nb::int_(e.index()));
  nb::list operands;
  for (const uint64_t code : e.operands()) operands.append(nb::int_(code));
  set(error, "operands", operands);
  set(error, "format", nb::str(format_name(e.format()).c_str()));
  PyErr_SetObject(floating_point_exception, error.ptr());
}

}  // namespace

void bind_errors(nb::module_& m) {
  floating_point_exception = PyErr_NewExceptionWithDoc(
      "softamp.FloatingPointException",
      "An enabled exception was raised: str() is the register report. Attributes: kinds (the enabled exceptions that\n"
      "stopped, as words), flags (all of the operation), operation, index (the lowest element), operands (their "
      "codes),\n"
      "format (of the operands).",
      PyExc_FloatingPointError, nullptr);
  m.attr("FloatingPointException") = nb::borrow(floating_point_exception);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const FloatingPointError& e) {
      raise(e);
    }
  });
}

uint64_t whole(nb::handle object, const char* name, uint64_t least, uint64_t greatest) {
  const auto text = [&] { return std::string(name) + ": " + nb::cast<std::string>(nb::repr(object)); };
  const nb::object index = nb::steal(PyIndex_Check(object.ptr()) ? PyNumber_Index(object.ptr()) : nullptr);
  if (!index.is_valid()) {
    PyErr_Clear();
    throw nb::type_error((text() + ": expected a whole number").c_str());
  }
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
  const bool outside = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (outside || value < least || value > greatest)
    throw nb::value_error((text() + ": expected " + std::to_string(least) + " to " + std::to_string(greatest)).c_str());
  return value;
}

std::string_view word(nb::handle object, const char* name) {
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &length) : nullptr;
  if (!text) {
    PyErr_Clear();
    throw nb::type_error(
        (std::string(name) + ": expected a word, not " + nb::cast<std::string>(nb::repr(object))).c_str());
  }
  return {text, static_cast<size_t>(length)};
}

}  // namespace softamp::python
