#include "softamp/train/mindspore/cell_dataset.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace softamp::cells {
namespace {

[[noreturn]] void refuse_dataset(const std::string& message) { throw std::invalid_argument("dataset: " + message); }

/// Extents with a batch axis in front.
Shape batched(const Shape& sample, int64_t count) {
  std::vector<int64_t> extents{count};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  return Shape(extents);
}

void put(Tensor& batch, int64_t place, const Tensor& sample, int64_t number, const char* what) {
  if (place == 0) batch = Tensor(sample.dtype(), batched(sample.shape(), number));
  if (batched(sample.shape(), number) != batch.shape() || sample.dtype() != batch.dtype())
    refuse_dataset(std::string(what) + " of sample " + std::to_string(place) + " of a batch is " +
                   name_of(sample.dtype()) + " " + sample.shape().text() + "; expected what the first is, a part of " +
                   name_of(batch.dtype()) + " " + batch.shape().text());
  std::memcpy(static_cast<std::byte*>(batch.data()) + static_cast<size_t>(place) * sample.bytes(), sample.data(),
              sample.bytes());
}

}  // namespace

GeneratorDataset::GeneratorDataset(SampleSource source, int64_t size)
    : source_(std::move(source)), count_(size), order_(size, 1) {
  if (!source_) refuse_dataset("no source; expected a function of the sample's number");
}

GeneratorDataset& GeneratorDataset::shuffle(uint64_t seed) {
  if (batch_) refuse_dataset("shuffle after batch; expected it before");
  order_ = Sampler(count_, 1, true, seed);
  return *this;
}

GeneratorDataset& GeneratorDataset::batch(int64_t batch_size, bool drop_remainder) {
  if (batch_) refuse_dataset("batched twice; expected one call of batch");
  if (batch_size < 1) refuse_dataset("batch_size is " + std::to_string(batch_size) + "; expected at least 1");
  batch_ = batch_size;
  drop_ = drop_remainder;
  return *this;
}

GeneratorDataset& GeneratorDataset::repeat(int64_t count) {
  if (count < 1) refuse_dataset("repeat count is " + std::to_string(count) + "; expected at least 1");
  constexpr int64_t kMost = int64_t{1} << 62;  // samples of an epoch
  if (count > kMost / count_ / repeats_before_ / repeats_after_)
    refuse_dataset("repeat count is " + std::to_string(count) + "; expected an epoch of at most 2^62 samples");
  (batch_ ? repeats_after_ : repeats_before_) *= count;
  return *this;
}

int64_t GeneratorDataset::size() const {
  const int64_t once = !batch_ ? samples() : drop_ ? samples() / batch_ : (samples() + batch_ - 1) / batch_;
  return once * repeats_after_;
}

Batch GeneratorDataset::joined(int64_t first, int64_t count) const {
  Batch batch;
  for (int64_t i = 0; i < count; ++i) {
    const Batch sample = source_(order_.image(first + i));
    put(batch.images, i, sample.images, count, "data");
    put(batch.labels, i, sample.labels, count, "label");
  }
  return batch;
}

Batch GeneratorDataset::at(int64_t i) const {
  if (i < 0 || i >= size())
    throw std::out_of_range("dataset: number " + std::to_string(i) + "; expected 0 .. " + std::to_string(size() - 1));
  if (!batch_) return source_(order_.image(i));
  const int64_t once = size() / repeats_after_, pass = i / once, first = i % once * batch_;
  // With a repetition after the batches, every pass goes over the source again.
  return joined(pass * samples() + first, std::min(batch_, samples() - first));
}

}  // namespace softamp::cells
