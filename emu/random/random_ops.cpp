// The kernels of the random operations: lanes of Philox by the vector, the distribution, one rounding.
#include "softamp/kernel/random.h"

#include "emu/elementwise/element_ways.h"
#include "emu/functions/functions.h"
#include "softamp/engine/element_attributes.h"

namespace softamp::emu {
namespace {

using kernel::RandomKind;

class RandomKernel final : public ElementKernel {
 public:
  RandomKernel(const OpContext& context, RandomKind kind)
      : ElementKernel(context, 0), kind_(kind), format_(format_of(context.node.outputs[0].dtype)) {
    const Semantics& s = semantics();
    const FunctionTable& functions = functions_of(context.settings.isa);
    const LaneTable& table = lanes_of(context.settings.isa);
    const engine::RandomRange range = engine::random_range(context.node, kind);
    affine_.alpha = range.factor;
    affine_.shift = range.addend;
    of_words_ = kind == RandomKind::kUniform  ? functions.uniform
                : kind == RandomKind::kNormal ? functions.normal
                                              : functions.truncated_normal;
    lane_words_ = table.words;
    affine_form_ = table.move(LaneMove::kAffineFp32);
    finish_ = table.move(LaneMove::kFinishFp32);
    narrow_ = format_.storage_bits() <= 16;
    if (narrow_)
      way_ = staged(finish_, Element::kF32, format_, s, context.settings.isa);
    else if (s.wide.subnormals == Subnormals::kFlush)
      finished_.result_flush_below = 0x00800000u;
    by_body_ = !s.wide.usual() || (!narrow_ && s.wide.subnormals == Subnormals::kFlushToPositive);
    possible_ = possible_flags(s, format_);
    draws_ = s.draws(format_);
    grain_ = 8 * 1024;
  }
  SiteRoundings roundings(uint32_t site) const override {
    return draws_ && site == 1 ? SiteRoundings{1, size()} : SiteRoundings{};
  }

 private:
  Outcome lanes(const OpCall& call, const Block& block, uint8_t wanted) const override {
    if (by_body_) return {kAllRare, 0};
    alignas(64) uint32_t lanes32[kElementBlock];
    alignas(64) float values[kElementBlock];
    const size_t n = block.count;
    lane_words_(random_plan(call), block.begin, n, lanes32);
    of_words_(lanes32, values, n);
    affine_form_({{values}, values, n, false, &affine_});
    if (!narrow_) return {finish_({{values}, block.out, n, block.stream, &finished_}), 0};
    Outcome outcome{finish_({{values}, values, n, false, &finished_}), 0};
    const BlockWords random_words(words(call, block, 1), n, block.valid);
    const Rounding rounded = round_block(
        way_, random_plan(call, 1), {{values}, block.out, random_words.data, block.begin, n, block.stream}, wanted);
    outcome.rare |= rounded.rare;
    outcome.flags = rounded.flags;
    return outcome;
  }
  Rounded element(const OpCall& call, const Block& block, size_t i) const override {
    return kernel::random_value(kind_, format_, affine_.alpha, affine_.shift, call.environment, block.begin + i);
  }

  RandomKind kind_;
  FloatFormat format_;
  bool narrow_ = false, by_body_ = false;
  LaneParameters affine_, finished_;
  FunctionTable::OfWords of_words_;
  void (*lane_words_)(const RandomPlan&, uint64_t, size_t, uint32_t*);
  LaneKernel affine_form_, finish_;
  Way way_;
};

/// What is computed from a lane without a rounding, by kOf(node), and stored as Code.
template <class Code, auto kOf>
class OfLaneKernel final : public ElementKernel {
 public:
  explicit OfLaneKernel(const OpContext& context)
      : ElementKernel(context, 0), lane_words_(lanes_of(context.settings.isa).words), of_lane_(kOf(context.node)) {}

 private:
  Outcome lanes(const OpCall& call, const Block& block, uint8_t) const override {
    alignas(64) uint32_t lanes32[kElementBlock];
    lane_words_(random_plan(call), block.begin, block.count, lanes32);
    Code* const out = static_cast<Code*>(block.out);
    for (size_t i = 0; i < block.count; ++i) out[i] = static_cast<Code>(of_lane_(lanes32[i]));
    return {};
  }
  Rounded element(const OpCall& call, const Block& block, size_t i) const override {
    return {of_lane_(kernel::random_lane(call.environment, block.begin + i)), 0};
  }

  void (*lane_words_)(const RandomPlan&, uint64_t, size_t, uint32_t*);
  decltype(kOf(std::declval<const Node&>())) of_lane_;
};

template <RandomKind kKind>
std::unique_ptr<OpKernel> make(const OpContext& context) {
  return std::make_unique<RandomKernel>(context, kKind);
}
template <class Code, auto kOf>
std::unique_ptr<OpKernel> make_of_lane(const OpContext& context) {
  return std::make_unique<OfLaneKernel<Code, kOf>>(context);
}

constexpr KernelEntry kRandomOpsEntries[] = {
    {"RandomUniform", make<RandomKind::kUniform>},
    {"RandomStandardNormal", make<RandomKind::kNormal>},
    {"TruncatedNormal", make<RandomKind::kTruncatedNormal>},
    {"RandomUniformInt", make_of_lane<uint32_t, engine::random_integer>},
    {"RandomBernoulli", make_of_lane<uint8_t, engine::random_truth>},
};

}  // namespace

std::span<const KernelEntry> random_kernels() { return kRandomOpsEntries; }

}  // namespace softamp::emu
