// Steps of training: model B and ResNet-8 in every precision, with momentum and Adam under a dynamic loss scale. After
// each step everything that a trainer keeps or reports must have the same bits.
#include <bit>
#include <cstdio>
#include <cstring>

#include "parity_steps.h"
#include "softamp/graph/trace.h"

namespace softamp::parity {

TrainerOptions options_of(const Mode& mode, const std::string& backend) {
  TrainerOptions o;
  o.executor.backend = backend;
  o.executor.status = true;
  o.executor.seed = 0x0123456789ABCDEFu;
  o.executor.config.set("floating_point_behaviour.nanoo", true);
  o.executor.config.set("floating_point_behaviour.esr", mode.stochastic);
  if (mode.half_partials)
    o.executor.config.matmuls.poplar_options["partialsType"] =
        o.executor.config.convolutions.poplar_options["partialsType"] = "half";
  return o;
}

std::string text_of_step(const StepResult& r) {
  char text[160];
  std::snprintf(
      text, sizeof text, "loss %016llx, applied %d, scale %08x to %08x, status %d, %lld not finite, rate %016llx",
      static_cast<unsigned long long>(std::bit_cast<uint64_t>(r.loss)), r.applied,
      std::bit_cast<uint32_t>(r.scale_before), std::bit_cast<uint32_t>(r.scale_after), r.status,
      static_cast<long long>(r.nonfinite), static_cast<unsigned long long>(std::bit_cast<uint64_t>(r.learning_rate)));
  std::string all = text;
  for (const auto& [name, count] : r.nonfinite_by_variable) all += ", " + name + " " + std::to_string(count);
  return all;
}

std::string difference_between(const Trainer::State& expected, const Trainer::State& found, uint64_t& elements) {
  if (expected.step != found.step || expected.optimizer_step != found.optimizer_step ||
      expected.executions != found.executions)
    return "counters differ";
  for (size_t i = 0; i < expected.tensors[0].size(); ++i) {
    const auto& [name, value] = expected.tensors[0][i];
    elements += static_cast<uint64_t>(value.elements());
    const std::string d = difference_of(value, found.tensors[0][i].second);
    if (!d.empty()) return "variable '" + name + "': " + d;
  }
  return {};
}

namespace {

constexpr Mode kModes[] = {{"float32", "float32", false, false},
                           {"mixed", "mixed", false, false},
                           {"float16 nearest", "float16", false, false},
                           {"float16 stochastic half partials", "float16", true, true},
                           {"bfloat16", "bfloat16", true, false}};

struct Size {
  int steps;
  int64_t batch;
  bool all;  ///< whole images; both optimizers for both networks
};
/// Kernels that run serially on the host get three steps, the last a recording played again, on images of 6 x 6.
Size size_of_run(int64_t elements) { return elements > 1000000 ? Size{200, 8, true} : Size{3, 2, false}; }

Model model_of(const char* network, const Mode& mode, const Size& size) {
  const NetworkInfo info = find_network(network);
  ModelOptions o;
  o.batch_size = size.batch;
  o.image = info.image;
  if (!size.all) o.image[0] = o.image[1] = 6;
  o.classes = info.classes;
  o.precision = Precision::parse(mode.precision);
  return build_model(info.build, o);
}

TrainerOptions options_of(const Mode& mode, OptimizerKind optimizer, const std::string& backend) {
  TrainerOptions o = options_of(mode, backend);
  o.optimizer = OptimizerOptions::of(optimizer);
  o.loss_scale = LossScaleOptions::tensorflow();
  o.loss_scale.initial = 128;
  o.loss_scale.window = 2;  // it grows, and the steps below make it fall
  return o;
}

/// Random images; one of them has an infinite element now and then, so that the step is not applied.
Batch batch_of(const Model& model, int step) {
  const Shape shape = model.graph.type(model.graph.port(model.images)).shape;
  const DType dtype = model.precision.compute;
  Batch b{floats(dtype, shape, static_cast<uint64_t>(step), true),
          integers({shape[0]}, 99 + static_cast<uint64_t>(step), 0, 9)};
  if (step % 50 == 2) {
    const uint64_t infinity = format_of(dtype).infinity_code();
    std::memcpy(b.images.data(), &infinity, size_of(dtype));
  }
  return b;
}

/// What must have happened for the comparison to mean something.
struct Seen {
  bool applied = false, skipped = false;
};

/// `given`: what the other gave.
std::string run(Trainer& emu, Trainer& other, const Size& size, uint64_t& elements, std::string& given) {
  Seen seen;
  for (int step = 0; step < size.steps; ++step) {
    const Batch batch = batch_of(emu.model(), step);
    const StepResult expected = emu.step({&batch, 1}), found = other.step({&batch, 1});
    (expected.applied ? seen.applied : seen.skipped) = true;
    given += text_of_step(found);
    const std::string place = "step " + std::to_string(step) + ": ";
    if (text_of_step(expected) != text_of_step(found))
      return place + "expected " + text_of_step(expected) + "; found " + text_of_step(found);
    const std::string d = difference_between(emu.state(), other.state(), elements);
    if (!d.empty()) return place + d;
  }
  const Batch batch = batch_of(emu.model(), 0);
  const Tensor logits = other.logits(batch.images);
  given += hash_text(logits.data(), logits.bytes());
  const std::string d = difference_of(emu.logits(batch.images), logits);
  if (!d.empty()) return "logits: " + d;
  return seen.applied && seen.skipped ? std::string() : "not a step of each kind: applied, skipped";
}

}  // namespace

void training(Suite& suite) {
  const Size size = size_of_run(suite.elements());
  for (const char* network : {"fashion_cnn", "resnet8"})
    for (const Mode& mode : kModes)
      for (const OptimizerKind optimizer : {OptimizerKind::kMomentum, OptimizerKind::kAdam}) {
        // Few steps: each network with one of the two.
        const bool resnet = std::strcmp(network, "resnet8") == 0;
        if (!size.all && resnet != (optimizer == OptimizerKind::kMomentum)) continue;
        const std::string name = std::string(network) + " " + mode.name + " " + name_of(optimizer);
        if (!suite.wants(name)) continue;
        std::string difference, given;
        uint64_t elements = 0;
        try {
          Trainer emu(model_of(network, mode, size), options_of(mode, optimizer, "emu"));
          Trainer other(model_of(network, mode, size), options_of(mode, optimizer, suite.backend()));
          difference = run(emu, other, size, elements, given);
        } catch (const std::exception& error) {
          difference = error.what();
        }
        suite.note(name, difference, elements, given);
      }
}

}  // namespace softamp::parity
