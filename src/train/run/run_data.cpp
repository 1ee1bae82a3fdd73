#include "src/train/run/run_data.h"

#include <cstring>
#include <utility>

#include "softamp/data/npz.h"
#include "softamp/graph/trace.h"
#include "src/data/archive.h"
#include "src/precision/recipe_source.h"
#include "src/train/replica_options.h"

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

ImageSets load_folder(const std::string& folder, const NetworkInfo& network) {
  const auto [height, width, channels] = network.image;
  try {
    return load_images(folder, height, width, channels);
  } catch (const DataError&) {
    if (height != 32 || width != 32 || channels != 1) throw;
    ImageSets digits;
    try {
      digits = load_images(folder, 28, 28, 1);
    } catch (const DataError&) {
    }
    if (digits.train.count == 0) throw;
    return {with_border(digits.train, 2), with_border(digits.test, 2)};
  }
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

ImageSets load_data(const TrainSettings& s, const NetworkInfo& network) {
  const auto [height, width, channels] = network.image;
  constexpr int64_t kTrain = 4096, kTest = 1024;
  if (s.generated)
    return generated_images(height, width, channels, s.train_images > 0 ? s.train_images : kTrain,
                            s.test_images > 0 ? s.test_images : kTest);
  ImageSets sets = load_folder(s.data, network);
  take_first(sets.train, s.train_images, "train_images");
  take_first(sets.test, s.test_images, "test_images");
  return sets;
}

std::vector<Batch> batches_of(const TrainSettings& s, const ImageSet& images, const Sampler& sampler, int64_t step,
                              Exchange* exchange) {
  std::vector<Batch> batches;
  const int64_t count = s.replicas * s.accumulation;
  const DType dtype = s.precision_value().compute;
  TrainerOptions options = s.trainer_options();
  options.exchange = exchange;
  for (const int64_t b : batches_here(options)) {
    const std::vector<int64_t> indices = sampler.batch(step * count + b);
    batches.push_back({normalise(images, indices, dtype), labels_of(images, indices)});
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

RunInputs inputs_of(const TrainSettings& s, const ImageSets& data) {
  return {contents_hash(data.train), contents_hash(data.test), initial_hash(s), recipe_hash(s)};
}

Model model_of(const TrainSettings& s, const NetworkInfo& network) {
  ModelOptions o;
  o.batch_size = s.batch_size;
  o.image = network.image;
  o.classes = network.classes;
  o.precision = s.precision_value();
  o.loss_in_float32 = s.loss_in_float32;
  const Mechanism mechanism = s.mechanism_value();
  o.layers = mechanism.layer_rule();
  o.mechanism = mechanism.text();
  return build_model(network.build, o);
}

}  // namespace softamp::train_detail
