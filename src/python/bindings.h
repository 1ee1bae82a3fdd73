// What each file of this folder adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace softamp::python {

namespace nb = nanobind;

void bind_status(nb::module_& m);
void bind_formats(nb::module_& m);
void bind_round(nb::module_& m);
void bind_arithmetic(nb::module_& m);
void bind_blocks(nb::module_& m);
void bind_sums(nb::module_& m);
void bind_inspect(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_training(nb::module_& m);
void bind_experiments(nb::module_& m);

}  // namespace softamp::python
