#include "src/python/executor_options.h"

#include <functional>
#include <limits>
#include <map>

#include "softamp/names/names.h"
#include "src/python/errors.h"
#include "src/python/rounding.h"

namespace softamp::python {
namespace {

using Set = std::function<void(ExecutorOptions&, nb::handle)>;

AmpInner inner_from(std::string_view name) {
  const AmpInner all[] = {AmpInner::kFmaChain, AmpInner::kRn32Each, AmpInner::kExactDot4};
  std::vector<std::string> known;
  for (const AmpInner inner : all) {
    if (name == name_of(inner)) return inner;
    known.emplace_back(name_of(inner));
  }
  throw UnknownName(unknown_name_message("accumulation", name, known));
}

void set_partials(ExecutorOptions& o, nb::handle value) {
  const std::string text(word(value, "partials"));
  const auto dtype = parse_dtype(text);
  const std::string poplars = dtype == DType::kFloat16 ? "half" : dtype == DType::kFloat32 ? "float" : text;
  o.config.matmuls.poplar_options["partialsType"] = poplars;
  o.config.convolutions.poplar_options["partialsType"] = poplars;
  product_options(o.config.matmuls.poplar_options, "matmuls");
}

/// Of the accelerator; the arithmetic is then the preset `ipu`, as it is for every call within a behaviour.
void set_behaviour(ExecutorOptions& o, const FloatingPointBehaviour& b) {
  o.preset = Preset::kIpu;
  auto& config = o.config.floating_point_behaviour;
  config = {};
  config.inv = b.inv;
  config.div0 = b.div0;
  config.oflo = b.oflo;
  config.nanoo = b.nanoo;
  config.esr = b.esr ? StochasticRoundingBehaviour::kOn : StochasticRoundingBehaviour::kOff;
}

int number(nb::handle value, const char* name, uint64_t least, uint64_t greatest) {
  return static_cast<int>(whole(value, name, least, greatest));
}

const std::map<std::string, Set, std::less<>>& setters() {
  using O = ExecutorOptions;
  static const std::map<std::string, Set, std::less<>> kAll = {
      {"backend", [](O& o, nb::handle v) { o.backend = word(v, "backend"); }},
      {"config", [](O& o, nb::handle v) { o.config = IpuConfig::from_json(word(v, "config")); }},
      {"behaviour", [](O& o, nb::handle v) { set_behaviour(o, behaviour_from(v, FloatingPointBehaviour::all_off())); }},
      {"preset", [](O& o, nb::handle v) { o.preset = named(v, "preset", preset_from_name); }},
      {"partials", set_partials},
      {"block", [](O& o, nb::handle v) { o.amp_block = number(v, "block", 0, 16); }},
      {"inner", [](O& o, nb::handle v) { o.amp_inner = named(v, "inner", inner_from); }},
      {"accumulator", [](O& o, nb::handle v) { o.accumulator = named(v, "accumulator", accumulator_from_name); }},
      {"tensor_core_operands",
       [](O& o, nb::handle v) {
         o.tensor_core_operands = named(v, "tensor_core_operands", tensor_core_operands_from_name);
       }},
      {"random", [](O& o, nb::handle v) { o.random = named(v, "random", engine_from_name); }},
      {"bits", [](O& o, nb::handle v) { o.switches.sr_bits = number(v, "bits", 1, 32); }},
      {"variant", [](O& o, nb::handle v) { o.switches.sr_form = named(v, "variant", variant_from_name); }},
      {"semantics",
       [](O& o, nb::handle v) {
         const Rounding how = Rounding::from(nb::cast<nb::tuple>(v));
         o.preset.reset();
         o.semantics = how.semantics(kFp16);
         o.random = how.engine;
       }},
      {"seed", [](O& o, nb::handle v) { o.seed = whole(v, "seed", 0, std::numeric_limits<uint64_t>::max()); }},
      {"replica", [](O& o, nb::handle v) { o.replica = static_cast<uint32_t>(whole(v, "replica", 0, 255)); }},
      {"tiles", [](O& o, nb::handle v) { o.device.tiles = number(v, "tiles", 1, 1u << 20); }},
      {"memory_per_tile",
       [](O& o, nb::handle v) {
         o.device.memory_per_tile = static_cast<int64_t>(whole(v, "memory_per_tile", 0, uint64_t{1} << 40));
       }},
      {"threads", [](O& o, nb::handle v) { o.threads = number(v, "threads", 0, 1024); }},
      {"reference", [](O& o, nb::handle v) { o.reference = truth(v, "reference"); }},
      {"status", [](O& o, nb::handle v) { o.status = truth(v, "status"); }},
      {"statistics", [](O& o, nb::handle v) { o.statistics = truth(v, "statistics"); }},
  };
  return kAll;
}

}  // namespace

ExecutorOptions executor_options_from(nb::dict options) {
  ExecutorOptions o;
  const auto given = [&](const char* name) { return options.contains(name) && !nb::object(options[name]).is_none(); };
  if (given("config")) setters().at("config")(o, options["config"]);  // the others stand on it
  const bool config_says = o.config.behaviour() != FloatingPointBehaviour::all_off();
  if (given("behaviour"))
    setters().at("behaviour")(o, options["behaviour"]);
  else if (const auto active = active_behaviour(); active && !config_says)
    set_behaviour(o, *active);
  for (const auto& [key, value] : options) {
    const std::string_view name = word(key, "option");
    if (name == "config" || name == "behaviour") continue;
    const auto set = setters().find(name);
    if (set == setters().end()) {
      std::vector<std::string> known;
      for (const auto& [one, ignored] : setters()) known.push_back(one);
      throw nb::type_error(unknown_name_message("option", name, known).c_str());
    }
    if (!value.is_none()) set->second(o, value);
  }
  return o;
}

}  // namespace softamp::python
