#include "emu/bulk/grouped_work.h"

#include <algorithm>
#include <cstring>

namespace softamp::emu {
namespace {

constexpr size_t kCacheLine = 64;
// Arrays larger than this together would not stay in a core's share of the last-level cache.
constexpr size_t kGroupStreamFrom = size_t{16} << 20;

/// The random words of elements in ascending order; a draw block is computed once.
class WordCursor {
 public:
  WordCursor(const RandomPlan& plan, int bits)
      : plan_(plan), bits_(bits), first_(plan.words ? 0 : plan.first_index), lanes_(lanes_of(plan)) {}

  uint32_t at(uint64_t element) {
    if (bits_ == 0) return 0;
    const uint64_t index = first_ + element;
    if (plan_.slice) return slice_of(*plan_.slice, bits_, whole(index >> lanes_ / 2), static_cast<int>(index % lanes_));
    if (bits_ > 16 || plan_.words) return whole(index);
    return block(index >> 3).lane16(static_cast<uint32_t>(index & 7));
  }

  /// The numbers of `count` elements, of a plan with a slice.
  // implements: N329
  void sliced(uint64_t element, size_t count, uint32_t* out) {
    switch (*plan_.slice) {
      case RandomSlice::kLowBits: return sliced_as<RandomSlice::kLowBits>(element, count, out);
      case RandomSlice::kTopBits: return sliced_as<RandomSlice::kTopBits>(element, count, out);
      case RandomSlice::kHalves: return sliced_as<RandomSlice::kHalves>(element, count, out);
      case RandomSlice::kBytes: return sliced_as<RandomSlice::kBytes>(element, count, out);
      case RandomSlice::kPermutedBytes: return sliced_as<RandomSlice::kPermutedBytes>(element, count, out);
    }
  }

 private:
  /// Whole words where all of a word's elements are asked for.
  template <RandomSlice kSlice>
  void sliced_as(uint64_t element, size_t count, uint32_t* out) {
    constexpr int kLanes = softamp::lanes_of(kSlice);
    const int bits = bits_;
    size_t i = 0;
    for (; i < count && (first_ + element + i) % kLanes != 0; ++i) out[i] = at(element + i);
    for (; i + kLanes <= count; i += kLanes) {
      const uint32_t word = whole((first_ + element + i) / kLanes);
      for (int lane = 0; lane < kLanes; ++lane) out[i + static_cast<size_t>(lane)] = slice_of(kSlice, bits, word, lane);
    }
    for (; i < count; ++i) out[i] = at(element + i);
  }
  static unsigned lanes_of(const RandomPlan& plan) {
    return plan.slice ? static_cast<unsigned>(softamp::lanes_of(*plan.slice)) : 1;
  }
  /// Word i, all 32 bits of it.
  uint32_t whole(uint64_t i) { return plan_.words ? plan_.words[i] : block(i >> 2).word[i & 3]; }
  const RandomBlock& block(uint64_t i) {
    if (!known_ || i != block_index_) {
      block_ = plan_.source.block(plan_.step, plan_.operation, i);
      block_index_ = i;
      known_ = true;
    }
    return block_;
  }

  const RandomPlan& plan_;
  int bits_;
  uint64_t first_;
  unsigned lanes_;  ///< 1, 2 or 4
  bool known_ = false;
  uint64_t block_index_ = 0;
  RandomBlock block_{};
};

bool starts_line(const void* p) { return reinterpret_cast<uintptr_t>(p) % kCacheLine == 0; }

}  // namespace

void GroupedWork::set_output(void* data, Element type, size_t elements) {
  output_ = data;
  output_type_ = type;
  size = elements;
  out_bytes = size_of(type);
  in_place = data == inputs_[0].data;
  size_t bytes = elements * out_bytes;
  for (int k = 0; k < input_count_; ++k) bytes += elements * size_of(inputs_[k].type);
  stream_ = !in_place && bytes > kGroupStreamFrom;
  // The head ends at the start of a draw block and, if possible, of a cache line: of the output if stores stream, else
  // of the first operand, since a kernel loads more than it stores.
  const char* const line_of = static_cast<const char*>(stream_ ? data : inputs_[0].data);
  const size_t step = size_of(stream_ ? type : inputs_[0].type);
  const size_t to_block = (8 - lead_of(0)) % 8;
  head = to_block;
  for (size_t h = to_block; h < to_block + kGroup; h += draws ? 8 : 1)
    if (starts_line(line_of + h * step)) {
      head = h;
      break;
    }
}

uint8_t GroupedWork::run(size_t begin, size_t count, uint8_t wanted, void* redirect) const {
  char* out = redirect ? static_cast<char*>(redirect) : static_cast<char*>(output_) + begin * out_bytes;
  if (!vectorised_) return run_reference(begin, count, out);
  const bool stream = stream_ && !redirect;
  if (!random_.slice)
    return run_groups(begin, count, random_.words ? random_.words + begin : nullptr, wanted, out, stream);
  // The kernels read a number for each element: a strip of them at a time, which the first-level cache holds.
  constexpr size_t kStrip = 2048;
  uint32_t numbers[kStrip];
  WordCursor words(random_, random_bits_);
  uint8_t flags = 0;
  while (count != 0) {
    const size_t n = std::min(count, begin < head ? head - begin : kStrip);
    words.sliced(begin, n, numbers);
    flags = static_cast<uint8_t>(flags | run_groups(begin, n, numbers, wanted, out, stream));
    begin += n, count -= n, out += n * out_bytes;
  }
  return flags;
}

uint8_t GroupedWork::run_groups(size_t begin, size_t count, const uint32_t* words, uint8_t wanted, char* out,
                                bool stream) const {
  uint8_t flags = 0;
  const auto padded = [&](size_t part) {
    const size_t lead = lead_of(begin);
    const size_t n = std::min({part, count, kGroup - lead});
    flags = static_cast<uint8_t>(flags | run_padded(begin, n, lead, words, wanted, out));
    begin += n, count -= n, out += n * out_bytes;
    if (words) words += n;
  };
  if (begin < head || lead_of(begin) != 0) {
    // Up to the head, or to the start of a draw block.
    size_t misfit = begin < head ? head - begin : 8 - lead_of(begin);
    while (misfit != 0 && count != 0) {
      const size_t before = begin;
      padded(misfit);
      misfit -= begin - before;
    }
  }
  if (const size_t whole = count / kGroup * kGroup; whole != 0) {
    Slice slice{};
    for (int k = 0; k < input_count_; ++k)
      slice.in[k] = static_cast<const char*>(inputs_[k].data) + begin * size_of(inputs_[k].type);
    slice.out = out;
    slice.words = words;
    slice.index = random_.first_index + begin;
    slice.count = whole;
    slice.stream = stream && starts_line(out);
    flags = static_cast<uint8_t>(flags | kernel(slice, wanted));
    begin += whole, count -= whole, out += whole * out_bytes;
    if (words) words += whole;
  }
  while (count != 0) padded(count);
  return flags;
}

uint8_t GroupedWork::run_padded(size_t begin, size_t count, size_t lead, const uint32_t* words, uint8_t wanted,
                                char* out) const {
  alignas(64) char operands[3][kGroup * 8], results[kGroup * 8];
  uint32_t padded_words[kGroup] = {};
  Slice slice{};
  for (int k = 0; k < input_count_; ++k) {
    const Input& in = inputs_[k];
    const size_t bytes = size_of(in.type);
    for (size_t i = 0; i < kGroup; ++i)
      if (i < lead || i >= lead + count) store_element(operands[k], in.type, i, in.padding);
    std::memcpy(operands[k] + lead * bytes, static_cast<const char*>(in.data) + begin * bytes, count * bytes);
    slice.in[k] = operands[k];
  }
  if (words) {
    std::memcpy(padded_words + lead, words, count * sizeof(uint32_t));
    slice.words = padded_words;
  }
  slice.out = results;
  slice.index = random_.first_index + begin - lead;
  slice.count = kGroup;
  const uint8_t flags = kernel(slice, wanted);
  std::memcpy(out, results + lead * out_bytes, count * out_bytes);
  return flags;
}

uint8_t GroupedWork::run_reference(size_t begin, size_t count, char* out) const {
  uint8_t flags = 0;
  WordCursor words(random_, random_bits_);
  for (size_t i = 0; i < count; ++i) {
    const Rounded r = reference(begin + i, words.at(begin + i));
    store_element(out, output_type_, i, r.code);
    flags = static_cast<uint8_t>(flags | r.flags);
  }
  return flags;
}

size_t GroupedWork::find(size_t begin, size_t count, uint8_t mask, uint8_t& raised) const {
  WordCursor words(random_, random_bits_);
  for (size_t e = begin; e < begin + count; ++e) {
    raised = static_cast<uint8_t>(reference(e, words.at(e)).flags & mask);
    if (raised) return e;
  }
  return begin;
}

void GroupedWork::commit(size_t begin, size_t count, const void* redirected) const {
  std::memcpy(static_cast<char*>(output_) + begin * out_bytes, redirected, count * out_bytes);
}

}  // namespace softamp::emu
