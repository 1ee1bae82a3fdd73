#include "src/train/weights/weight_files.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "softamp/data/npz.h"
#include "softamp/train/checkpoint.h"
#include "src/data/npy_types.h"
#include "src/numbers/decimal_text.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/train/run/run_data.h"
#include "src/train/weights/safetensors_weights.h"

namespace softamp::train_detail {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_weights(const fs::path& file, const std::string& what) {
  throw npy::Error(file.string() + ": " + what);
}

bool is_checkpoint(const npz::Reader& reader) {
  for (const std::string& name : reader.names())
    if (name.starts_with("variables/") || name.starts_with("0/")) return true;
  return false;
}

/// What a checkpoint has of the variables.
std::vector<std::pair<std::string, Tensor>> weights_of_checkpoint(const fs::path& file) {
  Checkpoint c = load_checkpoint(file);
  if (c.state.tensors.size() != 1)
    refuse_weights(file, "a checkpoint of " + std::to_string(c.state.tensors.size()) +
                             " replicas with unlike weights; expected one set of weights");
  return std::move(c.state.tensors[0]);
}

/// The array in the variable's dtype.
Tensor fitted(const Tensor& array, const VariableSpec& v, const fs::path& file) {
  const std::string place = v.name + ": ";
  const DType from = array.dtype(), to = v.type.dtype;
  if (!is_floating(from))
    refuse_weights(file,
                   place + "an array of " + name_of(from) + "; expected numbers of floating type, for " + name_of(to));
  if (from == to) return array.clone();
  const std::vector<double> values = array.values();
  Tensor rounded = Tensor::from_values(to, v.type.shape, values);
  for (int64_t i = 0; i < rounded.elements(); ++i)
    if (const double x = values[static_cast<size_t>(i)]; std::isfinite(x) && !std::isfinite(rounded.value(i)))
      refuse_weights(file, place + "element " + std::to_string(i) + " is " + round_trip_text(x) +
                               "; expected numbers that " + name_of(to) + " reaches");
  return rounded;
}

/// Arrays that no variable has, then variables that have no array.
void check_names(const std::vector<std::string>& names, const std::vector<VariableSpec>& variables,
                 const fs::path& file) {
  for (const std::string& name : names) {
    graph_detail::Nearest nearest(name);
    bool known = false;
    for (const VariableSpec& v : variables) {
      known = known || v.name == name;
      nearest.offer(v.name);
    }
    if (!known)
      refuse_weights(file, "array '" + files::excerpt(name) + "' is no variable of the network" +
                               (nearest.best().empty() ? "; --write-initial writes those that there are"
                                                       : ". Did you mean '" + nearest.best() + "'?"));
  }
  std::string missing;
  for (const VariableSpec& v : variables)
    if (std::find(names.begin(), names.end(), v.name) == names.end())
      missing += (missing.empty() ? "'" : ", '") + v.name + "'";
  if (!missing.empty())
    refuse_weights(file, "no array for " + missing + "; expected one for each variable of the network");
}

[[noreturn]] void refuse_shape(const std::vector<uint64_t>& shape, const VariableSpec& v, const fs::path& file) {
  const std::vector<uint64_t> expected(v.type.shape.begin(), v.type.shape.end());
  refuse_weights(file,
                 v.name + ": an array of shape " + npy::shape_text(shape) + "; expected " + npy::shape_text(expected));
}

/// An array as it is stored; bfloat16 has no name in NumPy, so unsigned integers of 16 bits are that for a variable of
/// it. A wrong shape is refused before the array is unpacked.
Tensor stored(const npz::Reader& reader, const VariableSpec& v, const fs::path& file) {
  const npy::Header header = reader.header(v.name);
  const std::vector<uint64_t> shape(v.type.shape.begin(), v.type.shape.end());
  if (header.shape != shape) refuse_shape(header.shape, v, file);
  return reader.tensor(v.name, v.type.dtype == DType::kBFloat16);
}

/// The same of a .safetensors file.
Tensor stored(const SafetensorsWeights& weights, const VariableSpec& v, const fs::path& file) {
  const std::vector<uint64_t> shape = weights.shape(v.name), expected(v.type.shape.begin(), v.type.shape.end());
  if (shape != expected) refuse_shape(shape, v, file);
  return weights.read(v.name);
}

bool one_file(const std::string& place) { return fs::path(place).extension() == ".npz"; }

TensorType all_of(const TensorType& one, int64_t count) {
  std::vector<int64_t> extents{count};
  extents.insert(extents.end(), one.shape.begin(), one.shape.end());
  return {one.dtype, Shape(std::span<const int64_t>(extents))};
}

std::vector<uint64_t> extents_of(const TensorType& type) { return {type.shape.begin(), type.shape.end()}; }

}  // namespace

int64_t set_weights(Trainer& trainer, const fs::path& file) {
  const std::vector<VariableSpec>& variables = trainer.model().variables;
  std::vector<Tensor> fitting;
  int64_t rounded = 0;
  const auto take_all = [&](const auto& reader, const std::vector<std::string>& names) {
    check_names(names, variables, file);
    for (const VariableSpec& v : variables) {
      const Tensor array = stored(reader, v, file);
      rounded += array.dtype() != v.type.dtype;
      fitting.push_back(fitted(array, v, file));
    }
  };
  if (file.extension() == ".safetensors") {
    const SafetensorsWeights weights = open_safetensors(file);
    take_all(weights, weights.names);
  } else if (const npz::Reader reader(file); is_checkpoint(reader)) {
    const auto kept = weights_of_checkpoint(file);
    std::string missing;
    for (const VariableSpec& v : variables) {
      const auto at = std::find_if(kept.begin(), kept.end(), [&](const auto& t) { return t.first == v.name; });
      if (at == kept.end()) {
        missing += (missing.empty() ? "'" : ", '") + v.name + "'";
        continue;
      }
      if (at->second.shape() != v.type.shape)
        refuse_weights(file, v.name + ": a tensor of " + at->second.type().text() + "; expected " + v.type.text());
      rounded += at->second.dtype() != v.type.dtype;
      fitting.push_back(fitted(at->second, v, file));
    }
    if (!missing.empty())
      refuse_weights(file, "the checkpoint has no " + missing + "; expected one of the same network");
  } else {
    take_all(reader, reader.names());
  }
  for (size_t i = 0; i < variables.size(); ++i) trainer.set_variable(variables[i].name, fitting[i]);
  return rounded;
}

void write_weights(const Trainer& trainer, const fs::path& file) {
  std::vector<npz::Array> arrays;
  for (const VariableSpec& v : trainer.model().variables) arrays.push_back({v.name, &trainer.variable(v.name)});
  npz::write(file, arrays);
}

void list_batches(files::RunFiles& files, const std::string& place) {
  if (place.empty()) return;
  if (one_file(place))
    files.writes("--write-batches", place);
  else
    files.writes_into("--write-batches", place, [](const std::string& name) {
      return name == "images.npy" || name == "inputs.npy" || name == "labels.npy";
    });
}

void write_batches(const TrainSettings& s, const Samples& samples, const Sampler& sampler, int64_t steps,
                   const std::string& place, const std::string& inputs) {
  const int64_t of_a_step = s.replicas * s.accumulation;
  const Batch first = std::move(batches_of(s, samples, sampler, 0)[0]);
  const TensorType pixels = all_of(first.images.type(), steps * of_a_step),
                   labels = all_of(first.labels.type(), steps * of_a_step);
  if (!one_file(place)) {
    std::error_code failed;
    fs::create_directory(place, failed);
    if (failed)
      throw npy::Error(place + ": cannot be made: " + failed.message() + "; expected a folder, or a .npz file");
    npy::Writer to_images(fs::path(place) / (inputs + ".npy"), npy_type(pixels.dtype), extents_of(pixels));
    npy::Writer to_labels(fs::path(place) / "labels.npy", npy_type(labels.dtype), extents_of(labels));
    for (int64_t step = 0; step < steps; ++step)
      for (const Batch& b : batches_of(s, samples, sampler, step)) {
        to_images.write(b.images.data(), static_cast<size_t>(b.images.elements()));
        to_labels.write(b.labels.data(), static_cast<size_t>(b.labels.elements()));
      }
    to_images.commit();
    to_labels.commit();
    return;
  }
  if (pixels.bytes() + labels.bytes() > npz::kMostBytes / 2)
    throw npy::Error(place + ": the batches have " + std::to_string(pixels.bytes() + labels.bytes()) +
                     " bytes; expected at most " + std::to_string(npz::kMostBytes / 2) +
                     " in one .npz file, or a folder, or fewer steps");
  Tensor all_images(pixels), all_labels(labels);
  auto* to_images = static_cast<std::byte*>(all_images.data());
  auto* to_labels = static_cast<std::byte*>(all_labels.data());
  for (int64_t step = 0; step < steps; ++step)
    for (const Batch& b : batches_of(s, samples, sampler, step)) {
      std::memcpy(to_images, b.images.data(), b.images.bytes());
      std::memcpy(to_labels, b.labels.data(), b.labels.bytes());
      to_images += b.images.bytes();
      to_labels += b.labels.bytes();
    }
  const npz::Array arrays[] = {{inputs, &all_images}, {"labels", &all_labels}};
  npz::write(place, arrays);
}

}  // namespace softamp::train_detail
