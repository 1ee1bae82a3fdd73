// softamp.inspect: a number taken apart.
#include "src/inspection/inspection.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/rounding.h"

namespace softamp::python {
namespace {

/// JSON text of what `softamp inspect --json` prints.
std::string inspect(nb::handle text, nb::handle format, nb::handle bits, nb::handle overflow) {
  Rounding how;
  if (!bits.is_none()) how.bits = static_cast<int>(whole(bits, "bits", 1, 32));
  if (!overflow.is_none()) how.overflow = named(overflow, "overflow", overflow_from_name);
  const FloatFormat f = format_from(format);
  return detail::inspection_json(detail::inspection_of(std::string(word(text, "value")), f, how.policy(f))).dump();
}

}  // namespace

void bind_inspect(nb::module_& m) {
  m.def("inspect", inspect, nb::arg("text").none(), nb::arg("format").none(), nb::arg("bits").none(),
        nb::arg("overflow").none());
}

}  // namespace softamp::python
