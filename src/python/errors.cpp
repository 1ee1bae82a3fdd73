#include "src/python/errors.h"

#include <cstring>
#include <exception>
#include <limits>

#include "softamp/findings/exception.h"
#include "softamp/graph/executor.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "src/python/calls.h"
#include "src/text/printable.h"

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

/// int(object) of what is one by itself. Throws TypeError for another kind of object.
nb::object index_of(nb::handle object, const char* name) {
  try {
    if (PyIndex_Check(object.ptr())) return given_by([&] { return PyNumber_Index(object.ptr()); });
  } catch (const nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  throw nb::type_error((name + (": " + shown(object)) + ": expected a whole number").c_str());
}

[[noreturn]] void refuse_value(nb::handle object, const char* name, const std::string& expected) {
  throw nb::value_error((name + (": " + shown(object)) + ": expected " + expected).c_str());
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
    } catch (const std::invalid_argument& e) {  // which may name what was given
      PyErr_SetString(PyExc_ValueError, files::printable(e.what(), true).c_str());
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError,
                      "an object of softamp's was made by __new__ alone; expected one that its class made");
    }
  });
}

uint64_t whole(nb::handle object, const char* name, uint64_t least, uint64_t greatest) {
  const nb::object index = index_of(object, name);
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
  const bool outside = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (outside || value < least || value > greatest)
    refuse_value(object, name, std::to_string(least) + " to " + std::to_string(greatest));
  return value;
}

int integer(nb::handle object, const char* name) {
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(index_of(object, name).ptr(), &overflow);
  using Limits = std::numeric_limits<int>;
  if (overflow || value < Limits::min() || value > Limits::max())
    refuse_value(object, name, std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()));
  return static_cast<int>(value);
}

bool truth(nb::handle object, const char* name) {
  if (!PyBool_Check(object.ptr()))
    throw nb::type_error((name + (": expected True or False, not " + shown(object))).c_str());
  return object.ptr() == Py_True;
}

std::string_view word(nb::handle object, const char* name) {
  Py_ssize_t length = 0;
  const char* const text = PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &length) : nullptr;
  if (!text) {
    PyErr_Clear();
    throw nb::type_error((std::string(name) + ": expected a word, not " + shown(object)).c_str());
  }
  if (std::memchr(text, 0, static_cast<size_t>(length)))
    throw nb::value_error((std::string(name) + ": " + shown(object) + ": expected no character 0").c_str());
  return {text, static_cast<size_t>(length)};
}

}  // namespace softamp::python
