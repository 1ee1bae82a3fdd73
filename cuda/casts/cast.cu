// The kernel of Cast: by the body; between fp32 and 16-bit floats, and between those, eight elements a thread by
// FastRound, with one Philox block for their random bits.
#include "cuda/element_group.h"
#include "cuda/element_kernel.h"
#include "cuda/fast_round.h"
#include "softamp/engine/cast_node.h"

namespace softamp::cuda {
namespace {

using kernel::CastEnd;
using Way = FastRound::Way;

struct CastBody {
  static constexpr int kOperands = 1;
  CastEnd from, to;

  SOFTAMP_HD Rounded operator()(const uint64_t* codes, const kernel::Environment& e, uint32_t random, uint64_t) const {
    return kernel::cast(from, to, codes[0], e.semantics, random);
  }
};

/// What a fast conversion reads.
enum class Source : uint8_t { kFloat, kHalf, kBf16 };

template <Source kSource>
SOFTAMP_PRIMITIVE float value_of(uint32_t code) {
  return kSource == Source::kHalf   ? float_of_half(code)
         : kSource == Source::kBf16 ? float_of_bf16(code)
                                    : from_bits(code);
}

/// Groups of eight in whole vectors without rare elements by `round`, others element by element.
template <Source kSource, Way kWay>
struct FastCast {
  static constexpr unsigned kBytes = kSource == Source::kFloat ? 4 : 2, kOutBytes = kWay == Way::kFloat ? 4 : 2;
  static constexpr unsigned kAtOnce = 16 / kBytes;                 ///< groups: 128 bytes of them
  static constexpr unsigned kMostThreads = 128, kLeastBlocks = 5;  ///< so that 80 KiB are on their way
  static constexpr bool kMayDraw = kWay == Way::kHalfCarry || kWay == Way::kBf16Carry;

  CastBody body;
  FastRound round;
  const void* in;
  void* out;
  bool vectors;  ///< both arrays are aligned, so that groups can be read and written at once
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint32_t step = kMayDraw && round.draws ? *run.environment.step : 0;
      each_group_at_once<Codes, kAtOnce>(
          block, t, run.size, vectors, [&](uint64_t first, Codes& read) { read.load(in, first); },
          [&](uint64_t first, const Codes& read) { return group(first, read, step); },
          [&](uint64_t first) { elements(first, step); });
    });
  }

 private:
  using Codes = GroupCodes<kBytes>;

  SOFTAMP_PRIMITIVE bool group(uint64_t first, const Codes& read, uint32_t step) const {
    using detail::Quad;
    float x[kGroup];
    for_group([&](unsigned j) { x[j] = value_of<kSource>(read[j]); });
    bool rare = false;
    Quad result[kOutBytes / 2];
    if constexpr (kWay == Way::kFloat) {
      for_group([&](unsigned j) { result[j / 4].word[j & 3] = round.template code<kWay>(x[j], 0, rare); });
    } else {
      RandomWords words{};
      const kernel::Environment& e = run.environment.environment;
      if (kMayDraw && round.draws) words = random_words(e, step, 0, first, round.random_bits, kGroup);
      for (unsigned k = 0; k < 4; ++k)
        result[0].word[k] =
            round.template codes<kWay>(x[2 * k], x[2 * k + 1], words.word[2 * k], words.word[2 * k + 1], rare);
    }
    if (rare) return true;
    Quad* const to = reinterpret_cast<Quad*>(static_cast<unsigned char*>(out) + first * kOutBytes);
    for (unsigned k = 0; k < kOutBytes / 2; ++k) to[k] = result[k];
    return false;
  }

  SOFTAMP_HD __attribute__((noinline)) void elements(uint64_t first, uint32_t step) const {
    const kernel::Environment& e = run.environment.environment;
    const uint64_t end = run.size - first < kGroup ? run.size : first + kGroup;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (uint64_t i = first; i < end; ++i) {
      const uint64_t code = load_element(in, kBytes, i);
      const uint32_t random = round.draws ? random_word(e, step, 0, i, round.random_bits) : 0;
      bool rare = false;
      Rounded r{round.template code<kWay>(value_of<kSource>(static_cast<uint32_t>(code)), random, rare), 0};
      if (rare) r = body(&code, e, random, i);
      store_element(out, kOutBytes, i, r.code);
      raise_status(run.status, r.flags, i);
    }
  }
};

class CastKernel final : public ElementKernel {
 public:
  explicit CastKernel(const OpContext& context, Device&)
      : ElementKernel(context, 1), source_(context.inputs[0].dtype), target_(context.node.outputs[0].dtype) {
    const Semantics& s = context.settings.environment.semantics;
    body_ = {engine::cast_end(source_), engine::cast_end(target_)};
    draws_ = engine::cast_draws(body_.from, body_.to, s);
    random_bits_ = s.rounding(body_.to.format).random_bits;
    if (!is_short(source_) && !(source_ == DType::kFloat32 && is_short(target_))) return;
    if (!is_short(target_) && target_ != DType::kFloat32) return;
    // An exact conversion raises flags only for rare elements, so a widening is fast even if flags are wanted.
    for (const bool status : {false, true})
      round_[status] =
          FastRound::of(body_.to.format, s, status && target_ != DType::kFloat32, source_ == DType::kFloat32);
  }

  void enqueue(const DeviceCall& call) const override {
    if (source_ == target_) {
      if (call.in[0] != call.out[0]) call.device.copy(call.out[0], call.in[0], size() * operands().bytes(0));
      return;
    }
    const FastRound& round = round_[call.status != nullptr];
    if (!round.usable) return general(call);
    switch (source_) {
      case DType::kFloat32: return fast<Source::kFloat>(call, round);
      case DType::kFloat16: return fast<Source::kHalf>(call, round);
      default: return fast<Source::kBf16>(call, round);
    }
  }

 private:
  static bool is_short(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

  void general(const DeviceCall& call) const {
    ElementBodies<CastBody> kernel{};
    kernel.body = body_;
    kernel.in[0] = GroupOperand(call.in[0], operands().bytes(0), operands().map(0));
    kernel.out = call.out[0];
    kernel.out_bytes = static_cast<unsigned>(size_of(target_));
    kernel.draws = draws_;
    kernel.random_bits = random_bits_;
    kernel.site = 0;
    kernel.run.size = size();
    kernel.run.environment = call.environment;
    kernel.run.status = call.status;
    call.device.launch("cast", group_grid(call.device, size()), kernel);
  }

  template <Source kSource>
  void fast(const DeviceCall& call, const FastRound& round) const {
    switch (round.way) {
      case Way::kHalfNearest:
        if constexpr (kSource != Source::kHalf) return fast<kSource, Way::kHalfNearest>(call, round);
        break;
      case Way::kHalfCarry:
        if constexpr (kSource != Source::kHalf) return fast<kSource, Way::kHalfCarry>(call, round);
        break;
      case Way::kBf16Nearest:
        if constexpr (kSource != Source::kBf16) return fast<kSource, Way::kBf16Nearest>(call, round);
        break;
      case Way::kBf16Carry:
        if constexpr (kSource != Source::kBf16) return fast<kSource, Way::kBf16Carry>(call, round);
        break;
      case Way::kFloat:
        if constexpr (kSource != Source::kFloat) return fast<kSource, Way::kFloat>(call, round);
        break;
      case Way::kNone: break;
    }
    general(call);
  }
  template <Source kSource, Way kWay>
  void fast(const DeviceCall& call, const FastRound& round) const {
    using Kernel = FastCast<kSource, kWay>;
    const bool vectors =
        detail::aligned_groups(call.in[0], Kernel::kBytes) && detail::aligned_groups(call.out[0], Kernel::kOutBytes);
    call.device.launch("cast fast", at_once_grid(call.device, size(), Kernel::kMostThreads),
                       Kernel{body_, round, call.in[0], call.out[0], vectors, size(), call.environment, call.status});
  }

  DType source_, target_;
  CastBody body_{};
  int random_bits_ = 0;
  FastRound round_[2];  ///< without and with flags
};

}  // namespace

std::span<const KernelEntry> cast_kernels() {
  static constexpr KernelEntry entries[] = {{"Cast", make_kernel<CastKernel>}};
  return entries;
}

}  // namespace softamp::cuda
