// Exceptions of Python's: how those of the library arrive; arguments that are checked, and text.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "softamp/numbers/number_text.h"
#include "src/text/printable.h"

namespace softamp::python {

namespace nb = nanobind;

/// Registers softamp.FloatingPointException and the translation of the library's exceptions.
void bind_errors(nb::module_& m);

/// A whole number in [least, greatest]. Throws TypeError for another kind of object, ValueError outside.
uint64_t whole(nb::handle object, const char* name, uint64_t least, uint64_t greatest);

/// A whole number that may be negative. Throws TypeError for another kind of object, ValueError for one that int has
/// not.
int integer(nb::handle object, const char* name);

/// Throws TypeError for anything but True and False.
bool truth(nb::handle object, const char* name);

/// A word. Throws TypeError for another kind of object.
std::string_view word(nb::handle object, const char* name);

/// The number of a text, exactly. Throws TypeError for another kind of object, ValueError for no number.
inline ParsedNumber number_from(nb::handle object, const char* name) {
  try {
    return number_from_text(std::string(word(object, name)));
  } catch (const std::invalid_argument& e) {
    throw nb::value_error(files::printable(std::string(name) + ": " + e.what(), true).c_str());
  }
}

inline nb::str text(const std::string& s) { return nb::str(s.data(), s.size()); }

/// `parse` of a word, with the argument's name before the message of the UnknownName.
template <typename Parse>
auto named(nb::handle object, const char* name, Parse parse) -> decltype(parse(std::string_view{})) {
  const std::string_view text = word(object, name);
  try {
    return parse(text);
  } catch (const std::invalid_argument& e) {
    throw nb::value_error(files::printable(std::string(name) + ": " + e.what(), true).c_str());
  }
}

}  // namespace softamp::python
