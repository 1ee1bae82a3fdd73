// softamp.Format and softamp.Chip: formats and chips as objects, with their limits.
#include "softamp/chips/chip_table.h"
#include "softamp/names/block_format_names.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "src/python/arrays.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/format_class.h"

namespace softamp::python {
namespace {

nb::list words(const std::vector<std::string>& all) {
  nb::list list;
  for (const std::string& one : all) list.append(nb::str(one.c_str()));
  return list;
}

std::string origin_of(const FloatFormat& f) {
  for (const NamedFormat& n : named_formats())
    if (n.format == f) return n.origin;
  return "";
}

nb::list names_of(const FloatFormat& f) {
  for (const NamedFormat& n : named_formats())
    if (n.format == f) return words(n.names);
  return words({format_name(f)});
}

void bind_format(nb::module_& m) {
  const auto value = [](const FloatFormat& f, uint64_t code) { return value_of(f, code); };
  nb::class_<Format>(m, "Format",
                     "A floating-point format; Format(\"fp16\"), Format(\"e5p11\"), Format(numpy.float16).\n\n"
                     "Limits are exact floats; codes are whole numbers, the bits right-aligned.")
      .def(
          "__init__", [](Format* self, nb::handle name) { new (self) Format{format_from(name)}; },
          nb::arg("name").none())
      .def_prop_ro("name", [](const Format& f) { return nb::str(format_name(f.format).c_str()); })
      .def_prop_ro("names", [](const Format& f) { return names_of(f.format); })
      .def_prop_ro("origin", [](const Format& f) { return nb::str(origin_of(f.format).c_str()); })
      .def_prop_ro("bits", [](const Format& f) { return f.format.storage_bits(); })
      .def_prop_ro("exponent_bits", [](const Format& f) { return f.format.exponent_bits; })
      .def_prop_ro("precision", [](const Format& f) { return f.format.precision; })
      .def_prop_ro("bias", [](const Format& f) { return f.format.bias; })
      .def_prop_ro("max", [=](const Format& f) { return value(f.format, f.format.max_finite_code()); })
      .def_prop_ro("min_normal", [=](const Format& f) { return value(f.format, f.format.min_normal_code()); })
      .def_prop_ro("min_subnormal", [=](const Format& f) { return value(f.format, f.format.min_subnormal_code()); })
      .def_prop_ro("epsilon", [](const Format& f) { return std::ldexp(1.0, 1 - f.format.precision); })
      .def_prop_ro("has_infinity", [](const Format& f) { return f.format.has_infinity(); })
      .def_prop_ro("has_nan", [](const Format& f) { return f.format.has_nan(); })
      .def_prop_ro("has_negative_zero", [](const Format& f) { return f.format.has_negative_zero(); })
      .def_prop_ro(
          "dtype",
          [](const Format& f) {
            const char* const name = dtype_name_of(f.format);
            return name ? nb::object(nb::str(name)) : nb::object(nb::none());
          },
          "Name of the dtype of NumPy or ml_dtypes with these codes; None where there is none.")
      .def(
          "__eq__", [](const Format& a, const Format& b) { return a.format == b.format; }, nb::is_operator())
      .def("__reduce__", [](nb::handle f) { return nb::make_tuple(f.type(), nb::make_tuple(f.attr("name"))); })
      .def("__hash__",
           [](const Format& f) {
             return f.format.exponent_bits << 16 | f.format.precision << 8 | f.format.bias << 2 |
                    static_cast<int>(f.format.specials);
           })
      .def("__str__", [](const Format& f) { return nb::str(format_name(f.format).c_str()); })
      .def("__repr__",
           [](const Format& f) { return nb::str(("softamp.Format('" + format_name(f.format) + "')").c_str()); });
}

struct ChipObject {
  Chip chip;
};

nb::list conversions(const ChipObject& c) {
  nb::list rows;
  for (const ChipRow& row : chip_rows(c.chip)) {
    nb::dict one;
    one["from"] = nb::cast(Format{row.from});
    one["to"] = nb::cast(Format{row.to});
    one["bits"] = row.bits;
    const auto text = [&one](const char* key, const std::string& t) { one[key] = nb::str(t.c_str()); };
    text("slice", row.slice), text("variant", row.variant), text("alignment", row.alignment);
    text("subnormals", row.subnormals), text("overflow", row.overflow), text("infinity", row.infinity);
    text("nan", row.nan), text("minus_zero", row.minus_zero);
    text("bias", dyadic_text(row.bias)), text("subnormal_bias", dyadic_text(row.subnormal_bias));
    text("evidence", name_of(row.evidence));
    rows.append(one);
  }
  return rows;
}

void bind_chip(nb::module_& m) {
  nb::class_<ChipObject>(
      m, "Chip", "A chip that rounds stochastically, or a definition of such a rounding; Chip(\"nvidia_sm100\").")
      .def(
          "__init__",
          [](ChipObject* self, nb::handle name) { new (self) ChipObject{named(name, "chip", chip_from_name)}; },
          nb::arg("name").none())
      .def_prop_ro("name", [](const ChipObject& c) { return nb::str(chip_facts(c.chip).name.c_str()); })
      .def_prop_ro("title", [](const ChipObject& c) { return nb::str(chip_facts(c.chip).title.c_str()); })
      .def_prop_ro("instruction", [](const ChipObject& c) { return nb::str(chip_facts(c.chip).instruction.c_str()); })
      .def_prop_ro("formats",
                   [](const ChipObject& c) {
                     nb::list all;
                     for (const FloatFormat& f : chip_facts(c.chip).formats) all.append(nb::cast(Format{f}));
                     return all;
                   })
      .def_prop_ro("notes", [](const ChipObject& c) { return words(chip_facts(c.chip).notes); })
      .def_prop_ro("evidence",
                   [](const ChipObject& c) {
                     nb::list all;
                     for (const ChipEvidence& e : chip_facts(c.chip).evidence) {
                       nb::dict one;
                       one["kind"] = nb::str(name_of(e.kind).c_str());
                       one["what"] = nb::str(e.what.c_str());
                       one["source"] = nb::str(e.source.c_str());
                       all.append(one);
                     }
                     return all;
                   })
      .def_prop_ro("conversions", conversions, "One dict for each format that it rounds to: how, and how sure that is.")
      .def(
          "__eq__", [](const ChipObject& a, const ChipObject& b) { return a.chip == b.chip; }, nb::is_operator())
      .def("__reduce__", [](nb::handle c) { return nb::make_tuple(c.type(), nb::make_tuple(nb::str(c))); })
      .def("__hash__", [](const ChipObject& c) { return static_cast<int>(c.chip); })
      .def("__str__", [](const ChipObject& c) { return nb::str(name_of(c.chip).c_str()); })
      .def("__repr__",
           [](const ChipObject& c) { return nb::str(("softamp.Chip('" + name_of(c.chip) + "')").c_str()); });
}

}  // namespace

void bind_formats(nb::module_& m) {
  bind_format(m);
  bind_chip(m);
  m.def("formats", [] {
    nb::list all;
    for (const NamedFormat& n : named_formats()) all.append(nb::cast(Format{n.format}));
    return all;
  });
  m.def("chips", [] {
    nb::list all;
    for (const ChipFacts& c : chip_facts()) all.append(nb::cast(ChipObject{c.chip}));
    return all;
  });
  m.def("block_formats", [] {
    nb::dict all;
    for (const NamedBlockFormat& n : named_block_formats())
      all[nb::str(n.names.front().c_str())] = nb::str(n.about.c_str());
    return all;
  });
}

}  // namespace softamp::python
