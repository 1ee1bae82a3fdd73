// softamp.train: a whole training run, with a callback after each step.
#include <sstream>

#include "softamp/train/training_run.h"
#include "src/python/bindings.h"
#include "src/python/calls.h"
#include "src/python/errors.h"
#include "src/python/gil.h"
#include "src/python/interrupt.h"

namespace softamp::python {
namespace {

nb::list numbers(const std::vector<double>& values) {
  nb::list all;
  for (const double value : values) all.append(value);
  return all;
}

nb::dict evaluation(const Evaluation& e) {
  nb::dict one;
  one["step"] = e.step;
  one["images"] = e.images;
  one["correct"] = e.correct;
  one["accuracy"] = e.accuracy();
  one["loss"] = e.loss;
  one["text"] = text(e.text());
  return one;
}

nb::dict dict_of(const RunSummary& s, const std::string& report) {
  nb::dict all;
  all["finished"] = s.finished;
  all["steps"] = s.steps;
  all["skipped"] = s.skipped;
  all["losses"] = numbers(s.losses);
  all["epoch_losses"] = numbers(s.epoch_losses);
  nb::list evaluations, hashes;
  for (const Evaluation& e : s.evaluations) evaluations.append(evaluation(e));
  for (const std::string& hash : s.weight_hashes) hashes.append(text(hash));
  all["evaluations"] = evaluations;
  all["weight_hashes"] = hashes;
  all["verdict"] = s.verdict ? nb::object(text(s.verdict->line())) : nb::object(nb::none());
  all["outcome"] = s.verdict ? nb::object(nb::str(name_of(s.verdict->outcome))) : nb::object(nb::none());
  all["report"] = text(report);
  return all;
}

/// Files of the run: a dict of RunOutput's names.
void set_files(RunOutput& output, nb::dict files) {
  const auto take = [&files](const char* key, std::string& to) {
    if (files.contains(key) && !nb::object(files[key]).is_none()) to = word(nb::object(files[key]), key);
  };
  take("log", output.log);
  take("checkpoint", output.checkpoint);
  take("resume", output.resume);
  take("write_initial", output.write_initial);
  take("plot", output.plot);
  take("histograms", output.histograms);
}

nb::dict train(nb::handle settings, nb::handle on_step, nb::dict files) {
  const TrainSettings wanted = TrainSettings::from_json(word(settings, "settings"));
  RunOutput output;
  set_files(output, files);
  std::ostringstream report;
  output.report = &report;
  output.quiet = true;
  output.progress = false;
  StopWatch watch;
  // A step that has begun is finished, unless it is a long one that is interrupted twice.
  output.stop = [&watch] { return watch.stopped(); };
  if (!on_step.is_none())
    output.on_step = [&](const StepResult& step) { watch.call([&] { called(on_step, text(step.json())); }); };
  RunSummary summary;
  {
    const Released released;
    summary = run_training(wanted, output);
  }
  watch.rethrow();
  return dict_of(summary, report.str());
}

}  // namespace

void bind_training(nb::module_& m) {
  m.def("train", train, nb::arg("settings").none(), nb::arg("on_step").none(), nb::arg("files"));
  m.def("refuse_idle_settings", [](nb::list cases) {
    std::vector<TrainSettings> all;
    for (const nb::handle one : cases) {
      all.push_back(TrainSettings::from_json(word(one, "settings")));
      all.back().validate();
    }
    TrainSettings::refuse_idle(all);
  });
  m.def("train_settings", [](nb::handle settings) {
    return text(TrainSettings::from_json(word(settings, "settings")).to_json(true, true));
  });
}

}  // namespace softamp::python
