#include "src/program/run/run_options.h"

#include "src/files/input_file.h"
#include "src/program/backend_option.h"
#include "src/program/options.h"
#include "src/text/comma_list.h"
#include "src/text/read_json.h"

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
const Words kInner = {"fma_chain", "rn32_each", "exact_dot4"};
const Words kBlocks = {"1", "4", "16", "k"};
const Words kBehaviour = {"inv", "div0", "oflo", "esr", "nanoo", "all", "off"};

Words accumulator_names() {
  Words names;
  for (int i = 0; i < kAccumulators; ++i) names.emplace_back(name_of(static_cast<Accumulator>(i)));
  return names;
}

Words operand_names() {
  Words names;
  for (int i = 0; i < kTensorCoreOperands; ++i) names.emplace_back(name_of(static_cast<TensorCoreOperands>(i)));
  return names;
}

Words instruction_set_names() {
  Words names;
  for (const bulk::InstructionSet set : kInstructionSets) names.emplace_back(bulk::name(set));
  return names;
}

Accumulator accumulator_of(const std::string& word) {
  try {
    return accumulator_from_name(word);
  } catch (const UnknownName& e) {
    throw UsageError(std::string("--accumulator: ") + e.what());
  }
}

TensorCoreOperands operands_of(const std::string& word) {
  try {
    return tensor_core_operands_from_name(word);
  } catch (const UnknownName& e) {
    throw UsageError(std::string("--tensor-core-operands: ") + e.what());
  }
}

bulk::InstructionSet isa_of(const std::string& word) {
  for (const bulk::InstructionSet set : kInstructionSets)
    if (word == bulk::name(set)) return set;
  throw UsageError("--isa: " + unknown_name_message("instruction set", word, instruction_set_names()));
}

}  // namespace

void set_behaviour(IpuConfig& config, const std::string& words) {
  auto& f = config.floating_point_behaviour;
  for (const std::string& word : words_of_list(words)) {
    if (word == "off" || word == "none") {
      f = {};
    } else if (word == "all") {
      f.set_all = true;
    } else if (word == "inv") {
      f.inv = true;
    } else if (word == "div0") {
      f.div0 = true;
    } else if (word == "oflo") {
      f.oflo = true;
    } else if (word == "esr") {
      f.esr = StochasticRoundingBehaviour::kOn;
    } else if (word == "nanoo") {
      f.nanoo = true;
    } else {
      throw UsageError("--behaviour: " + unknown_name_message("behaviour", word, kBehaviour));
    }
  }
}

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
  app.add_option("--partials", partials,
                 "partials of products: half (fp16; of a tensor core its fp16 accumulator), float (fp32) [=float]")
      .type_name("WORD");
  app.add_option("--block", block, "products between two roundings of half partials: 1, 4, 16, k [=16]").type_name("N");
  app.add_option("--inner", inner, "inside a block: fma_chain, rn32_each, exact_dot4 [=fma_chain]").type_name("WORD");
  app.add_option("--accumulator", accumulator,
                 "how products are summed: ipu_model_a (as --partials, --block, --inner say), fp32_chain, "
                 "tensorcore_volta, _turing, _ampere, _ada, _hopper, _blackwell, _hopper_mma, _blackwell_mma (vendor "
                 "behaviour, reverse engineered: see `softamp chips --tensor-cores`) [=ipu_model_a]")
      .type_name("WORD");
  app.add_option(
         "--tensor-core-operands", operands,
         "what a tensor core is fed: own (the dtype's), fp16, bf16, e4m3, e5m2; other numbers are rounded to it, "
         "to nearest, saturating [=own]")
      .type_name("WORD");
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
  app.add_option(
         "--isa", isa,
         "of the backend emu: auto, portable, avx2, avx512, avx512fp16, neon; results do not depend on it [=auto]")
      .type_name("WORD");
  app.add_flag("--reference", reference,
               "compute every element by the operation's definition, slowly; only with the backend emu");
  app.add_flag("--status", status, "flags of every operation, to standard error");
  app.add_flag("--statistics", statistics, "extremes, special values and exponents of every tensor");
  app.add_option("--print", print, "print the graph instead of running it: text, dot")
      .type_name("WORD")
      .one_of({"text", "dot"});
  app.add_flag("--json", json, "print one JSON document: status, statistics, files, hashes");
  app.add_flag("--quiet", quiet, "do not print the settings on standard error");
  offer(app, "--behaviour", kBehaviour);
  offer(app, "--partials", {"half", "float"});
  offer(app, "--block", kBlocks);
  offer(app, "--inner", kInner);
  offer(app, "--accumulator", accumulator_names);
  offer(app, "--tensor-core-operands", operand_names);
  offer(app, "--isa", instruction_set_names);
  offer(app, "--set", [] {
    Words names = IpuConfig::names();
    for (std::string& name : names) name += "=";
    return names;
  });
  offer(app, "--print", {"text", "dot"});
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
    const auto dtype = parse_dtype(partials);
    if (dtype != DType::kFloat16 && dtype != DType::kFloat32)
      throw UsageError("--partials: '" + partials + "': expected half or float");
    const char* const word = dtype == DType::kFloat16 ? "half" : "float";
    o.config.matmuls.poplar_options["partialsType"] = word;
    o.config.convolutions.poplar_options["partialsType"] = word;
  }
  for (const std::string& setting : settings) set_attribute(o.config, setting);
  if (!block.empty()) {
    if (std::find(kBlocks.begin(), kBlocks.end(), block) == kBlocks.end())
      throw UsageError("--block: '" + block + "': expected 1, 4, 16 or k");
    o.amp_block = block == "k" ? 0 : std::stoi(block);
  }
  if (!inner.empty()) {
    if (std::find(kInner.begin(), kInner.end(), inner) == kInner.end())
      throw UsageError("--inner: " + unknown_name_message("accumulation", inner, kInner));
    for (const AmpInner known : {AmpInner::kFmaChain, AmpInner::kRn32Each, AmpInner::kExactDot4})
      if (inner == name_of(known)) o.amp_inner = known;
  }
  if (!accumulator.empty()) o.accumulator = accumulator_of(accumulator);
  if (!operands.empty()) o.tensor_core_operands = operands_of(operands);
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
  o.isa = isa_of(isa);
  o.reference = reference;
  o.status = status;
  o.statistics = statistics;
  return o;
}

}  // namespace softamp::program
