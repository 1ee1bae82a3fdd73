// The kernels of the random operations: eight lanes per thread, from two Philox blocks, the distribution, one rounding.
#include "softamp/kernel/random.h"

#include "cuda/element_kernel.h"
#include "cuda/elementwise/elementwise.h"
#include "cuda/fast_round.h"
#include "softamp/engine/element_attributes.h"

namespace softamp::cuda {
namespace {

using kernel::RandomKind;

/// The 32-bit lanes of outputs first .. first + 7: kernel::random_lane of each.
SOFTAMP_PRIMITIVE void lanes_of(const kernel::Environment& e, uint64_t first, uint32_t (&lane)[kGroup]) {
  const RandomBlock low = random_block(e.random, e.step, e.operation, first >> 2);
  const RandomBlock high = random_block(e.random, e.step, e.operation, (first >> 2) + 1);
  for_group([&](unsigned j) { lane[j] = j < 4 ? low.word[j & 3] : high.word[j & 3]; });
}

struct RandomBody {
  static constexpr int kOperands = 0;
  RandomKind kind;
  FloatFormat format;
  engine::RandomRange range;

  SOFTAMP_HD __attribute__((noinline)) Rounded operator()(const uint64_t*, const kernel::Environment& e, uint32_t,
                                                          uint64_t index) const {
    return kernel::random_value(kind, format, range.factor, range.addend, e, index);
  }
};

struct RandomGroups {
  RandomBody body;
  FastRound round;
  void* out;
  unsigned bytes;
  bool vectors;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const kernel::Environment e = run.environment.now();
      each_group(block, t, run.size, [&](uint64_t first, unsigned count) {
        uint32_t lane[kGroup], code[kGroup] = {};
        lanes_of(e, first, lane);
        RandomWords words{};
        if (round.draws) words = random_words(e, 1, first, round.random_bits, count);
        for (unsigned j = 0; j < count; ++j) {
          bool rare = false;
          code[j] = round(value(lane[j]), words.word[j], rare);
          if (!rare) continue;
          const Rounded r = body(nullptr, e, 0, first + j);
          code[j] = static_cast<uint32_t>(r.code);
          raise_status(run.status, r.flags, first + j);
        }
        store_group(out, bytes, vectors, first, count, code);
      });
    });
  }

 private:
  SOFTAMP_HD float value(uint32_t lane) const {
    using math::Float;
    Float x = 0.0f;
    switch (body.kind) {
      case RandomKind::kUniform: x = math::uniform_from_bits<Float>(lane); break;
      case RandomKind::kNormal: x = math::normal_from_bits<Float>(lane); break;
      case RandomKind::kTruncatedNormal: x = math::truncated_normal_from_bits<Float>(lane); break;
    }
    return fma_rn(x.value, body.range.factor, body.range.addend);
  }
};

class RandomKernel final : public ElementKernel {
 public:
  RandomKernel(const OpContext& context, RandomKind kind)
      : ElementKernel(context, 0),
        type_(context.node.outputs[0].dtype),
        by_body_(context.settings.reference || !context.settings.environment.semantics.usual()),
        body_{kind, format_of(type_), engine::random_range(context.node, kind)} {
    draws_ = context.settings.environment.semantics.draws(body_.format);
  }
  SiteRoundings roundings(uint32_t site) const override {
    return draws_ && site == 1 ? SiteRoundings{1, size()} : SiteRoundings{};
  }

  void enqueue(const DeviceCall& call) const override {
    const Semantics& s = call.environment.environment.semantics;
    const unsigned bytes = static_cast<unsigned>(size_of(type_));
    const Grid grid = group_grid(call.device, size());
    const FastRound round = by_body_ ? FastRound{} : FastRound::of(body_.format, s, call.status != nullptr);
    // A zero that flushing makes positive cannot be distinguished from an unflushed negative one.
    if (round.usable && !(type_ == DType::kFloat32 && s.wide.subnormals == Subnormals::kFlushToPositive)) {
      const RandomGroups groups{
          body_,      round, call.out[0], bytes, detail::aligned_groups(call.out[0], bytes), size(), call.environment,
          call.status};
      call.device.launch("random", grid, groups);
      return;
    }
    const ElementBodies<RandomBody> bodies{body_, {},     call.out[0],      bytes,      false, 0,
                                           1,     size(), call.environment, call.status};
    call.device.launch("random", grid, bodies);
  }

 private:
  DType type_;
  bool by_body_;
  RandomBody body_;
};

/// What is computed from a lane without a rounding.
template <class OfLane>
struct OfLaneGroups {
  OfLane of_lane;
  void* out;
  unsigned bytes;
  bool vectors;
  uint64_t size;
  StepEnvironment environment;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const kernel::Environment e = environment.now();
      each_group(block, t, size, [&](uint64_t first, unsigned count) {
        uint32_t lane[kGroup], code[kGroup];
        lanes_of(e, first, lane);
        for_group([&](unsigned j) { code[j] = of_lane(lane[j]); });
        store_group(out, bytes, vectors, first, count, code);
      });
    });
  }
};

template <class OfLane>
class OfLaneKernel final : public ElementKernel {
 public:
  OfLaneKernel(const OpContext& context, const OfLane& of_lane)
      : ElementKernel(context, 0),
        of_lane_(of_lane),
        bytes_(static_cast<unsigned>(size_of(context.node.outputs[0].dtype))) {}

  void enqueue(const DeviceCall& call) const override {
    call.device.launch("random_of_lane", group_grid(call.device, size()),
                       OfLaneGroups<OfLane>{of_lane_, call.out[0], bytes_, detail::aligned_groups(call.out[0], bytes_),
                                            size(), call.environment});
  }

 private:
  OfLane of_lane_;
  unsigned bytes_;
};

template <RandomKind kKind>
std::unique_ptr<OpKernel> make(const OpContext& context, Device&) {
  return std::make_unique<RandomKernel>(context, kKind);
}

template <auto kOf>
std::unique_ptr<OpKernel> make_of_lane(const OpContext& context, Device&) {
  return std::make_unique<OfLaneKernel<decltype(kOf(context.node))>>(context, kOf(context.node));
}

}  // namespace

std::span<const KernelEntry> random_kernels() {
  static constexpr KernelEntry entries[] = {
      {"RandomUniform", make<RandomKind::kUniform>},
      {"RandomStandardNormal", make<RandomKind::kNormal>},
      {"TruncatedNormal", make<RandomKind::kTruncatedNormal>},
      {"RandomUniformInt", make_of_lane<engine::random_integer>},
      {"RandomBernoulli", make_of_lane<engine::random_truth>},
  };
  return entries;
}

}  // namespace softamp::cuda
