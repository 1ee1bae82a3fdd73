// Checkpoint files.
//
// Entries of the archive: "variables/<name>.npy" where all replicas agree, else "<replica>/<name>.npy"; bfloat16 as u2,
// its dtype in the last entry, "checkpoint.json":
//   {"softamp_checkpoint":1,"checksum":"<32 digits>","settings":{...},"progress":{...},"state":{...},"tensors":[...]}
// The checksum is XXH3-128 of one line per tensor entry, "<name> <XXH3-128 of its bytes>\n" in the archive's order, and
//   then the text of checkpoint.json with 32 zeros in the checksum's place. So any changed byte of a name or a value is
//   found; the archive's own lengths and checksums cover the bytes between entries.
#include "softamp/train/checkpoint.h"

#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "softamp/data/images.h"
#include "softamp/data/npy.h"
#include "softamp/graph/trace.h"
#include "softamp/machine/float_environment.h"
#include "src/data/archive.h"
#include "src/data/npy_types.h"
#include "src/files/output_file.h"
#include "src/files/place.h"
#include "src/text/newer_file.h"
#include "src/text/read_json.h"
#include "src/text/reason.h"
#include "src/train/checkpoint_entries.h"
#include "src/train/checkpoint_file.h"
#include "src/train/json_number.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using train_detail::float_number;
using train_detail::whole_number;

constexpr const char* kName = "the checkpoint";
constexpr std::string_view kJsonEntry = "checkpoint.json";
constexpr std::string_view kStart = "{\"softamp_checkpoint\":1,\"checksum\":\"";
constexpr size_t kDigits = 32;
constexpr uint64_t kMostBytes = uint64_t{1} << 32;

[[noreturn]] void fail(const fs::path& file, const std::string& message) {
  throw CheckpointError(file.string() + ": " + message);
}

Tensor tensor_of(const archive::Entry& entry, DType dtype, const std::string& place) {
  const npy::Header header = npy::parse_header(entry.bytes, entry.bytes.size(), place);
  if (header.type != npy_type(dtype))
    throw npy::Error(place + ": elements of type '" + npy::descr(header.type) + "'; expected '" +
                     npy::descr(npy_type(dtype)) + "' for " + name_of(dtype));
  return tensor_of_npy(entry.bytes, header, dtype == DType::kBFloat16, place);
}

/// For all entries except the last, and for `json`, with zeros in place of its checksum.
std::string checksum_of(std::span<const archive::Entry> tensors, const std::string& json) {
  std::string text;
  for (const archive::Entry& e : tensors) text += e.name + ' ' + hash_text(e.bytes.data(), e.bytes.size()) + '\n';
  text += json;
  return hash_text(text.data(), text.size());
}

Json object_of(const std::string& text, const char* what, const fs::path& file) {
  Json json = read_json_or_discard(text);
  if (!json.is_object()) fail(file, std::string("the run's ") + what + " are no JSON object, but '" + text + "'");
  return json;
}

Json state_json(const Trainer::State& s) {
  const LossScale::State& l = s.loss_scale;
  return {{"step", s.step},
          {"optimizer_step", s.optimizer_step},
          {"executions", s.executions},
          {"replicas", s.tensors.size()},
          {"loss_scale",
           {{"scale", l.scale},
            {"good_steps", l.good_steps},
            {"consecutive", l.consecutive},
            {"seen_elements", l.seen_elements},
            {"seen_above", l.seen_above}}}};
}

/// The text of checkpoint.json, after its checksum has been found to agree.
std::string checked_json(std::span<const archive::Entry> entries, const fs::path& file) {
  if (entries.empty() || entries.back().name != kJsonEntry)
    fail(file, "the archive's last entry is " + (entries.empty() ? "missing" : "'" + entries.back().name + "'") +
                   "; expected '" + std::string(kJsonEntry) + "'");
  const std::vector<std::byte>& bytes = entries.back().bytes;
  std::string json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (json.compare(0, kStart.size(), kStart) != 0)
    if (const std::string newer = newer_file(read_json_or_discard(json), "softamp_checkpoint", 1); !newer.empty())
      fail(file, "checkpoint.json: " + newer);
  if (json.size() < kStart.size() + kDigits || json.compare(0, kStart.size(), kStart) != 0)
    fail(file, "checkpoint.json: byte 0: expected " + std::string(kStart) + "<32 digits>\"");
  const std::string stored = json.substr(kStart.size(), kDigits);
  json.replace(kStart.size(), kDigits, kDigits, '0');
  const std::string found = checksum_of(entries.first(entries.size() - 1), json);
  if (found != stored)
    fail(file, "the contents' checksum is " + found + "; expected " + stored + ", which checkpoint.json says");
  return json;
}

Trainer::State state_of(const Json& json) {
  Trainer::State s;
  s.step = whole_number(json, "step");
  s.optimizer_step = whole_number(json, "optimizer_step");
  s.executions = static_cast<uint32_t>(whole_number(json, "executions", std::numeric_limits<uint32_t>::max()));
  const Json& l = json.at("loss_scale");
  s.loss_scale.scale = float_number(l, "scale");
  s.loss_scale.good_steps = whole_number(l, "good_steps");
  s.loss_scale.consecutive = whole_number(l, "consecutive");
  s.loss_scale.seen_elements = whole_number(l, "seen_elements");
  s.loss_scale.seen_above = whole_number(l, "seen_above");
  s.tensors.resize(static_cast<size_t>(whole_number(json, "replicas", 256)));
  return s;
}

Checkpoint read(std::span<const archive::Entry> entries, const fs::path& file) {
  const Json json = read_json(checked_json(entries, file), std::string(kJsonEntry));
  Checkpoint c;
  c.settings = json.at("settings").dump();
  c.progress = json.at("progress").dump();
  c.state = state_of(json.at("state"));
  const Json& list = json.at("tensors");
  if (list.size() != entries.size() - 1)
    fail(file, std::to_string(entries.size() - 1) + " tensors; expected the " + std::to_string(list.size()) +
                   " that checkpoint.json names");
  for (size_t i = 0; i < list.size(); ++i) {
    const auto replica =
        static_cast<size_t>(whole_number(list[i], "replica", static_cast<int64_t>(c.state.tensors.size()) - 1));
    const std::string name = list[i].at("name"), word = list[i].at("dtype");
    const std::string wanted =
        (c.state.tensors.size() == 1 ? "variables" : std::to_string(replica)) + "/" + name + ".npy";
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype) throw std::invalid_argument("'" + name + "' has the dtype '" + word + "', which there is not");
    if (entries[i].name != wanted) fail(file, "entry '" + entries[i].name + "'; expected '" + wanted + "'");
    c.state.tensors[replica].emplace_back(name, tensor_of(entries[i], *dtype, file.string() + ": " + wanted));
  }
  return c;
}

/// What `act` reads; any error becomes one that names the file.
template <class Act>
Checkpoint named(const fs::path& file, Act&& act) {
  try {
    return act();
  } catch (const CheckpointError&) {
    throw;
  } catch (const std::exception& e) {
    const std::string what = reason_of(e);
    const std::string name = file.string() + ": ";
    fail(file, (what.compare(0, name.size(), name) == 0 ? what.substr(name.size()) : what) +
                   "; expected a checkpoint that softamp wrote");
  }
}

}  // namespace

std::vector<archive::Entry> train_detail::entries_of(const Checkpoint& c, const fs::path& file) {
  std::vector<archive::Entry> entries;
  Json list = Json::array();
  for (size_t r = 0; r < c.state.tensors.size(); ++r)
    for (const auto& [name, tensor] : c.state.tensors[r]) {
      const std::string folder = c.state.tensors.size() == 1 ? "variables" : std::to_string(r);
      entries.push_back({folder + "/" + name + ".npy", npy_bytes(tensor)});
      list.push_back({{"replica", r}, {"name", name}, {"dtype", name_of(tensor.dtype())}});
    }
  Json rest;
  rest["settings"] = object_of(c.settings, "settings", file);
  rest["progress"] = object_of(c.progress, "notes of progress", file);
  rest["state"] = state_json(c.state);
  rest["tensors"] = std::move(list);
  const std::string json = train_detail::with_checksum(entries, rest.dump().substr(1));
  archive::Entry& last = entries.emplace_back();
  last.name = kJsonEntry;
  last.bytes.resize(json.size());
  std::memcpy(last.bytes.data(), json.data(), json.size());
  return entries;
}

std::string train_detail::with_checksum(std::span<const archive::Entry> tensors, const std::string& rest) {
  std::string json = std::string(kStart) + std::string(kDigits, '0') + "\"," + rest;
  return json.replace(kStart.size(), kDigits, checksum_of(tensors, json));
}

namespace train_detail {
namespace {

fs::path checked(fs::path file) {
  const files::Place place(file);
  if (file.filename().empty() || place.is_folder() || place.is_special())
    fail(file, "cannot be replaced; expected the name of a regular file");
  return file;
}

files::FileLock locked(const fs::path& file) {
  try {
    return files::FileLock(file, kName);
  } catch (const files::LockedError& e) {
    throw CheckpointError(e.what());
  }
}

/// Errors of files and archives as those of checkpoints.
template <class Act>
void written(const Act& act) {
  try {
    act();
  } catch (const files::OutputError& e) {
    throw CheckpointError(e.what());
  } catch (const DataError& e) {
    throw CheckpointError(e.what());
  }
}

}  // namespace

Checkpoint load_alone(const fs::path& file) {
  const files::FileLock lock = locked(file);
  return load_checkpoint(file);
}

CheckpointFile::CheckpointFile(fs::path file) : file_(checked(std::move(file))), lock_(locked(file_)) {
  written([&] { files::OutputFile(file_, lock_, kName); });
}

void CheckpointFile::save(const Checkpoint& checkpoint) {
  const std::vector<archive::Entry> entries = entries_of(checkpoint, file_);
  written([&] {
    files::OutputFile out(file_, lock_, kName);
    archive::write_zip(out, entries);
    out.commit();
  });
}

}  // namespace train_detail

void save_checkpoint(const Checkpoint& checkpoint, const fs::path& file) {
  const engine::DefaultEnvironment guard;
  train_detail::CheckpointFile(file).save(checkpoint);
}

Checkpoint load_checkpoint(const fs::path& file) {
  const engine::DefaultEnvironment guard;
  return named(file, [&] { return read(archive::read_zip(file, kMostBytes), file); });
}

Checkpoint train_detail::checkpoint_of(std::span<const archive::Entry> entries, const fs::path& file) {
  return named(file, [&] { return read(entries, file); });
}

}  // namespace softamp
