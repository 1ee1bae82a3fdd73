#include "softamp/engine/product_node.h"

#include "softamp/engine/product_rules.h"

namespace softamp::engine {

Schedule Schedule::plain(size_t k, size_t block, bool batch_sum) {
  Schedule s;
  const size_t partial = batch_sum ? kPartialLength : k;
  if (block == 0 || block > partial) block = partial;
  if (block == 0) return s;
  s.blocks.reserve(k / block + k / partial + 2);
  uint32_t number = 0;
  for (size_t begin = 0; begin < k; begin += partial) {
    const size_t end = begin + partial < k ? begin + partial : k;
    for (size_t at = begin; at < end; at += block) {
      const size_t length = end - at < block ? end - at : block;
      s.add(static_cast<uint32_t>(length), number++, batch_sum && at + length == end);
    }
  }
  return s;
}

bool needs_body(const kernel::ProductRules& r, const Semantics& s) {
  const RoundingPolicy &w = s.wide, &n = s.narrow;
  if (is_tensor_core(r.accumulator)) return true;
  if (r.inner == AmpInner::kExactDot4 || r.flush_inner || !w.usual() || !n.usual()) return true;
  if (w.overflow != Overflow::kInfinity || w.overflow_rule != OverflowRule::kAfterRounding) return true;
  if (w.infinity != InfinityResult::kKeep || w.nan == NanPattern::kPropagate) return true;
  const bool halves = r.partials == kernel::PartialsType::kHalf || r.round_partials;
  if ((halves || r.output.storage_bits() <= 16) && n.nan == NanPattern::kPropagate) return true;
  const bool infinite_halves = n.infinity == InfinityResult::kKeep || n.overflow == Overflow::kInfinity;
  if (halves && infinite_halves && s.narrow_infinity != InfinityOperand::kIeee) return true;
  return r.exact_each && n.mode == RoundingMode::kDown;  // signs of zero sums
}

OpKernel::SiteRoundings product_roundings(const kernel::ProductRules& rules, uint32_t site, uint64_t blocks,
                                          uint64_t outputs) {
  const bool half = rules.partials == kernel::PartialsType::kHalf;
  if (site == 0 && (half || rules.round_partials)) return {blocks, outputs};
  const bool final_rounding = rules.output != kFp32 && (rules.independent || !half);
  return site == 1 && final_rounding ? OpKernel::SiteRoundings{1, outputs} : OpKernel::SiteRoundings{};
}

namespace {

/// The matrix of an operand that product `batch` takes.
size_t matrix_of(size_t batch, const Shape& operand, const Shape& out) {
  size_t matrix = 0, stride = 1;
  for (int axis = out.rank() - 3, mine = operand.rank() - 3; mine >= 0; --axis, --mine) {
    const auto extent = static_cast<size_t>(out[axis]), own = static_cast<size_t>(operand[mine]);
    matrix += own == 1 ? 0 : batch % extent * stride;
    stride *= own;
    batch /= extent;
  }
  return matrix;
}

uint64_t code_at(const FloatFormat& f, const void* data, size_t i) {
  return f.storage_bits() <= 16 ? uint64_t{static_cast<const uint16_t*>(data)[i]}
                                : uint64_t{static_cast<const uint32_t*>(data)[i]};
}

/// Whether one product raises invalid by itself.
bool raises_alone(const kernel::ProductRules& rules, const kernel::Environment& environment, uint64_t index, uint32_t a,
                  uint32_t b) {
  kernel::ProductChain chain(rules, environment, index);
  chain.step(a, b, 0);
  return (chain.finish().flags & kInvalid) != 0;
}

}  // namespace

StartNumbers StartNumbers::of(const OpContext& c, size_t rows, size_t columns) {
  if (c.inputs.size() < 3) return {};
  if (c.inputs[2].shape.rank() == 1) return {true, 0, 0, rows, columns};
  return {true, columns, rows * columns, rows, columns};
}

MatMulNode::MatMulNode(const OpContext& c, const char* transposes_a, const char* transposes_b)
    : transpose_a(attribute<bool>(c.node, transposes_a)), transpose_b(attribute<bool>(c.node, transposes_b)) {
  const Shape &a = c.inputs[0].shape, &b = c.inputs[1].shape, &out = c.node.outputs[0].shape;
  const bool batch_sum = attribute<bool>(c.node, "batch_sum");
  rules = product_rules(c, c.settings.matmuls, c.inputs[0].dtype, batch_sum);
  rows = static_cast<size_t>(out[out.rank() - 2]);
  columns = static_cast<size_t>(out[out.rank() - 1]);
  k = static_cast<size_t>(a[a.rank() - (transpose_a ? 2 : 1)]);
  schedule = Schedule::plain(k, block_length(c.settings.matmuls), batch_sum);
  batches = matrix_pairs(a, b, out);
  start = StartNumbers::of(c, rows, columns);
}

std::vector<MatMulNode::Pair> matrix_pairs(const Shape& a, const Shape& b, const Shape& out) {
  size_t count = 1;
  for (int axis = 0; axis < out.rank() - 2; ++axis) count *= static_cast<size_t>(out[axis]);
  std::vector<MatMulNode::Pair> pairs;
  for (size_t batch = 0; batch < count; ++batch) pairs.push_back({matrix_of(batch, a, out), matrix_of(batch, b, out)});
  return pairs;
}

std::vector<uint64_t> MatMulNode::operands_at(const void* const* in, const kernel::Environment& environment,
                                              uint64_t index) const {
  const Pair batch = batches[index / (rows * columns)];
  const uint64_t row = index % (rows * columns) / columns, column = index % columns;
  kernel::ProductRules summing = rules;
  summing.output = kFp32;  // the final rounding is left out
  kernel::ProductChain chain(summing, environment, index);
  const auto raised = [&] { return (kernel::ProductChain(chain).finish().flags & (kInvalid | kOverflow)) != 0; };
  const Semantics s = kernel::product_semantics(rules, environment.semantics);
  if (start.given) chain.start(start.of_output(start.at(in, 0), index, s));
  // A tensor core rounds only at the end of a group. A part of a group has no result of its own that could raise a
  // flag, and an overflow cannot be blamed on one pair of factors.
  const bool fused = is_tensor_core(rules.accumulator);
  const int group = fused ? kernel::core_of(rules).step() : 1;
  int open = 0;
  size_t at = 0;
  for (const ChainBlock& block : schedule.blocks) {
    for (uint32_t i = 0; i < block.length; ++i, ++at) {
      const uint64_t a = code_at(rules.a, in[0], batch.a * rows * k + (transpose_a ? at * rows + row : row * k + at));
      const uint64_t b =
          code_at(rules.b, in[1], batch.b * columns * k + (transpose_b ? column * k + at : at * columns + column));
      const uint32_t wide_a = kernel::widen_operand(rules.a, a, s), wide_b = kernel::widen_operand(rules.b, b, s);
      if (fused && raises_alone(summing, environment, index, wide_a, wide_b)) return {a, b};
      chain.step(wide_a, wide_b, block.number);
      open = open + 1 == group ? 0 : open + 1;
      if (open == 0 && raised()) return fused ? std::vector<uint64_t>{} : std::vector<uint64_t>{a, b};
    }
    chain.end_block(block.number);
    if (block.closes_partial) open = 0;
    if (block.closes_partial) chain.close_partial(block.number);
    if (raised()) return {};
  }
  return {};
}

OpKernel::SiteRoundings MatMulNode::roundings(uint32_t site) const {
  const uint64_t blocks = schedule.blocks.empty() ? 0 : schedule.blocks.back().number + uint64_t{1};
  return product_roundings(rules, site, blocks, uint64_t{batches.size()} * rows * columns);
}

}  // namespace softamp::engine
