#include "src/program/run/run_options.h"

#include "src/files/input_file.h"
#include "src/program/backend_option.h"
#include "src/program/behaviour_option.h"
#include "src/program/options.h"
#include "src/text/comma_list.h"
#include "src/text/read_json.h"

#include "softamp/train/models.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace softamp::program {
namespace {

/// A dictionary of texts, in JSON, or with the single quotes of the vendor's page: {'partialsType': 'half'}.
PoplarOptions dictionary_of(const std::string& name, std::string text) {
  if (text.find('"') == std::string::npos) std::replace(text.begin(), text.end(), '\'', '"');
  const Json json = read_json_or_discard(text);
  bool good = json.is_object();
  PoplarOptions all;
  for (auto it = json.begin(); good && it != json.end(); ++it) {
    good = it->is_string();
    if (good) all[it.key()] = it->get<std::string>();
  }
  if (!good)
    throw UsageError("--set " + name + ": '" + text +
                     "': expected a dictionary of texts such as {\"partialsType\": "
                     "\"half\"}");
  return all;
}

/// The value of --set NAME=VALUE as the attribute's type reads it.
void set_attribute(IpuConfig& config, const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) throw UsageError("--set: '" + setting + "': expected NAME=VALUE");
  const std::string name = setting.substr(0, equals), text = setting.substr(equals + 1);
  // matmuls.poplar_options.partialsType=half names one option of a dictionary.
  const size_t options = name.find("poplar_options.");
  if (options != std::string::npos) {
    const std::string dictionary = name.substr(0, options + 14), key = name.substr(options + 15);
    PoplarOptions all = std::get<PoplarOptions>(config.get(dictionary));
    all[key] = text;
    config.set(dictionary, all);
    return;
  }
  if (IpuConfig::metadata(name).type == std::string("dict")) {
    config.set(name, dictionary_of(name, text));
    return;
  }
  const std::string type = IpuConfig::metadata(name).type;
  ConfigValue value = text;
  if (type == "bool" || type == "StochasticRoundingBehaviour") {
    if (text == "true" || text == "True") value = true;
    if (text == "false" || text == "False") value = false;
  }
  if (type == "int") value = static_cast<int64_t>(parse_whole("--set " + name, text, 0, 1u << 31));
  config.set(name, value);
}

constexpr std::array kInstructionSets = {bulk::InstructionSet::kAuto,       bulk::InstructionSet::kPortable,
                                         bulk::InstructionSet::kAvx2,       bulk::InstructionSet::kAvx512,
                                         bulk::InstructionSet::kAvx512Fp16, bulk::InstructionSet::kNeon};
constexpr name_rows::Row<int> kBlocks[] = {{1, {"1"}}, {4, {"4"}}, {16, {"16"}}, {0, {"k"}}};
const Words kPartials = {"half", "float"};

std::string partials_of(const std::string& word) {
  return name_rows::word_from_name("partials", kPartials, name_rows::our_partials(word));
}

Words instruction_set_names() {
  Words names;
  for (const bulk::InstructionSet set : kInstructionSets) names.emplace_back(bulk::name(set));
  return names;
}

bulk::InstructionSet isa_of(const std::string& word) {
  if (const auto* const set = find_word(kInstructionSets, word, bulk::name)) return *set;
  throw UnknownName(unknown_name_message("instruction set", word, instruction_set_names()));
}

}  // namespace

void RunOptions::add_to(const cli::App& app) {
  app.add_option("GRAPH", graph,
                 "the graph: .json (softamp), .pb or .pbtxt (TensorFlow's GraphDef); or the .json of a network")
      .required()
      .type_name("FILE");
  app.add_option("--feed", feeds,
                 "NAME=FILE.npy, the value of a Placeholder, or the first value of a variable; repeatable")
      .type_name("NAME=FILE");
  const cli::Option given =
      app.add_option("--variables", variables,
                     "first values of all variables by name: NumPy's savez, or a checkpoint of `softamp train` "
                     "[=zeros; of a GraphDef what it assigns; of a network its initialisers' with --seed]")
          .type_name("FILE");
  app.add_flag("--partial-variables", partial_variables,
               "--variables may lack some, which begin as without it, and have other names, which are passed over")
      .needs(given);
  app.add_option("--precision", precision, "of a network: float32, float16, bfloat16, mixed, mixed_bfloat16 [=float32]")
      .type_name("WORD");
  app.add_option(
         "--feed-back", fed_back,
         "NAME=TENSOR: from the second step on, Placeholder NAME is what the step before computed for TENSOR, one of "
         "the tensors fetched; repeatable")
      .type_name("NAME=TENSOR");
  app.add_option(
         "--fetch", fetches,
         "a tensor to compute, NAME or NAME:PORT; repeatable [=the file's outputs, or all tensors that nothing reads]")
      .type_name("NAME");
  app.add_option("--out", out, "folder for the results, one .npy each [=print them]").type_name("DIR");
  add_word(
      app, "--preset", preset, preset_from_name,
      "rules of every operation: ieee (an overflow is infinite), ipu [=ipu where --behaviour has nanoo; else ieee of "
      "a GraphDef, and what a graph's file says, else ipu]");
  app.add_option("--behaviour", behaviour, "inv, div0, oflo (these stop the run), esr, nanoo; all; off [=off]")
      .type_name("WORDS");
  add_word(app, "--partials", partials, partials_of, kPartials,
           "partials of products: half (fp16; of a tensor core its fp16 accumulator), float (fp32) [=float]");
  add_word(app, "--block", block, "block", kBlocks,
           "products between two roundings of half partials: 1, 4, 16, k [=16]");
  add_word(app, "--inner", inner, "accumulation", name_rows::kInners,
           "inside a block: fma_chain, rn32_each, exact_dot4 [=fma_chain]");
  add_word(app, "--accumulator", accumulator, "accumulator", name_rows::kAccumulators,
           "how products are summed: ipu_model_a (as --partials, --block, --inner say), fp32_chain, "
           "tensorcore_volta, _turing, _ampere, _ada, _hopper, _blackwell, _hopper_mma, _blackwell_mma (vendor "
           "behaviour, reverse engineered: see `softamp chips --tensor-cores`) [=ipu_model_a]");
  add_word(app, "--tensor-core-operands", operands, "operands", name_rows::kTensorCoreOperands,
           "what a tensor core is fed: own (the dtype's), fp16, bf16, e4m3, e5m2; other numbers are rounded to it, "
           "to nearest, saturating [=own]");
  app.add_option("--config", config_file, "IpuConfig attributes as JSON").type_name("FILE");
  app.add_option("--set", settings, "one IpuConfig attribute, norms.use_stable_statistics=true; repeatable")
      .type_name("NAME=VALUE");
  add_word(app, "--random", random, engine_from_name,
           "philox (10 rounds), philox7, xoroshiro128aox (the order of the hardware; slow) [=philox]");
  add_whole(app, "--bits", bits, 1, 32, "random bits of a stochastic rounding, 1..32 [=13; 16 with xoroshiro128aox]");
  add_word(app, "--variant", variant, variant_from_name, "carry (the IPU's), half, rne, odd, at-least [=carry]");
  add_word(
      app, "--chip", chip, chip_from_name,
      "bits and variant of this chip's conversion to the graph's 16-bit dtype, see `softamp chips`; overflow and NaN "
      "stay as --behaviour says");
  add_whole(app, "--seed", seed, 0, std::numeric_limits<uint64_t>::max(), "seed of the random bits, 64 bits [=0]");
  add_whole(app, "--steps", steps, 1, 1u << 31, "runs of the graph [=1]");
  add_whole(app, "--first-step", first_step, 0, Executor::kSteps - 1, "number of the first run [=0]");
  app.add_option("--trace", trace, "write a hash of every tensor of every step, JSON lines").type_name("FILE");
  add_whole(app, "--tiles", tiles, 1, 1u << 20, "tiles of the device model [=1472]");
  app.add_option_function(
         "--memory-per-tile",
         [this](const std::string& text) {
           memory_per_tile = parse_whole("--memory-per-tile", text, 0, uint64_t{1} << 40);
           memory_given = true;
         },
         "bytes, 0: unlimited [=638976]")
      .type_name("N");
  add_backend(app, backend);
  add_whole(app, "--threads", threads, 0, 1024, "of the backend emu, 0: all; results do not depend on it [=0]");
  add_word(app, "--isa", isa, isa_of, instruction_set_names,
           "of the backend emu: auto, portable, avx2, avx512, avx512fp16, neon; results do not depend on it [=auto]");
  app.add_flag("--reference", reference,
               "compute every element by the operation's definition, slowly; only with the backend emu");
  app.add_flag("--status", status, "flags of every operation, to standard error");
  app.add_flag("--statistics", statistics, "extremes, special values and exponents of every tensor");
  add_word(app, "--print", print, "form", Words{"text", "dot"}, "print the graph instead of running it: text, dot");
  app.add_flag("--json", json, "print one JSON document: status, statistics, files, hashes");
  app.add_flag("--quiet", quiet, "do not print the settings on standard error");
  offer(app, "--precision", Precision::names);
  offer_behaviours(app);
  offer(app, "--set", [] {
    Words names = IpuConfig::names();
    for (std::string& name : names) name += "=";
    return names;
  });
}

void RunOptions::round_as_chip(const Graph& run, ExecutorOptions& options) const {
  const std::string name = "--chip: " + name_of(*chip);
  if (bits != 0 || variant != StochasticVariant::kCarry)
    throw UsageError(name + " says bits and variant; expected no --bits and no --variant beside it");
  if (!options.config.behaviour().esr) throw UsageError(name + " rounds stochastically; expected esr in --behaviour");
  std::optional<ChipRounding> found;
  for (const Node& node : run.nodes())
    for (const TensorType& type : node.outputs) {
      if (!is_floating(type.dtype) || size_of(type.dtype) != 2) continue;
      const ChipRounding c = require_chip_rounding(*chip, format_of(type.dtype));
      if (c.special.alignment != RandomAlignment::kTopOfDiscarded)
        throw UsageError(name +
                         " adds its random bits to the source, which graphs do not; expected a chip that aligns "
                         "them with what is discarded");
      if (found && (found->special.random_bits != c.special.random_bits || found->special.variant != c.special.variant))
        throw UsageError(name +
                         " rounds float16 and bfloat16 with different random bits, and the graph has both; "
                         "expected a graph with one of them");
      found = c;
    }
  if (!found) throw UsageError(name + ": no tensor of the graph has 16 bits; expected float16 or bfloat16");
  options.switches.sr_bits = found->special.random_bits;
  options.switches.sr_form = found->special.variant;
}

ExecutorOptions RunOptions::executor_options() const {
  ExecutorOptions o;
  if (!config_file.empty()) {
    const std::string text = files::read_input(config_file, "a JSON file of IpuConfig attributes", kMostWrittenBytes);
    try {
      o.config = IpuConfig::from_json(text);
    } catch (const std::invalid_argument& e) {
      throw UsageError(config_file + ": " + e.what());
    }
  }
  set_behaviour(o.config, behaviour);
  if (!partials.empty()) {
    o.config.matmuls.poplar_options["partialsType"] = partials;
    o.config.convolutions.poplar_options["partialsType"] = partials;
  }
  for (const std::string& setting : settings) set_attribute(o.config, setting);
  if (block) o.amp_block = *block;
  o.amp_inner = inner;
  o.accumulator = accumulator;
  o.tensor_core_operands = operands;
  o.preset = preset;
  o.switches.sr_bits = bits;
  o.switches.sr_form = variant;
  o.random = random;
  o.seed = seed;
  if (o.config.ipu_model.tiles_per_ipu > 0) o.device.tiles = static_cast<int>(o.config.ipu_model.tiles_per_ipu);
  if (tiles > 0) o.device.tiles = tiles;
  if (memory_given) o.device.memory_per_tile = static_cast<int64_t>(memory_per_tile);
  o.backend = backend;
  o.threads = threads;
  o.isa = isa;
  o.reference = reference;
  o.status = status;
  o.statistics = statistics;
  return o;
}

}  // namespace softamp::program
