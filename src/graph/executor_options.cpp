// What an executor's options say of the arithmetic: the preset, and the rules that follow from it.
#include "softamp/graph/executor.h"

namespace softamp {

Preset preset_of(const ExecutorOptions& options) { return options.preset.value_or(Preset::kIpu); }

ExecutorOptions with_preset(ExecutorOptions options, std::optional<Preset> preset) {
  const bool says_nothing = !options.semantics && !options.preset && !options.config.behaviour().nanoo;
  if (says_nothing) options.preset = preset;
  return options;
}

Semantics semantics_of(const ExecutorOptions& options) {
  if (options.semantics && options.preset)
    throw std::invalid_argument("preset " + name_of(*options.preset) +
                                " and semantics exclude each other; expected one of them");
  if (options.semantics) return *options.semantics;
  const FloatingPointBehaviour behaviour = options.config.behaviour();
  if (preset_of(options) == Preset::kIpu) return Semantics::ipu(behaviour, options.switches, options.random);
  if (behaviour.nanoo)
    throw std::invalid_argument(
        "preset ieee and floating_point_behaviour.nanoo exclude each other: in ieee an overflow is infinite; expected "
        "preset ipu, or nanoo off");
  Semantics semantics = Semantics::ieee();
  if (!behaviour.esr) return semantics;
  const RoundingPolicy stochastic = Semantics::ipu(behaviour, options.switches, options.random).narrow;
  for (RoundingPolicy* p : {&semantics.narrow, &semantics.quarter}) {
    p->mode = stochastic.mode;
    p->random_bits = stochastic.random_bits;
    p->variant = stochastic.variant;
  }
  if (!options.switches.fp8_sr) semantics.quarter = Semantics::ieee().quarter;
  return semantics;
}

}  // namespace softamp
