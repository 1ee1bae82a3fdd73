#include "softamp/graph/trace.h"

#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/numerics/version.h"
#include "src/files/input_file.h"
#include "src/files/output_file.h"
#include "src/text/newer_file.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson line_of(uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
  OrderedJson line;
  line["step"] = step;
  line["tensor"] = port == 0 ? node.name : node.name + ":" + std::to_string(port);
  line["op"] = node.op;
  line["dtype"] = name_of(type.dtype);
  line["shape"] = OrderedJson::array();
  for (const int64_t extent : type.shape) line["shape"].push_back(extent);
  line["hash"] = hash_text(data, type.bytes());
  return line;
}

/// The switches that differ from the preset, each by its number; except the layout of reports.
OrderedJson unusual(const IpuSwitches& s) {
  const IpuSwitches preset;
  OrderedJson out = OrderedJson::object();
  const auto add = [&](const char* name, auto value, auto otherwise) {
    if (value != otherwise) out[name] = static_cast<int>(value);
  };
  add("sr_lane_map", s.sr_lane_map, preset.sr_lane_map);
  add("sr_tail", s.sr_tail, preset.sr_tail);
  add("work_split", s.work_split, preset.work_split);
  add("overflow_rule", s.overflow_rule, preset.overflow_rule);
  add("nan_pattern", s.nan_pattern, preset.nan_pattern);
  add("half_inf_operand", s.half_inf_operand, preset.half_inf_operand);
  add("inf_to_half_flags", s.inf_to_half_flags, preset.inf_to_half_flags);
  add("f32_overflow_result", s.f32_overflow_result, preset.f32_overflow_result);
  add("oflo_with_nanoo", s.oflo_with_nanoo, preset.oflo_with_nanoo);
  add("pole_flag", s.pole_flag, preset.pole_flag);
  add("sts_when_disabled", s.sts_when_disabled, preset.sts_when_disabled);
  add("f32_daz", s.f32_daz, preset.f32_daz);
  add("f32_ftz", s.f32_ftz, preset.f32_ftz);
  add("f32_flush_sign", s.f32_flush_sign, preset.f32_flush_sign);
  add("f2i_range", s.f2i_range, preset.f2i_range);
  return out;
}

/// One trace being read.
class Reader {
 public:
  static constexpr size_t kLongestLine = size_t{1} << 20;

  explicit Reader(const std::filesystem::path& file)
      : name_(file.string()), in_(file, "a trace", std::numeric_limits<uint64_t>::max()) {
    const std::optional<OrderedJson> first = next();
    if (const std::string newer = first ? newer_file(*first, "softamp_trace", 1) : ""; !newer.empty()) refuse(newer);
    if (!first || first->value("softamp_trace", OrderedJson()) != 1)
      refuse("expected the first line of a trace, {\"softamp_trace\":1,...}");
    version = version_in(*first);
    settings = first->value("settings", OrderedJson::object());
    if (!settings.is_object()) refuse("expected \"settings\" to be an object");
    const OrderedJson named =
        first->value("backend", OrderedJson(""));  // traces from before there were two backends name none
    if (!named.is_string()) refuse("expected \"backend\" to be a text");
    backend = named.get<std::string>();
  }
  /// The next line; none at the end.
  std::optional<OrderedJson> next() {
    std::string text;
    if (!in_.line(text, kLongestLine)) return std::nullopt;
    ++line;
    OrderedJson json = read_json(text, name_, {kLongestLine}, line);
    if (!json.is_object()) refuse("expected a JSON object");
    return std::optional<OrderedJson>(std::in_place, std::move(json));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw std::invalid_argument(name_ + ", line " + std::to_string(line) + ": " + what);
  }
  /// A field of a tensor's line. T: an integer, from 0; std::string; OrderedJson, for any value.
  template <class T>
  T field(const OrderedJson& json, const char* key) const {
    if (const auto found = json.find(key); found != json.end()) {
      if constexpr (std::is_integral_v<T>) {
        if (const std::optional<T> number = whole_number_in<T>(*found, 0)) return *number;
      } else if (std::is_same_v<T, OrderedJson> || found->is_string()) {
        return found->template get<T>();
      }
    }
    refuse(std::string("expected a field \"") + key + "\"");
  }
  const std::string& name() const { return name_; }

  OrderedJson settings;
  std::string backend;
  int version = 0;  ///< of the arithmetic; 0: not counted yet
  uint64_t line = 0;

 private:
  int version_in(const OrderedJson& head) const {
    // Before the version was counted, "spec" was always 1.
    if (!head.contains("arithmetic") && head.value("spec", OrderedJson()) == 1) return 0;
    const OrderedJson found = head.value("arithmetic", OrderedJson());
    constexpr int kMost = 1000000;
    if (const std::optional<int> number = whole_number_in<int>(found, 1, kMost)) return *number;
    refuse("version of the arithmetic " + found.dump() + "; expected \"arithmetic\" to be 1.." + std::to_string(kMost));
  }

  std::string name_;
  files::InputFile in_;
};

std::string unlike_settings(const OrderedJson& a, const OrderedJson& b) {
  std::string text;
  const auto add = [&](const std::string& key, const OrderedJson& x, const OrderedJson& y) {
    if (x != y) text += (text.empty() ? "" : ", ") + key + ": " + x.dump() + " is " + y.dump();
  };
  for (const auto& [key, value] : a.items()) add(key, value, b.value(key, OrderedJson()));
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) add(key, OrderedJson(), value);
  return text;
}

/// How a policy differs from IEEE 754, nearest even: all of it affects bits.
// implements: N97
OrderedJson policy_json(const RoundingPolicy& p) {
  const RoundingPolicy ieee;
  OrderedJson json = OrderedJson::object();
  const auto add = [&](const char* key, auto value, auto standard) {
    if (value != standard) json[key] = static_cast<int>(value);
  };
  json["rounding"] = name_of(p.mode);
  if (p.stochastic()) {
    json["bits"] = p.random_bits;
    json["variant"] = name_of(p.variant);
    add("alignment", p.alignment, ieee.alignment);
  }
  json["overflow"] = name_of(p.overflow);
  add("overflow_rule", p.overflow_rule, ieee.overflow_rule);
  add("infinity", p.infinity, ieee.infinity);
  add("subnormals", p.subnormals, ieee.subnormals);
  add("nan", p.nan, ieee.nan);
  add("signed_zeros", p.signed_zeros, ieee.signed_zeros);
  add("tininess", p.tininess, ieee.tininess);
  return json;
}

}  // namespace

// implements: N97
std::string settings_json(const ExecutorOptions& o) {
  const engine::DefaultEnvironment guard;
  const Semantics s = semantics_of(o);
  const FloatingPointBehaviour b = o.config.behaviour();
  OrderedJson json;
  json["semantics"] = o.semantics ? "given" : name_of(preset_of(o));
  json["inv"] = b.inv;
  json["div0"] = b.div0;
  json["oflo"] = b.oflo;
  json["esr"] = b.esr;
  json["nanoo"] = b.nanoo;
  json["rounding"] = name_of(s.narrow.mode);
  if (s.narrow.stochastic()) {
    json["bits"] = s.narrow.random_bits;
    json["variant"] = name_of(s.narrow.variant);
  }
  json["overflow"] = name_of(s.narrow.overflow);
  if (o.semantics)
    json["policies"] = {
        {"wide", policy_json(s.wide)}, {"narrow", policy_json(s.narrow)}, {"quarter", policy_json(s.quarter)}};
  json["random"] = name_of(o.random);
  json["seed"] = o.seed;
  if (o.replica) json["replica"] = o.replica;
  for (const auto& [category, options] : {std::pair{"matmuls", &o.config.matmuls.poplar_options},
                                          {"convolutions", &o.config.convolutions.poplar_options}}) {
    const ProductOptions p = product_options(*options, category);
    OrderedJson& out = json[category];
    out["partialsType"] = p.half_partials ? "half" : "float";
    out["partialsType.interTile"] = p.half_between_blocks ? "half" : "float";
    out["disableSRForAMPVertices"] = p.stochastic_off;
  }
  json["amp_block"] = o.amp_block == 0 ? OrderedJson("k") : OrderedJson(o.amp_block);
  json["amp_inner"] = name_of(o.amp_inner);
  if (o.accumulator != Accumulator::kIpuModelA) json["accumulator"] = name_of(o.accumulator);
  if (o.tensor_core_operands != TensorCoreOperands::kOwn)
    json["tensor_core_operands"] = name_of(o.tensor_core_operands);
  if (o.f32_flush_inner) json["f32_flush_inner"] = true;
  if (const OrderedJson switches = unusual(o.switches); !switches.empty()) json["switches"] = switches;
  if (o.random == RandomEngine::kXoroshiro128aox) {
    json["seed_modifier"] = o.seed_modifier;
    json["device"] = {{"tiles", o.device.tiles}, {"grain", o.device.grain}, {"minimum", o.device.minimum}};
  }
  json["use_stable_statistics"] = o.config.norms.use_stable_statistics;
  return json.dump();
}

struct TraceWriter::State {
  files::OutputFile out;
};

TraceWriter::TraceWriter(const std::filesystem::path& file, const ExecutorOptions& options, const std::string& option)
    : state_(new State{files::OutputFile(file, option)}) {
  state_->out.write("{\"softamp_trace\":1,\"arithmetic\":" + std::to_string(kArithmeticVersion) + ",\"backend\":" +
                    OrderedJson(options.backend).dump() + ",\"settings\":" + settings_json(options) + "}\n");
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::write(uint32_t step, const Node& node, int port, const TensorType& type, const void* data) {
  state_->out.write(line_of(step, node, port, type, data).dump() + '\n');
}

void TraceWriter::close() { state_->out.commit(); }

// implements: N61, N65
TraceComparison compare_traces(const std::filesystem::path& a_file, const std::filesystem::path& b_file) {
  const engine::DefaultEnvironment guard;
  Reader a(a_file), b(b_file);
  TraceComparison result;
  result.settings = unlike_settings(a.settings, b.settings);
  result.backend_a = a.backend;
  result.backend_b = b.backend;
  result.version_a = a.version;
  result.version_b = b.version;
  for (;; ++result.tensors) {
    const std::optional<OrderedJson> x = a.next(), y = b.next();
    if (!x && !y) return result;
    Reader& there = x ? a : b;
    const OrderedJson& line = x ? *x : *y;
    TraceDifference difference{there.line,
                               there.field<int64_t>(line, "step"),
                               there.field<std::string>(line, "tensor"),
                               there.field<std::string>(line, "op"),
                               {}};
    if (!x || !y) {
      difference.what = "is missing in " + (x ? b : a).name();
    } else {
      for (const char* key : {"step", "tensor", "op", "dtype", "shape", "hash"}) {
        const OrderedJson p = a.field<OrderedJson>(*x, key), q = b.field<OrderedJson>(*y, key);
        if (p == q) continue;
        difference.what = std::string(key) + " " + p.dump() + " is " + q.dump() + " in " + b.name();
        break;
      }
      if (difference.what.empty()) continue;
    }
    result.difference = std::move(difference);
    return result;
  }
}

}  // namespace softamp
