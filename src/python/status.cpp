// softamp.Status: the flags that a call raised.
#include "softamp/numerics/status.h"

#include "softamp/names/names.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/flags.h"
#include "src/text/word.h"

namespace softamp::python {
namespace {

int flag_of(nb::handle object) {
  const std::string_view text = word(object, "flag");
  for (int b = 0; b < kFlagCount; ++b)
    if (same_word(text, kFlagNames[b])) return b;
  throw nb::value_error(unknown_name_message("flag", text, {std::begin(kFlagNames), std::end(kFlagNames)}).c_str());
}

nb::object index_or_none(uint64_t index) {
  return index == FpStatus::kNever ? nb::object(nb::none()) : nb::object(nb::int_(index));
}

}  // namespace

void bind_status(nb::module_& m) {
  nb::class_<FpStatus> status(m, "Status",
                              "Flags that a call raised, and the lowest index of an element that raised each.\n\n"
                              "inexact, underflow, overflow, divide_by_zero, invalid: whether it was raised; flags: "
                              "the bits, 1, 2, 4, 8, 16 in\n"
                              "that order. Indices count from 0 in C order.");
  for (int b = 0; b < kFlagCount; ++b)
    status.def_prop_ro(kFlagNames[b], [b](const FpStatus& s) { return (s.flags >> b & 1) != 0; });
  status.def_prop_ro("flags", [](const FpStatus& s) { return static_cast<int>(s.flags); })
      .def_prop_ro("first_index", [](const FpStatus& s) { return first_of_flags(s.flags, s.first_index); })
      .def(
          "lowest_index",
          [](const FpStatus& s, nb::args flags) {
            uint8_t mask = flags.size() == 0 ? kAllFlags : 0;
            for (const nb::handle flag : flags) mask = static_cast<uint8_t>(mask | 1 << flag_of(flag));
            return index_or_none(s.lowest_index(mask));
          },
          "The lowest index at which any of these flags (all, if none is named) was raised; None if none was.")
      .def("__bool__", [](const FpStatus& s) { return s.flags != 0; })
      .def(
          "__eq__", [](const FpStatus& a, const FpStatus& b) { return a == b; }, nb::is_operator())
      .def("__repr__", [](const FpStatus& s) {
        std::string text;
        for (int b = 0; b < kFlagCount; ++b)
          if (s.flags >> b & 1)
            text += (text.empty() ? "" : ", ") + std::string(kFlagNames[b]) + " first at " +
                    std::to_string(s.first_index[b]);
        return "Status(" + (text.empty() ? "none" : text) + ")";
      });
}

}  // namespace softamp::python
