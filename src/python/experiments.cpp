// softamp.reproduce: the published experiments.
#include <limits>

#include "softamp/names/names.h"
#include "src/python/bindings.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/interrupt.h"
#include "src/reproduce/experiment.h"
#include "src/reproduce/outcome_json.h"

namespace softamp::python {
namespace {

template <typename T, typename Parse>
std::vector<T> list_of(nb::handle values, const char* name, Parse parse) {
  std::vector<T> all;
  if (values.is_none()) return all;
  if (PyUnicode_Check(values.ptr())) return {named(values, name, parse)};
  for (const nb::handle value : values) all.push_back(named(value, name, parse));
  return all;
}

/// The outcome as the JSON text that `softamp reproduce --json` has of it, and its figures as SVG where asked for.
nb::dict reproduce(nb::handle name, nb::handle formats, nb::handle roundings, nb::handle fixed_formats, nb::handle bits,
                   nb::handle seed, nb::handle samples, nb::handle data, nb::handle brief, nb::handle figures) {
  const reproduce::Experiment& experiment = reproduce::experiment_called(std::string(word(name, "name")));
  reproduce::Request request;
  request.formats = list_of<FloatFormat>(formats, "format", format_from_name);
  request.roundings = list_of<RoundingMode>(roundings, "rounding", rounding_from_name);
  request.fixed_formats = list_of<FixedFormat>(fixed_formats, "fixed_format", fixed_format_from_name);
  if (!bits.is_none()) request.bits = static_cast<int>(whole(bits, "bits", 1, 32));
  request.seed = whole(seed, "seed", 0, std::numeric_limits<uint64_t>::max());
  if (!samples.is_none()) request.samples = whole(samples, "samples", 1, uint64_t{1} << 40);
  if (!data.is_none()) request.data = word(data, "data");
  request.brief = truth(brief, "brief");
  const bool with_figures = truth(figures, "figures");
  StopWatch watch;
  reproduce::Outcome outcome;
  nb::list drawn;
  try {
    const Released released;
    reproduce::Watch progress({}, [&watch] { return watch.stopped(); });
    outcome = experiment.run(request, progress);
  } catch (const reproduce::Interrupted&) {
    watch.rethrow();
    throw;
  }
  for (const reproduce::Figure& figure : outcome.figures) {
    nb::dict one;
    one["name"] = text(figure.name);
    one["caption"] = text(figure.caption);
    if (with_figures) one["svg"] = text(svg_of(figure.plot));
    drawn.append(one);
  }
  reproduce::spell_out(outcome);
  nb::dict all;
  all["name"] = text(experiment.name);
  all["summary"] = text(experiment.summary);
  all["source"] = text(experiment.source);
  all["outcome"] = text(reproduce::outcome_json(outcome).dump());
  all["figures"] = drawn;
  return all;
}

}  // namespace

void bind_experiments(nb::module_& m) {
  m.def("reproduce", reproduce, nb::arg("name").none(), nb::arg("formats").none(), nb::arg("roundings").none(),
        nb::arg("fixed_formats").none(), nb::arg("bits").none(), nb::arg("seed").none(), nb::arg("samples").none(),
        nb::arg("data").none(), nb::arg("brief").none(), nb::arg("figures").none());
  m.def("experiments", [] {
    nb::dict all;
    for (const reproduce::Experiment& e : reproduce::shelf()) all[text(e.name)] = text(e.summary);
    return all;
  });
}

}  // namespace softamp::python
