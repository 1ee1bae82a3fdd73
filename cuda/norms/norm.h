// Shared by the kernels of normalisations and their gradients.
#pragma once

#include "cuda/reductions/tree_sum.h"
#include "cuda/round_loop.h"
#include "softamp/engine/norm_node.h"

namespace softamp::cuda {

using engine::NormKind;
using kernel::Steps;

/// Positions of elements in groups (kernel::NormShape), without divisions if groups are rows or channels.
struct NormPlaces {
  NormKind kind;
  kernel::NormShape shape;

  struct Element {
    uint64_t place, channel;
  };
  /// Element k of a group.
  SOFTAMP_HD Element element(uint64_t group, uint64_t k) const {
    if (kind == NormKind::kBatch) return {k * shape.channels + group, group};
    if (kind == NormKind::kLayer) return {group * shape.channels + k, k};
    const uint64_t width = shape.group_channels(), sample = quotient_of(group, shape.groups_to_row);
    const uint64_t row = quotient_of(k, width),
                   channel = (group - sample * shape.groups_to_row) * width + k - row * width;
    return {(sample * shape.rows_to_group + row) * shape.channels + channel, channel};
  }
  /// The same place in two parts: that of a group, and from there on.
  SOFTAMP_HD uint64_t base(uint64_t group) const {
    if (kind == NormKind::kBatch) return group;
    if (kind == NormKind::kLayer) return group * shape.channels;
    const uint64_t sample = quotient_of(group, shape.groups_to_row);
    return sample * shape.rows_to_group * shape.channels +
           (group - sample * shape.groups_to_row) * shape.group_channels();
  }
  SOFTAMP_PRIMITIVE uint64_t within(uint64_t base, uint64_t k) const {
    if (kind == NormKind::kBatch) return base + k * shape.channels;
    if (kind == NormKind::kLayer) return base + k;
    const uint64_t width = shape.group_channels(), row = quotient_of(k, width);
    return base + row * shape.channels + k - row * width;
  }
  /// Whether eight elements of a group, from a multiple of eight on, lie side by side.
  SOFTAMP_HD bool together() const { return kind != NormKind::kGroups || shape.group_channels() % kGroup == 0; }
  SOFTAMP_PRIMITIVE void load(const Reader& r, const Eight& e, uint64_t k, Singles<uint32_t>& codes) const {
    const auto place = [&](unsigned j) { return within(e.base, k + j); };
    if (together())
      codes.load(r.data, r.is_wide() ? 4 : 2, e.count, place(0));
    else
      codes.load_scattered(r.data, r.is_wide() ? 4 : 2, e.count, place);
  }
  /// Whether those are whole vectors.
  bool fit(const Reader& r) const {
    return together() && (kind != NormKind::kBatch || shape.channels % kGroup == 0) &&
           detail::fit_vectors(r, shape.channels);
  }
  SOFTAMP_HD uint64_t group_of(uint64_t row, uint64_t channel) const {
    if (kind == NormKind::kBatch) return channel;
    if (kind == NormKind::kLayer) return row;
    return quotient_of(row, shape.rows_to_group) * shape.groups_to_row + quotient_of(channel, shape.group_channels());
  }
  /// Row, channel and group of element i of the tensor, and the channel's place in its group.
  struct Cell {
    uint64_t row, channel, group, within;
  };
  SOFTAMP_HD Cell cell(uint64_t i) const {
    const uint64_t row = quotient_of(i, shape.channels);
    return of_row(row, i - row * shape.channels);
  }
  /// Goes on to element i + 1; true: its group is another one.
  SOFTAMP_PRIMITIVE bool next(Cell& c) const {
    ++c.channel;
    ++c.within;
    if (c.channel == shape.channels) {
      c = of_row(c.row + 1, 0);
      return true;
    }
    if (kind == NormKind::kLayer || (kind != NormKind::kBatch && c.within < shape.group_channels())) return false;
    c.within = 0;
    ++c.group;
    return true;
  }

  SOFTAMP_HD Cell of_row(uint64_t row, uint64_t channel) const {
    Cell c{row, channel, group_of(row, channel), 0};
    if (kind != NormKind::kBatch)
      c.within = kind == NormKind::kLayer
                     ? channel
                     : channel - quotient_of(channel, shape.group_channels()) * shape.group_channels();
    return c;
  }

  /// Sums over groups, and over the rows of channels.
  TreeShape groups() const { return {shape.groups(), shape.group_size(), kind == NormKind::kBatch}; }
  TreeShape channels() const { return {shape.channels, shape.rows, true}; }
};

/// Two sums of the same elements.
struct TwoSums {
  float first, second;
};
/// Eight of them.
struct TwoSumsFast {
  float first[kGroup], second[kGroup];
  bool rare;

  SOFTAMP_PRIMITIVE TwoSumsFast() : rare(false) {
    for_group([&](unsigned j) { first[j] = -0.0f, second[j] = -0.0f; });
  }
  SOFTAMP_PRIMITIVE void add(unsigned j, float a, float b) {
    first[j] = add_rn(first[j], a);
    second[j] = add_rn(second[j], b);
  }
};

/// Outputs beside output 0: one to a channel or group, by the bodies.
struct SmallOutput {
  void* data;  ///< null: only flags count
  FloatFormat format;
  unsigned bytes;

  SmallOutput() = default;
  SmallOutput(void* out, DType type)
      : data(out), format(format_of(type)), bytes(static_cast<unsigned>(size_of(type))) {}

  SOFTAMP_HD void put(const StepEnvironment& e, DeviceStatus* status, uint32_t site, uint64_t index, float value,
                      uint8_t step_flags, uint64_t flag_index) const {
    const uint32_t random = site < kernel::Environment::kSites ? draw_word(e, format, site, index) : 0;
    const Rounded r = detail::finish_rare<float>(format, value, step_flags, e.environment.semantics, random);
    if (data) store_element(data, bytes, index, r.code);
    raise_status(status, r.flags, flag_index);
  }
};
/// A site without random words.
constexpr uint32_t kNoSite = ~0u;

std::unique_ptr<OpKernel> make_norm(const OpContext& c, Device& device);
std::unique_ptr<OpKernel> make_norm_gradient(const OpContext& c, Device& device);

}  // namespace softamp::cuda
