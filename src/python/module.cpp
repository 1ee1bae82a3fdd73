// The module softamp._softamp, on which src/python/softamp/ stands.
#include "softamp/numerics/version.h"
#include "src/backend.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/rounding.h"

NB_MODULE(_softamp, m) {
  using namespace softamp::python;
  m.doc() = "Bindings of the library; use the package softamp.";
  m.attr("version") = SOFTAMP_VERSION;
  m.attr("has_cuda") = !softamp::cuda_architectures().empty();
  // A daemon thread that the interpreter leaves behind keeps what it has: no fault to report.
  nb::set_leak_warnings(false);
  await_work_at_end();
  bind_errors(m);
  bind_behaviour(m);
  bind_status(m);
  bind_formats(m);
  bind_round(m);
  bind_arithmetic(m);
  bind_blocks(m);
  bind_sums(m);
  bind_inspect(m);
  bind_graph(m);
  bind_training(m);
  bind_experiments(m);
}
