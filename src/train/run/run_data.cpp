#include "src/train/run/run_data.h"

#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

#include "softamp/data/npz.h"
#include "softamp/graph/trace.h"
#include "softamp/train/network_file.h"
#include "src/data/archive.h"
#include "src/machine/machine_memory.h"
#include "src/precision/recipe_source.h"
#include "src/text/read_json.h"
#include "src/train/replicas/replica_options.h"

namespace softamp::train_detail {
namespace {

/// The first `wanted` images (0: all).
void take_first(ImageSet& set, int64_t wanted, const char* key) {
  if (wanted > set.count)
    throw DataError(set.name + " has " + std::to_string(set.count) + " images; expected the " + std::to_string(wanted) +
                    " that '" + key + "' asks for");
  if (wanted > 0 && wanted < set.count) set = set.slice(0, wanted);
}

ImageSet with_border(const ImageSet& set, int64_t border) {
  ImageSet wide = set;
  wide.height += 2 * border;
  wide.width += 2 * border;
  wide.pixels.assign(static_cast<size_t>(wide.count * wide.image_elements()), 0);
  const int64_t row = set.width * set.channels;
  for (int64_t i = 0; i < set.count; ++i)
    for (int64_t y = 0; y < set.height; ++y) {
      const int64_t from = i * set.image_elements() + y * row;
      const int64_t to = i * wide.image_elements() + ((y + border) * wide.width + border) * wide.channels;
      std::memcpy(&wide.pixels[static_cast<size_t>(to)], &set.pixels[static_cast<size_t>(from)],
                  static_cast<size_t>(row));
    }
  return wide;
}

ImageSets load_folder(const std::string& folder, const NetworkInfo& network, double share) {
  const auto [height, width, channels] = network.image;
  try {
    return load_images(folder, height, width, channels, share);
  } catch (const DataError&) {
    if (height != 32 || width != 32 || channels != 1) throw;
    ImageSets digits;
    try {
      digits = load_images(folder, 28, 28, 1, share);
    } catch (const DataError&) {
    }
    if (digits.train.count == 0) throw;
    return {with_border(digits.train, 2), with_border(digits.test, 2)};
  }
}

void check_labels(const ImageSet& set, const NetworkInfo& network) {
  const std::string expected = "; expected 0 .. " + std::to_string(network.classes - 1) + ", as the network has " +
                               std::to_string(network.classes) + " classes";
  if (std::cmp_greater(set.class_names.size(), network.classes))
    throw DataError(set.name + ": the class '" + set.class_names[static_cast<size_t>(network.classes)] +
                    "' has the label " + std::to_string(network.classes) + " of " +
                    std::to_string(set.class_names.size()) + " classes" + expected);
  for (size_t i = 0; i < set.labels.size(); ++i)
    if (set.labels[i] >= network.classes)
      throw DataError(set.name + ": image " + std::to_string(i) + " has the label " + std::to_string(set.labels[i]) +
                      expected);
}

}  // namespace

TrainSettings settled(TrainSettings s) {
  s.validate();
  s = s.spelled_out();
  ExecutorOptions options;
  options.backend = s.backend;
  s.backend = choose_backend(options).backend;
  if (s.generated) {
    s.data.clear();
    return s;
  }
  const auto folder = data_folder(s.data);
  s.data = folder ? folder->string() : std::string();
  s.generated = !folder;
  return s;
}

ImageSets load_image_data(const TrainSettings& s, const NetworkInfo& network) {
  const auto [height, width, channels] = network.image;
  constexpr int64_t kTrain = 4096, kTest = 1024;
  if (s.generated)
    return generated_images(height, width, channels, s.train_images > 0 ? s.train_images : kTrain,
                            s.test_images > 0 ? s.test_images : kTest);
  ImageSets sets = load_folder(s.data, network, s.validation_split);
  take_first(sets.train, s.train_images, "train_images");
  take_first(sets.test, s.test_images, "test_images");
  return sets;
}

SampleSets load_data(const TrainSettings& s, const NetworkInfo& network) {
  using Kind = NetworkInput::Kind;
  const Kind kind = network.input.kind;
  const bool next_token = network.output.kind == NetworkOutput::Kind::kNextToken;
  // Generated images have no place: the empty one would be the folder in which the program runs.
  const bool arrays = !s.generated && holds_sample_arrays(s.data);
  if (kind == Kind::kImage && network.output.kind == NetworkOutput::Kind::kClasses && !arrays) {
    ImageSets sets = load_image_data(s, network);
    check_labels(sets.train, network);
    check_labels(sets.test, network);
    return {.train = samples_of(std::move(sets.train)), .test = samples_of(std::move(sets.test))};
  }
  if (s.generated)
    throw DataError("the network '" + s.network +
                    "' does not read images with classes, and others are not generated; expected --data with " +
                    (next_token ? "a text file" : "a .npz file"));
  SampleSets sets;
  if (next_token) {
    TextTokens text = read_text(s.data, network.input);
    const std::vector<int32_t> first(text.tokens.begin(), text.tokens.begin() + (text.tokens.empty() ? 0 : 1));
    sets = samples_of_tokens(std::move(text.tokens), s.data, network, s.validation_split);
    text.tokens = first;
    sets.text = std::move(text);
  } else {
    sets = samples_of_arrays(s.data, network, s.validation_split);
  }
  sets.train = first_samples(std::move(sets.train), s.train_images, "train_images");
  sets.test = first_samples(std::move(sets.test), s.test_images, "test_images");
  return sets;
}

std::vector<Batch> batches_of(const TrainSettings& s, const Samples& samples, const Sampler& sampler, int64_t step,
                              Exchange* exchange) {
  std::vector<Batch> batches;
  const int64_t count = s.replicas * s.accumulation;
  const DType dtype = s.precision_value().compute;
  TrainerOptions options = s.trainer_options();
  options.exchange = exchange;
  for (const int64_t b : batches_here(options)) {
    batches.push_back(samples.batch(sampler.batch(step * count + b), dtype));
  }
  return batches;
}

std::string recipe_hash(const TrainSettings& s) {
  const std::string recipe = recipe_contents(s.mechanism_value());
  return recipe.empty() ? recipe : hash_text(recipe.data(), recipe.size());
}

std::string initial_hash(const TrainSettings& s) {
  if (s.initial.empty()) return {};
  const std::vector<std::byte> bytes = archive::read_as_it_stands(s.initial, npz::kMostBytes);
  return hash_text(bytes.data(), bytes.size());
}

std::string network_hash(const TrainSettings& s) {
  if (!names_network_file(s.network)) return {};
  const std::string text = read_json(load_network(s.network).json).dump();
  return hash_text(text.data(), text.size());
}

RunInputs inputs_of(const TrainSettings& s, const SampleSets& data) {
  return {data.train->hash(), data.test->hash(), initial_hash(s), recipe_hash(s), network_hash(s)};
}

namespace {

/// Before first values are made: a short file may ask for any number of parameters.
Model that_fits(Model model) {
  const engine::MachineMemory there = engine::machine_memory();
  if (const auto needed = static_cast<uint64_t>(model.parameter_bytes()); needed > there.bytes)
    throw std::invalid_argument("the network has " + std::to_string(model.parameters()) + " parameters in " +
                                std::to_string(needed) + " bytes; expected less than there is: " + there.text());
  return model;
}

}  // namespace

Model model_of(const TrainSettings& s, const NetworkInfo& network) {
  const Mechanism mechanism = s.mechanism_value();
  if (network.input.kind == NetworkInput::Kind::kImage && network.output.kind == NetworkOutput::Kind::kClasses) {
    ModelOptions o;
    o.batch_size = s.batch_size;
    o.image = network.image;
    o.classes = network.classes;
    o.precision = s.precision_value();
    o.loss_in_float32 = s.loss_in_float32;
    o.layers = mechanism.layer_rule();
    o.mechanism = mechanism.text();
    return that_fits(build_model(network.build, o));
  }
  const auto of_batch = [&](const Shape& sample) {
    std::vector<int64_t> extents = {s.batch_size};
    extents.insert(extents.end(), sample.begin(), sample.end());
    return Shape(std::span<const int64_t>(extents));
  };
  ModelInputs o;
  const bool tokens = network.input.kind == NetworkInput::Kind::kTokens;
  o.precision = s.precision_value();
  o.inputs = {tokens ? DType::kInt32 : o.precision.compute, of_batch(network.input.shape)};
  o.labels = {network.classes > 0 ? DType::kInt32 : DType::kFloat32,
              network.output.kind == NetworkOutput::Kind::kClasses     ? of_batch({})
              : network.output.kind == NetworkOutput::Kind::kNextToken ? of_batch(network.input.shape)
                                                                       : of_batch(network.output.shape)};
  o.loss_in_float32 = s.loss_in_float32;
  o.layers = mechanism.layer_rule();
  o.mechanism = mechanism.text();
  return that_fits(build_model(network.build, find_loss(network.output.loss), o));
}

}  // namespace softamp::train_detail
