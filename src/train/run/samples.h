// What a run trains with and is tested with, sample by sample, whatever it was read from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softamp/data/images.h"
#include "softamp/train/models.h"
#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"

namespace softamp::train_detail {

/// Inputs, each with its label.
class Samples {
 public:
  Samples(std::string name, int64_t count) : name_(std::move(name)), count_(count) {}
  virtual ~Samples() = default;
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  const std::string& name() const { return name_; }
  int64_t count() const { return count_; }

  /// These samples as a model takes them; floating inputs are rounded to `compute`, to nearest even.
  virtual Batch batch(std::span<const int64_t> indices, DType compute) const = 0;
  /// The identity of the contents: XXH3-128, 32 hexadecimal digits.
  virtual std::string hash() const = 0;
  /// The loss that labels guessed by their frequency (classes, tokens, truths) or by their mean (values) would have.
  virtual double loss_of_guessing(const NetworkOutput& output) const = 0;

 private:
  std::string name_;
  int64_t count_;
};

/// A text as tokens: of "characters" `characters` holds the code point of each token, in ascending order; "bytes" are
/// their own tokens.
struct TextTokens {
  std::vector<int32_t> tokens;
  std::vector<uint32_t> characters;

  /// As UTF-8. A token that no character has is U+FFFD.
  std::string text_of(std::span<const int32_t> some) const;
  /// Throws std::invalid_argument for a character that the text does not have.
  std::vector<int32_t> tokens_of(std::string_view text) const;
};

struct SampleSets {
  std::unique_ptr<Samples> train, test;
  std::optional<TextTokens> text{};  ///< of a text; only its first token
};

std::unique_ptr<Samples> samples_of(ImageSet images);

/// Floating numbers, tokens, or labels of one file.
struct SampleArrays {
  std::string name, inputs_name, labels_name;  ///< of the set and of the arrays, for errors
  Tensor inputs, labels;                       ///< axis 0 is the sample
};
/// Throws DataError: shapes and dtypes that do not fit the network, a number that is not finite, a token or a label out
/// of its range, each with its array and element.
std::unique_ptr<Samples> samples_of(SampleArrays arrays, const NetworkInfo& network);

/// Tokens in windows of the input's length, whose labels are the tokens one further; `share` of them, the last part, is
/// the test set. Throws DataError where a part is shorter than a window.
SampleSets samples_of_tokens(std::vector<int32_t> tokens, const std::string& name, const NetworkInfo& network,
                             double share);

/// A text file, perhaps gzipped. Throws DataError: bytes that are no UTF-8 with their place, more characters than the
/// vocabulary, a file above 2^30 bytes.
TextTokens read_text(const std::string& file, const NetworkInput& input);

/// The arrays of a .npz file, or of .npy files in a folder: x_train, y_train, x_test, y_test; or x, y, of which the
/// last `share` is the test set. Other names: train_images, train_labels, test_images, test_labels. Throws DataError.
SampleSets samples_of_arrays(const std::string& place, const NetworkInfo& network, double share);
/// Whether the place is a .npz file, or a folder with such .npy files.
bool holds_sample_arrays(const std::string& place);

/// The first `wanted` samples (0: all). Throws DataError where there are fewer. `key`: the setting that asks for them.
std::unique_ptr<Samples> first_samples(std::unique_ptr<Samples> set, int64_t wanted, const char* key);

}  // namespace softamp::train_detail
