#include "src/program/inspect/block_inspection.h"

#include "softamp/data/npy.h"
#include "softamp/names/block_format_names.h"
#include "softamp/numerics/random.h"
#include "softamp/tensor/block_bulk.h"

#include <algorithm>
#include <cmath>

namespace softamp::program {
namespace {

using block::BlockFamily;
using block::BlockFormat;

constexpr uint32_t kBlockMagnitude = 0x7FFFFFFFu, kBlockInfinity = 0x7F800000u;

double number_of_fp32(uint32_t fp32) { return __builtin_bit_cast(float, fp32); }

block::Nvfp4Tensor block_tensor(const BlockInspection& b, const BlockFormat& f) {
  return f.family == BlockFamily::kNvfp4 ? block::nvfp4_tensor(b.tensor_amax, f.nvfp4) : block::Nvfp4Tensor{};
}

template <typename Rule>
void add_block_rules(std::vector<std::pair<std::string, BlockFormat>>& all, const BlockFormat& f, Rule last,
                     Rule& (*rule)(BlockFormat&)) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    BlockFormat other = f;
    rule(other) = static_cast<Rule>(i);
    all.emplace_back(rule_name(other), other);
  }
}

}  // namespace

uint32_t block_amax(const BlockInspection& b) {
  return block::greatest_magnitude(b.x.data(), static_cast<int>(b.x.size()), b.format.nan_poisons_block());
}

std::string rule_name(const BlockFormat& f) {
  switch (f.family) {
    case BlockFamily::kMx: return softamp::name_of(f.mx.scale);
    case BlockFamily::kNvfp4: return softamp::name_of(f.nvfp4.rule);
    case BlockFamily::kFp8: return softamp::name_of(f.fp8.rule);
    default: return "";
  }
}

std::vector<std::pair<std::string, BlockFormat>> formats_by_rule(const BlockFormat& f) {
  std::vector<std::pair<std::string, BlockFormat>> all;
  switch (f.family) {
    case BlockFamily::kMx:
      add_block_rules<block::ScaleRule>(all, f, block::ScaleRule::kMicroxcaling,
                                        [](BlockFormat& g) -> block::ScaleRule& { return g.mx.scale; });
      break;
    case BlockFamily::kNvfp4:
      add_block_rules<block::Nvfp4Rule>(all, f, block::Nvfp4Rule::kOneLevel,
                                        [](BlockFormat& g) -> block::Nvfp4Rule& { return g.nvfp4.rule; });
      break;
    case BlockFamily::kFp8:
      add_block_rules<block::Fp8Rule>(all, f, block::Fp8Rule::kDeepGemm,
                                      [](BlockFormat& g) -> block::Fp8Rule& { return g.fp8.rule; });
      break;
    default: break;
  }
  return all;
}

// implements: N471
BlockOutcome block_outcome(const BlockInspection& b, const BlockFormat& f) {
  BlockOutcome outcome;
  const uint64_t length = b.x.size() / b.rows;
  outcome.scale = block::block_scale(f, block_tensor(b, f), block_amax(b), b.rows, length,
                                     [&](uint64_t row, uint64_t i) { return b.x[row * length + i]; });
  const uint64_t most = f.element.max_code(), mask = f.element.code_mask();
  const uint64_t least = f.element.integer ? (mask + 1 - most) & mask : most | f.element.format.sign_mask();
  const RoundingPolicy& p = f.rounding();
  const RandomBits random{};
  for (size_t i = 0; i < b.x.size(); ++i) {
    const uint32_t word = p.stochastic() ? random.bits(0, 0, b.index[i], p.random_bits) : 0;
    BlockElement e{};
    e.code = static_cast<uint32_t>(block::block_code(f, outcome.scale, b.x[i], word).code);
    e.value = block::block_value(f, outcome.scale, e.code);
    const uint32_t x = b.x[i] & kBlockMagnitude, v = e.value & kBlockMagnitude;
    if (x <= kBlockInfinity && v <= kBlockInfinity) {
      e.saturated = (e.code == most || e.code == least) && x > v && v != 0;
      e.zeroed = x != 0 && v == 0;
      if (x < kBlockInfinity && v < kBlockInfinity) {
        const double error = number_of_fp32(e.value) - number_of_fp32(b.x[i]);
        outcome.squares += error * error;
      }
    }
    outcome.saturated += e.saturated;
    outcome.zeroed += e.zeroed;
    outcome.elements.push_back(e);
  }
  return outcome;
}

BlockInspection block_of_file(const BlockFormat& f, const std::string& path, uint64_t index, int axis) {
  npy::Reader reader(path);
  const npy::Header& header = reader.header();
  if (header.type != npy::ElementType::kFloat32)
    throw UsageError(path + ": type '" + npy::descr(header.type) + "'; expected '<f4', of which blocks are made");
  const int rank = static_cast<int>(header.shape.size());
  if (axis < -rank || axis >= rank)
    throw UsageError("--axis: '" + std::to_string(axis) + "': expected " + std::to_string(-rank) + ".." +
                     std::to_string(rank - 1) + " for shape " + npy::shape_text(header.shape));
  const std::vector<int64_t> extents(header.shape.begin(), header.shape.end());
  const bulk::BlockLayout l = bulk::BlockLayout::of(extents, axis);
  if (f.rows > 1 && l.inner != 1)
    throw UsageError("--axis: '" + std::to_string(axis) +
                     "': expected the last axis, -1: a scale of this format serves " + std::to_string(f.rows) +
                     " rows");
  const uint64_t count = f.family == BlockFamily::kPlain ? l.elements() : bulk::scale_count(l, f);
  if (index >= count)
    throw UsageError("--block-index: '" + std::to_string(index) + "': expected 0.." +
                     std::to_string(count - (count > 0)) + ": " + path + " has " + std::to_string(count) + " blocks");
  std::vector<float> all(header.elements);
  reader.read(all.data(), all.size());
  BlockInspection b{f, {}, {}, "block " + std::to_string(index) + " of " + path, 0};
  if (f.family == BlockFamily::kNvfp4) b.tensor_amax = bulk::greatest_magnitude(all, f.nan_poisons_block());
  const uint64_t size = f.family == BlockFamily::kPlain ? 1 : f.size == 0 ? l.length : static_cast<uint64_t>(f.size);
  const uint64_t rows = f.rows == 0 ? (f.family == BlockFamily::kPlain ? 1 : l.outer) : static_cast<uint64_t>(f.rows);
  const bool whole = f.rows == 0 && f.family != BlockFamily::kPlain;
  const uint64_t blocks = (l.length + size - 1) / size, inner = whole ? 0 : index % l.inner;
  const uint64_t at = whole ? 0 : index / l.inner, first = at % blocks * size;
  const uint64_t top = at / blocks * rows, bottom = std::min(l.outer, top + rows);
  if (!whole) b.rows = bottom - top;
  for (uint64_t r = top; r < bottom; ++r)
    for (uint64_t k = first; k < std::min(l.length, first + size); ++k)
      for (uint64_t j = inner; j < (whole ? l.inner : inner + 1); ++j) {
        b.index.push_back((r * l.length + k) * l.inner + j);
        b.x.push_back(__builtin_bit_cast(uint32_t, all[b.index.back()]));
      }
  return b;
}

}  // namespace softamp::program
