#include "src/python/executor_options.h"
#include "src/names/name_rows.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>

#include "softamp/names/names.h"
#include "src/python/errors.h"
#include "src/python/rounding.h"

namespace softamp::python {
namespace {

using Set = std::function<void(ExecutorOptions&, nb::handle)>;

AmpInner inner_from(std::string_view name) {
  return name_rows::value_from_name("accumulation", name_rows::kInners, name);
}

void set_partials(ExecutorOptions& o, nb::handle value) {
  const std::string poplars = name_rows::our_partials(word(value, "partials"));
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

bool given(nb::dict options, const char* name) {
  return options.contains(name) && !nb::object(options[name]).is_none();
}

/// "semantics": the tuple of Rounding, whose defaults are those of a behaviour that is given beside it.
std::optional<Rounding> semantics_in(nb::dict options) {
  if (!given(options, "semantics")) return std::nullopt;
  const nb::tuple values = nb::cast<nb::tuple>(nb::object(options["semantics"]));
  if (!given(options, "behaviour")) return Rounding::from(values);
  return Rounding::from(values, behaviour_from(options["behaviour"], FloatingPointBehaviour::all_off()));
}

/// What is asked for of an executor's own settings, in the order in which they are refused.
std::vector<std::string_view> asked_of(nb::dict options, const ExecutorOptions& o) {
  const ExecutorOptions usual;
  std::vector<std::string_view> asked;
  const auto note = [&](bool is_asked, const char* key) {
    if (is_asked) asked.emplace_back(key);
  };
  for (const char* key : {"bits", "variant", "random"}) note(given(options, key), key);
  note(o.seed != usual.seed, "seed");
  note(o.accumulator != usual.accumulator, "accumulator");
  note(o.tensor_core_operands != usual.tensor_core_operands, "tensor_core_operands");
  note(given(options, "partials") && product_options(o.config.matmuls.poplar_options, "matmuls").half_partials,
       "partials");
  note(o.amp_block != usual.amp_block, "block");
  note(o.amp_inner != usual.amp_inner, "inner");
  return asked;
}

std::string quoted(std::string_view key, std::string_view value) {
  return std::string(key) + (key == "block" ? "=" + std::string(value) : "='" + std::string(value) + "'");
}

}  // namespace

void refuse_idle_options(nb::dict options, const ExecutorOptions& o, const graph_detail::GraphUse& use,
                         const char* stochastic) {
  std::vector<std::string_view> asked = asked_of(options, o);
  if (const auto how = semantics_in(options)) {
    if (!use.narrow) how->draws(kFp32);  // refuses what the IPU never does
    asked.insert(asked.end(), how->asked.begin(), how->asked.end());
  }
  const auto among = [&](std::initializer_list<std::string_view> keys) {
    std::vector<std::string_view> some;
    std::ranges::copy_if(asked, std::back_inserter(some),
                         [&](std::string_view key) { return std::ranges::find(keys, key) != keys.end(); });
    return some;
  };
  refuse_idle(among({"bits", "variant"}), {.stochastic = use.rounds}, stochastic);
  refuse_idle(among({"random", "seed"}), {.stochastic = use.draws}, stochastic);
  if (o.replica != 0 && !use.draws)
    throw nb::value_error(detail::idle_message("replica", "no rounding is stochastic", stochastic).c_str());
  const auto name_if_asked = [&](std::string_view key) {
    return std::ranges::find(asked, key) == asked.end() ? std::string() : std::string(key);
  };
  if (const auto message = graph_detail::idle_product_setting({name_if_asked, quoted}, use.products))
    throw nb::value_error(message->c_str());
}

ExecutorOptions executor_options_from(nb::dict options) {
  ExecutorOptions o;
  if (given(options, "config")) setters().at("config")(o, options["config"]);  // the others stand on it
  const bool config_says = o.config.behaviour() != FloatingPointBehaviour::all_off();
  if (given(options, "behaviour"))
    setters().at("behaviour")(o, options["behaviour"]);
  else if (const auto active = active_behaviour(); active && !config_says)
    set_behaviour(o, *active);
  for (const auto& [key, value] : options) {
    const std::string_view name = word(key, "option");
    if (name == "config" || name == "behaviour" || name == "semantics") continue;
    const auto set = setters().find(name);
    if (set == setters().end()) {
      std::vector<std::string> known;
      for (const auto& [one, ignored] : setters()) known.push_back(one);
      throw nb::type_error(unknown_name_message("option", name, known).c_str());
    }
    if (!value.is_none()) set->second(o, value);
  }
  if (const auto how = semantics_in(options)) {
    o.preset.reset();
    o.semantics = how->semantics(kFp16);
    o.random = how->engine;
  }
  return o;
}

}  // namespace softamp::python
