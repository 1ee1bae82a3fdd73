#include "softamp/graph/ipu_config.h"

#include <algorithm>

#include "softamp/names/names.h"
#include "src/text/edit_distance.h"
#include "src/text/lower_case.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

using Esr = StochasticRoundingBehaviour;

/// An attribute of the tree: where it is, by a pointer of its type.
struct Entry {
  const char* name;
  std::variant<bool*, int64_t*, std::string*, Esr*, PoplarOptions*> place;
  const char* doc;
  const char* no_effect = nullptr;  ///< why a value does nothing here
};

constexpr const char* kNoCompiler = "nothing is compiled for a device";
constexpr const char* kNoStreams = "there are no streams between a host and a device";
constexpr const char* kNoPlans = "it changes how a device plans the work, not its results";

std::vector<Entry> entries(IpuConfig& c) {
  auto& f = c.floating_point_behaviour;
  auto& e = c.experimental;
  return {
      {"auto_select_ipus", &c.auto_select_ipus, "Devices that the program uses."},
      {"compilation_poplar_options", &c.compilation_poplar_options, "Options of the graph compiler.", kNoCompiler},
      {"floating_point_behaviour.inv", &f.inv, "Stop on an invalid operation."},
      {"floating_point_behaviour.div0", &f.div0, "Stop on a division by zero."},
      {"floating_point_behaviour.oflo", &f.oflo, "Stop on an overflow."},
      {"floating_point_behaviour.esr", &f.esr, "Stochastic rounding of fp16 results."},
      {"floating_point_behaviour.nanoo", &f.nanoo, "fp16 overflow gives NaN instead of saturating."},
      {"floating_point_behaviour.set_all", &f.set_all, "All five on, whatever the single values."},
      {"matmuls.clear_pass_type", &c.matmuls.clear_pass_type, "Plan products without regard to their pass.", kNoPlans},
      {"matmuls.poplar_options", &c.matmuls.poplar_options, "Options of matrix products."},
      {"convolutions.poplar_options", &c.convolutions.poplar_options, "Options of convolutions."},
      {"slices.poplar_options", &c.slices.poplar_options, "Options of slices.", kNoPlans},
      {"pooling.poplar_options", &c.pooling.poplar_options, "Options of pooling.", kNoPlans},
      {"norms.use_stable_statistics", &c.norms.use_stable_statistics, "Subtract the mean before the variance."},
      {"norms.experimental.distributed_batch_norm_replica_group_size",
       &c.norms.experimental.distributed_batch_norm_replica_group_size, "Replicas that share batch statistics."},
      {"experimental.enable_prng_stability", &e.enable_prng_stability, "Manage the state of the generators."},
      {"experimental.always_rearrange_copies_on_the_host", &e.always_rearrange_copies_on_the_host,
       "Rearrange streams on the host.", kNoStreams},
      {"experimental.enable_remote_buffer_embedding", &e.enable_remote_buffer_embedding,
       "Keep embeddings in remote buffers.", kNoStreams},
      {"experimental.multi_replica_distribution.process_index", &e.multi_replica_distribution.process_index,
       "Number of this process."},
      {"experimental.multi_replica_distribution.process_count", &e.multi_replica_distribution.process_count,
       "Number of processes."},
      {"ipu_model.compile_ipu_code", &c.ipu_model.compile_ipu_code, "Compile device code for the model.", kNoCompiler},
      {"ipu_model.tiles_per_ipu", &c.ipu_model.tiles_per_ipu, "Tiles of the device; 0: all of the version."},
      {"ipu_model.version", &c.ipu_model.version, "Version of the device."},
  };
}

constexpr const char* kTypes[] = {"bool", "int", "str", "StochasticRoundingBehaviour", "dict"};

std::string value_text(const ConfigValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "True" : "False";
  if (const int64_t* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const std::string* s = std::get_if<std::string>(&value)) return "'" + *s + "'";
  if (const Esr* e = std::get_if<Esr>(&value)) return std::string("StochasticRoundingBehaviour.") + name_of(*e);
  std::string text;
  for (const auto& [key, word] : std::get<PoplarOptions>(value))
    text += (text.empty() ? "\"" : ",\"") + files::excerpt(key) + "\":\"" + files::excerpt(word) + "\"";
  return "{" + text + "}";
}

/// The entry of a dotted name.
Entry find(IpuConfig& config, std::string_view name) {
  const std::vector<Entry> all = entries(config);
  for (const Entry& e : all)
    if (name == e.name) return e;
  const std::string prefix = std::string(name) + ".";
  for (const Entry& e : all)
    if (std::string_view(e.name).substr(0, prefix.size()) == prefix)
      throw ConfigNameError(std::string(name) + " is a category and cannot be assigned to.");
  // The first part of the name that is unknown, and the names known at its level.
  std::string level;
  std::string_view rest = name;
  for (;;) {
    const std::string part(rest.substr(0, rest.find('.')));
    std::vector<std::string> known;
    for (const Entry& e : all) {
      const std::string_view full = e.name;
      if (full.substr(0, level.size()) != level) continue;
      const std::string next(full.substr(level.size(), full.find('.', level.size()) - level.size()));
      if (known.empty() || known.back() != next) known.push_back(next);
    }
    const bool is_known = std::find(known.begin(), known.end(), part) != known.end();
    if (known.empty()) known.push_back(level.substr(0, level.size() - 1));  // a value has no names below it
    if (!is_known || rest.find('.') == std::string_view::npos) {
      const std::string wanted = lower_case(part);
      const auto far = [&](const std::string& each) { return edit_distance(wanted, each, SwappedLetters::kOneEdit); };
      const auto nearest =
          std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) { return far(a) < far(b); });
      throw ConfigNameError("'" + part + "' is not a valid attribute of this config. Did you mean '" + *nearest + "'?");
    }
    level += part + ".";
    rest.remove_prefix(part.size() + 1);
  }
}

ConfigValue value_at(const Entry& entry) {
  return std::visit([](auto* place) -> ConfigValue { return *place; }, entry.place);
}

/// Converts values given in another type: esr as a bool or by name.
ConfigValue adapted(const Entry& entry, const ConfigValue& value) {
  if (!std::holds_alternative<Esr*>(entry.place)) return value;
  if (const bool* on = std::get_if<bool>(&value)) return *on ? Esr::kOn : Esr::kOff;
  if (const std::string* word = std::get_if<std::string>(&value))
    for (const Esr e : {Esr::kOff, Esr::kOn, Esr::kReplicaIdenticalOnly})
      if (*word == name_of(e)) return e;
  return value;
}

}  // namespace

const char* name_of(StochasticRoundingBehaviour behaviour) {
  switch (behaviour) {
    case Esr::kOff: return "OFF";
    case Esr::kOn: return "ON";
    case Esr::kReplicaIdenticalOnly: break;
  }
  return "REPLICA_IDENTICAL_ONLY";
}

void IpuConfig::set(std::string_view name, const ConfigValue& value) {
  const Entry entry = find(*this, name);
  const ConfigValue wanted = adapted(entry, value);
  if (wanted.index() != entry.place.index())
    throw ConfigTypeError("Trying to set " + std::string(name) + " to " + value_text(value) +
                          ", but it must be of type " + kTypes[entry.place.index()]);
  IpuConfig changed = *this;
  const Entry place = find(changed, name);
  std::visit(
      [&](auto* at) {
        using T = std::remove_pointer_t<decltype(at)>;
        *at = std::get<T>(wanted);
      },
      place.place);
  changed.validate();
  *this = changed;
}

ConfigValue IpuConfig::get(std::string_view name) const {
  IpuConfig copy = *this;
  return value_at(find(copy, name));
}

IpuConfig::Metadata IpuConfig::metadata(std::string_view name) {
  IpuConfig defaults;
  const Entry entry = find(defaults, name);
  return {entry.name, kTypes[entry.place.index()], entry.doc, value_at(entry)};
}

std::vector<std::string> IpuConfig::names() {
  IpuConfig defaults;
  std::vector<std::string> all;
  for (const Entry& e : entries(defaults)) all.emplace_back(e.name);
  return all;
}

FloatingPointBehaviour IpuConfig::behaviour() const {
  const FloatingPoint& f = floating_point_behaviour;
  if (f.set_all) return FloatingPointBehaviour{};
  return {f.inv, f.div0, f.oflo, f.esr != Esr::kOff, f.nanoo};
}

void IpuConfig::validate() const {
  const auto refuse = [](const char* name, const auto& value, const std::string& expected) {
    throw std::invalid_argument(std::string(name) + " is " + value_text(ConfigValue(value)) + "; expected " + expected);
  };
  const int64_t group = norms.experimental.distributed_batch_norm_replica_group_size;
  if (group < 1)
    throw std::invalid_argument("norms.experimental.distributed_batch_norm_replica_group_size must be at least 1.");
  if (group != 1)
    refuse("norms.experimental.distributed_batch_norm_replica_group_size", group,
           "1: replicas that share batch statistics are not emulated");
  if (auto_select_ipus != 1) refuse("auto_select_ipus", auto_select_ipus, "1: a program runs on one emulated device");
  if (ipu_model.tiles_per_ipu < 0 || ipu_model.tiles_per_ipu > 1 << 20)
    refuse("ipu_model.tiles_per_ipu", ipu_model.tiles_per_ipu, "0..1048576");
  if (ipu_model.version != "ipu2" && ipu_model.version != "ipu21")
    refuse("ipu_model.version", ipu_model.version, "'ipu2' or 'ipu21': no other version is emulated");
  const auto& processes = experimental.multi_replica_distribution;
  if (processes.process_count != 0 && processes.process_count != 1)
    refuse("experimental.multi_replica_distribution.process_count", processes.process_count,
           "0 or 1: processes share replicas by `mpirun softamp train`");
  if (processes.process_index != 0)
    refuse("experimental.multi_replica_distribution.process_index", processes.process_index, "0, of one process");
}

std::vector<std::string> IpuConfig::without_effect() const {
  IpuConfig mine = *this, defaults;
  const std::vector<Entry> all = entries(mine), usual = entries(defaults);
  std::vector<std::string> lines;
  for (size_t i = 0; i < all.size(); ++i)
    if (const ConfigValue value = value_at(all[i]); all[i].no_effect && value != value_at(usual[i]))
      lines.push_back(std::string(all[i].name) + " is " + value_text(value) +
                      ", which has no effect here: " + all[i].no_effect);
  return lines;
}

}  // namespace softamp
