// Arrays with samples, in a .npz file or as .npy files in a folder.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "softamp/data/npz.h"
#include "softamp/numbers/number_text.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {
namespace {

namespace fs = std::filesystem;

struct Names {
  const char *inputs, *labels, *test_inputs, *test_labels;  ///< the last two: nullptr where there is one set
};
constexpr Names kNames[] = {{"x_train", "y_train", "x_test", "y_test"},
                            {"train_images", "train_labels", "test_images", "test_labels"},
                            {"x", "y", nullptr, nullptr}};

bool is_npz(const std::string& place) { return place.ends_with(".npz"); }

/// Arrays by name, of either form.
class Arrays {
 public:
  explicit Arrays(std::string place) : place_(std::move(place)) {
    if (is_npz(place_)) npz_ = std::make_unique<npz::Reader>(place_);
  }
  bool has(const std::string& name) const {
    std::error_code none;
    return npz_ ? npz_->has(name) : fs::is_regular_file(fs::path(place_) / (name + ".npy"), none);
  }
  Tensor read(const std::string& name) const {
    return npz_ ? npz_->tensor(name) : load_npy(fs::path(place_) / (name + ".npy"));
  }
  std::string place_of(const std::string& name) const {
    return npz_ ? place_ + ": " + name : (fs::path(place_) / (name + ".npy")).string();
  }
  const std::string& place() const { return place_; }
  std::string there() const {
    std::string list;
    for (const std::string& name : npz_ ? npz_->names() : files()) list += (list.empty() ? "'" : ", '") + name + "'";
    return list.empty() ? "no arrays" : "the arrays " + list;
  }

 private:
  /// The arrays of a folder. Throws DataError where there is none.
  std::vector<std::string> files() const {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator at(place_, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".npy") names.push_back(at->path().stem().string());
    if (error) throw DataError(place_ + ": " + error.message() + "; expected a .npz file, or a folder of .npy files");
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string place_;
  std::unique_ptr<npz::Reader> npz_;
};

/// Rows [first, first + count).
Tensor rows(const Tensor& all, int64_t first, int64_t count) {
  std::vector<int64_t> extents(all.shape().begin(), all.shape().end());
  extents[0] = count;
  Tensor some(all.dtype(), Shape(std::span<const int64_t>(extents)));
  const size_t row = all.shape()[0] > 0 ? all.bytes() / static_cast<size_t>(all.shape()[0]) : 0;
  if (some.bytes() > 0)
    std::memcpy(some.data(), static_cast<const std::byte*>(all.data()) + static_cast<size_t>(first) * row,
                some.bytes());
  return some;
}

SampleArrays arrays_of(const Arrays& arrays, const char* inputs, const char* labels, const std::string& part) {
  return {arrays.place() + part, arrays.place_of(inputs), arrays.place_of(labels), arrays.read(inputs),
          arrays.read(labels)};
}

/// One set in two parts.
SampleSets split(SampleArrays all, const std::string& place, const NetworkInfo& network, double share) {
  if (all.inputs.shape().rank() == 0 || all.labels.shape().rank() == 0 ||
      all.inputs.shape()[0] != all.labels.shape()[0])
    throw DataError(all.labels_name + ": an array of " + all.labels.type().text() + " beside inputs " +
                    all.inputs.type().text() + "; expected a label for each input");
  const int64_t count = all.inputs.shape()[0];
  const auto tested = static_cast<int64_t>(static_cast<double>(count) * share);
  const auto part = [&](const char* name, int64_t first, int64_t some) {
    return samples_of(
        {place + name, all.inputs_name, all.labels_name, rows(all.inputs, first, some), rows(all.labels, first, some)},
        network);
  };
  if (tested < 1 || tested >= count)
    throw DataError(place + ": " + std::to_string(count) + (count == 1 ? " sample" : " samples") +
                    ", and 'validation_split' " + shortest_decimal(share) +
                    " of them to test with; expected at least one in each part");
  try {
    return {part("/train", 0, count - tested), part("/test", count - tested, tested)};
  } catch (const DataError&) {
    (void)samples_of(std::move(all), network);  // tells the shapes and the elements of the file, and not of a part
    throw;
  }
}

}  // namespace

bool holds_sample_arrays(const std::string& place) {
  if (is_npz(place)) return true;
  const Arrays arrays(place);
  return arrays.has("x_train") || (arrays.has("x") && arrays.has("y"));
}

SampleSets samples_of_arrays(const std::string& place, const NetworkInfo& network, double share) try {
  const Arrays arrays(place);
  for (const Names& n : kNames) {
    if (!arrays.has(n.inputs) || !arrays.has(n.labels)) continue;
    SampleArrays train = arrays_of(arrays, n.inputs, n.labels, "/train");
    if (!n.test_inputs || !arrays.has(n.test_inputs)) return split(std::move(train), place, network, share);
    if (!arrays.has(n.test_labels))
      throw DataError(place + ": there is '" + n.test_inputs + "', and no '" + n.test_labels + "'; expected both");
    return {samples_of(std::move(train), network),
            samples_of(arrays_of(arrays, n.test_inputs, n.test_labels, "/test"), network)};
  }
  throw DataError(place + ": " + arrays.there() +
                  "; expected x_train, y_train, x_test, y_test, or train_images, train_labels, test_images, "
                  "test_labels, or x, y");
} catch (const npy::Error& e) {
  throw DataError(e.what());
}

}  // namespace softamp::train_detail
