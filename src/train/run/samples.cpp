#include "src/train/run/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "softamp/graph/trace.h"
#include "softamp/numerics/math_exp.h"
#include "softamp/numerics/math_log.h"
#include "src/numbers/decimal_text.h"
#include "src/train/evaluation.h"

namespace softamp::train_detail {
namespace {

/// -sum p ln p of whole numbers.
double entropy_of(std::vector<int32_t> labels) {
  std::sort(labels.begin(), labels.end());
  const double all = static_cast<double>(labels.size());
  double sum = 0;
  for (size_t i = 0; i < labels.size();) {
    size_t end = i;
    while (end < labels.size() && labels[end] == labels[i]) ++end;
    const double p = static_cast<double>(end - i) / all;
    sum -= p * math::log(math::Float(static_cast<float>(p))).value;
    i = end;
  }
  return sum;
}

class ImageSamples : public Samples {
 public:
  explicit ImageSamples(ImageSet images) : Samples(images.name, images.count), images_(std::move(images)) {}
  Batch batch(std::span<const int64_t> indices, DType compute) const override {
    return {normalise(images_, indices, compute), labels_of(images_, indices)};
  }
  std::string hash() const override { return contents_hash(images_); }
  double loss_of_guessing(const NetworkOutput&) const override { return entropy_of(images_.labels); }

 private:
  ImageSet images_;
};

[[noreturn]] void refuse(const std::string& place, const std::string& what) { throw DataError(place + ": " + what); }

/// Element `at` of an array as its indices: "[3, 1]".
std::string index_text(const Shape& shape, int64_t at) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(at % shape[axis]) + (text.empty() ? "" : ", ") + text;
    at /= shape[axis];
  }
  return "[" + text + "]";
}

bool is_whole(DType t) { return t == DType::kUint8 || t == DType::kInt32 || t == DType::kInt64 || t == DType::kBool; }

Shape with_count(int64_t count, const Shape& sample) {
  std::vector<int64_t> extents = {count};
  for (const int64_t extent : sample) extents.push_back(extent);
  return Shape(std::span<const int64_t>(extents));
}

/// [n, sample...] or, where a sample is one number, [n].
void check_shape(const std::string& place, const Tensor& array, const Shape& sample, int64_t count) {
  const Shape whole = with_count(count, sample);
  const bool flat = sample.elements() == 1 && array.shape() == Shape{count};
  if (array.shape() != whole && !flat)
    refuse(place, "an array of " + array.type().text() + "; expected " + whole.text() +
                      (count == array.shape()[0] ? "" : ", as many samples as inputs"));
}

std::vector<int32_t> whole_numbers(const std::string& place, const Tensor& array, int64_t below, const char* what) {
  if (!is_whole(array.dtype()))
    refuse(place,
           "an array of " + std::string(name_of(array.dtype())) + "; expected whole numbers (int32, int64, uint8)");
  std::vector<int32_t> numbers(static_cast<size_t>(array.elements()));
  for (int64_t i = 0; i < array.elements(); ++i) {
    const int64_t x = array.dtype() == DType::kInt64 ? array.as<int64_t>()[static_cast<size_t>(i)]
                                                     : static_cast<int64_t>(array.value(i));
    if (x < 0 || x >= below)
      refuse(place, "element " + index_text(array.shape(), i) + " is " + std::to_string(x) + "; expected " + what +
                        " in 0 .. " + std::to_string(below - 1));
    numbers[static_cast<size_t>(i)] = static_cast<int32_t>(x);
  }
  return numbers;
}

std::vector<float> finite_numbers(const std::string& place, const Tensor& array, bool truths) {
  std::vector<float> numbers(static_cast<size_t>(array.elements()));
  for (int64_t i = 0; i < array.elements(); ++i) {
    const double x = array.value(i);
    const auto narrow = static_cast<float>(x);
    if (!std::isfinite(narrow) || (truths && x != 0 && x != 1))
      refuse(place, "element " + index_text(array.shape(), i) + " is " + round_trip_text(x) + "; expected " +
                        (truths ? "0 or 1" : "a finite number that float32 reaches"));
    numbers[static_cast<size_t>(i)] = narrow;
  }
  return numbers;
}

template <class T>
Tensor rows_of(const std::vector<T>& all, const Shape& sample, std::span<const int64_t> indices, DType dtype) {
  Tensor rows(dtype, with_count(static_cast<int64_t>(indices.size()), sample));
  const auto size = static_cast<size_t>(sample.elements());
  T* to = rows.as<T>().data();
  for (const int64_t i : indices) {
    std::copy_n(&all[static_cast<size_t>(i) * size], size, to);
    to += size;
  }
  return rows;
}

class ArraySamples : public Samples {
 public:
  ArraySamples(std::string name, int64_t count, const NetworkInfo& network)
      : Samples(std::move(name), count), input_(network.input), output_(network.output) {}

  Batch batch(std::span<const int64_t> indices, DType compute) const override {
    return {input_.kind == NetworkInput::Kind::kTokens
                ? rows_of(tokens, input_.shape, indices, DType::kInt32)
                : in_dtype(rows_of(numbers, input_.shape, indices, DType::kFloat32), compute),
            labels_are_whole() ? rows_of(classes, label_shape(), indices, DType::kInt32)
                               : rows_of(values, label_shape(), indices, DType::kFloat32)};
  }
  std::string hash() const override {
    std::string all;
    const auto add = [&](const auto& v) { all += hash_text(v.data(), v.size() * sizeof(v[0])); };
    add(numbers);
    add(tokens);
    add(classes);
    add(values);
    return hash_text(all.data(), all.size());
  }
  double loss_of_guessing(const NetworkOutput& output) const override {
    if (labels_are_whole()) return entropy_of(classes);
    double sum = 0;
    for (const float v : values) sum += static_cast<double>(v);
    const double mean = values.empty() ? 0 : sum / static_cast<double>(values.size());
    if (output.kind == NetworkOutput::Kind::kBinary) {
      if (mean <= 0 || mean >= 1) return 0;
      const auto log_of = [](double p) { return math::log(math::Float(static_cast<float>(p))).value; };
      return -(mean * log_of(mean) + (1 - mean) * log_of(1 - mean));
    }
    double loss = 0;
    for (const float v : values) loss += loss_of_value(output.loss, mean, static_cast<double>(v));
    return values.empty() ? 0 : loss / static_cast<double>(values.size());
  }

  bool labels_are_whole() const {
    return output_.kind == NetworkOutput::Kind::kClasses || output_.kind == NetworkOutput::Kind::kNextToken;
  }
  Shape label_shape() const {
    return output_.kind == NetworkOutput::Kind::kClasses     ? Shape{}
           : output_.kind == NetworkOutput::Kind::kNextToken ? input_.shape
                                                             : output_.shape;
  }

  std::vector<float> numbers, values;
  std::vector<int32_t> tokens, classes;

 private:
  static Tensor in_dtype(Tensor rows, DType compute) {
    return rows.dtype() == compute ? std::move(rows) : Tensor::from_values(compute, rows.shape(), rows.values());
  }

  NetworkInput input_;
  NetworkOutput output_;
};

/// Part of a text: sample i is the window that begins at i times its length.
class TextSamples : public Samples {
 public:
  TextSamples(std::string name, std::vector<int32_t> tokens, int64_t length)
      : Samples(std::move(name), (static_cast<int64_t>(tokens.size()) - 1) / length),
        tokens_(std::move(tokens)),
        length_(length) {}
  Batch batch(std::span<const int64_t> indices, DType) const override {
    const Shape shape{static_cast<int64_t>(indices.size()), length_};
    Batch b{Tensor(DType::kInt32, shape), Tensor(DType::kInt32, shape)};
    size_t to = 0;
    for (const int64_t i : indices) {
      const auto from = tokens_.begin() + i * length_;
      std::copy_n(from, length_, b.images.as<int32_t>().begin() + static_cast<std::ptrdiff_t>(to));
      std::copy_n(from + 1, length_, b.labels.as<int32_t>().begin() + static_cast<std::ptrdiff_t>(to));
      to += static_cast<size_t>(length_);
    }
    return b;
  }
  std::string hash() const override { return hash_text(tokens_.data(), tokens_.size() * sizeof(int32_t)); }
  double loss_of_guessing(const NetworkOutput&) const override { return entropy_of(tokens_); }

 private:
  std::vector<int32_t> tokens_;
  int64_t length_;
};

/// Some of another set.
class FirstSamples : public Samples {
 public:
  FirstSamples(std::unique_ptr<Samples> all, int64_t count) : Samples(all->name(), count), all_(std::move(all)) {}
  Batch batch(std::span<const int64_t> indices, DType compute) const override { return all_->batch(indices, compute); }
  std::string hash() const override {
    const std::string text = all_->hash() + std::to_string(count());
    return hash_text(text.data(), text.size());
  }
  double loss_of_guessing(const NetworkOutput& output) const override { return all_->loss_of_guessing(output); }

 private:
  std::unique_ptr<Samples> all_;
};

/// 8-bit pixels, of which a network of images gets x / 255.
bool are_pixels(const SampleArrays& a, const NetworkInfo& network) {
  return network.input.kind == NetworkInput::Kind::kImage && a.inputs.dtype() == DType::kUint8;
}

ImageSet images_of(const SampleArrays& a, const NetworkInfo& network, std::vector<int32_t> labels) {
  ImageSet set;
  set.name = a.name;
  set.count = a.inputs.shape()[0];
  set.height = network.image[0];
  set.width = network.image[1];
  set.channels = network.image[2];
  set.classes = static_cast<int32_t>(network.classes);
  const auto pixels = a.inputs.as<uint8_t>();
  set.pixels.assign(pixels.begin(), pixels.end());
  set.labels = std::move(labels);
  return set;
}

}  // namespace

std::unique_ptr<Samples> samples_of(ImageSet images) { return std::make_unique<ImageSamples>(std::move(images)); }

std::unique_ptr<Samples> samples_of(SampleArrays arrays, const NetworkInfo& network) {
  const std::string inputs = arrays.inputs_name, labels = arrays.labels_name;
  if (arrays.inputs.shape().rank() == 0 || arrays.labels.shape().rank() == 0)
    refuse(arrays.inputs.shape().rank() == 0 ? inputs : labels, "one number; expected one for each sample");
  const int64_t count = arrays.inputs.shape()[0];
  if (count == 0) refuse(inputs, "no samples; expected at least one");
  auto set = std::make_unique<ArraySamples>(arrays.name, count, network);
  Shape sample = network.input.shape;
  // Images of one channel often come without it.
  if (network.input.kind == NetworkInput::Kind::kImage && sample[2] == 1 && arrays.inputs.shape().rank() == 3)
    sample = Shape{sample[0], sample[1]};
  check_shape(inputs, arrays.inputs, sample, count);
  if (are_pixels(arrays, network) && network.output.kind == NetworkOutput::Kind::kClasses) {
    check_shape(labels, arrays.labels, {}, count);
    return samples_of(
        images_of(arrays, network, whole_numbers(labels, arrays.labels, network.output.classes, "a class")));
  }
  if (network.input.kind == NetworkInput::Kind::kTokens)
    set->tokens = whole_numbers(inputs, arrays.inputs, network.input.vocabulary, "a token of the network's vocabulary");
  else
    set->numbers = finite_numbers(inputs, arrays.inputs, false);
  check_shape(labels, arrays.labels, set->label_shape(), count);
  if (set->labels_are_whole())
    set->classes = whole_numbers(labels, arrays.labels, network.output.classes, "a class");
  else
    set->values = finite_numbers(labels, arrays.labels, network.output.kind == NetworkOutput::Kind::kBinary);
  return set;
}

SampleSets samples_of_tokens(std::vector<int32_t> tokens, const std::string& name, const NetworkInfo& network,
                             double share) {
  const int64_t length = network.input.shape[0], all = static_cast<int64_t>(tokens.size());
  const auto tested = static_cast<int64_t>(static_cast<double>(all) * share);
  if (all - tested < length + 1 || tested < length + 1)
    refuse(name, std::to_string(all) + " tokens, the last " + std::to_string(tested) +
                     " of them to test with; expected at least " + std::to_string(length + 1) +
                     " in each part, as the network's input is " + std::to_string(length) + " long");
  std::vector<int32_t> test(tokens.end() - tested, tokens.end());
  tokens.resize(static_cast<size_t>(all - tested));
  return {std::make_unique<TextSamples>(name + "/train", std::move(tokens), length),
          std::make_unique<TextSamples>(name + "/test", std::move(test), length)};
}

std::unique_ptr<Samples> first_samples(std::unique_ptr<Samples> set, int64_t wanted, const char* key) {
  if (wanted > set->count())
    throw DataError(set->name() + " has " + std::to_string(set->count()) + " samples; expected the " +
                    std::to_string(wanted) + " that '" + key + "' asks for");
  return wanted > 0 && wanted < set->count() ? std::make_unique<FirstSamples>(std::move(set), wanted) : std::move(set);
}

}  // namespace softamp::train_detail
