// Updates of optimizers: one launch per variable, which reads and writes everything once.
#include "cuda/optimizers/optimizer.h"

#include "cuda/element_group.h"
#include "cuda/optimizers/update_math.h"
#include "cuda/tile_words.h"
#include "softamp/engine/optimizer_node.h"

namespace softamp::cuda {
namespace {

using kernel::Update;
using kernel::Updated;
using kernel::UpdateOperands;
using kernel::UpdateRates;

/// Tiles (tile_words.h): random words first, then the elements. A kernel for each rule, so that none has the registers
/// of all of them.
// implements: N244
template <Update kUpdate>
struct UpdateElements {
  static constexpr unsigned kAtOnce = 4;       ///< elements that a thread loads before it works on the first
  static constexpr unsigned kLeastBlocks = 2;  ///< of 256 threads
  static constexpr uint32_t kSlots = kernel::slots_of(kUpdate);

  engine::UpdateArrays arrays;
  kernel::UpdateRule rule;
  FastSite site[3];
  bool fast;             ///< false: the body computes everything
  uint32_t flush_below;  ///< fp32 operands below become zeros of their sign
  uint64_t size;
  StepEnvironment environment;
  DeviceStatus* status;

  struct Constants {
    UpdateLane rate, decay;
  };

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    uint32_t* words[3] = {};
    const bool apply = *arrays.apply != 0;
    if (fast)
      for_each_of<kSlots + 1>([&](unsigned k) {
        if (site[k].round.draws) words[k] = block.template shared<uint32_t>(kTileWords);
      });
    for (uint64_t base = uint64_t{block.index()} * kTile; base < size; base += uint64_t{block.blocks()} * kTile) {
      block.each([&](unsigned t) {
        if (!apply || !fast) return;
        for_each_of<kSlots + 1>([&](unsigned k) {
          if (words[k])
            draw_words(words[k], environment.environment, *environment.step, k, site[k].round.random_bits, base, size,
                       t);
        });
      });
      block.each([&](unsigned t) {
        if (!apply) return keep(base, t);
        uint32_t left = fast ? 0 : (1u << kTileRounds) - 1;  // bit n: round n's element is for the body
        if (fast) left = quick_rounds(base, t, words);
        for (unsigned n = 0; left >> n; ++n)
          if (left >> n & 1) by_body(base + n * kTileThreads + t);
      });
    }
  }

 private:
  static SOFTAMP_PRIMITIVE unsigned of_tile(unsigned round, unsigned t) { return round * kTileThreads + t; }

  /// A step that is skipped hands on the old values.
  SOFTAMP_PRIMITIVE void keep(uint64_t base, unsigned t) const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (unsigned n = 0; n < kTileRounds; ++n) {
      const uint64_t i = base + of_tile(n, t);
      if (i >= size) return;
      const UpdateOperands x = arrays.operands(rule, i);
      arrays.put(rule, i, {{x.var, x.slot[0], x.slot[1]}, 0});
    }
  }

  /// The rounds whose elements are rare, which are not written.
  SOFTAMP_PRIMITIVE uint32_t quick_rounds(uint64_t base, unsigned t, uint32_t* const (&words)[3]) const {
    const UpdateRates rates = arrays.rates();
    const Constants constants{enter_rate(rates.rate), enter_rate(rates.decay)};
    uint32_t left = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (unsigned n = 0; n < kTileRounds; n += kAtOnce) {
      if (base + of_tile(n, t) >= size) break;
      UpdateOperands x[kAtOnce];
      for_each_of<kAtOnce>([&](unsigned k) {
        if (const uint64_t i = base + of_tile(n + k, t); i < size) x[k] = operands(i);
      });
      for_each_of<kAtOnce>([&](unsigned k) {
        const unsigned in_tile = of_tile(n + k, t);
        if (base + in_tile >= size) return;
        Updated u{{x[k].var, x[k].slot[0], x[k].slot[1]}, 0};
        bool rare = false;
        quick(
            x[k], constants, [&](unsigned s) { return words[s] ? words[s][word_place(in_tile)] : 0; }, u, rare);
        if (rare)
          left |= 1u << (n + k);
        else
          put(base + in_tile, u);
      });
    }
    return left;
  }

  // As UpdateArrays has them, for the slots of this rule.
  SOFTAMP_PRIMITIVE UpdateOperands operands(uint64_t i) const {
    UpdateOperands x;
    x.var = code_of(arrays.var, rule.var, i);
    for_each_of<kSlots>([&](unsigned k) { x.slot[k] = code_of(arrays.slot[k], rule.slot, i); });
    x.grad = code_of(arrays.grad, rule.grad, i);
    return x;
  }
  SOFTAMP_PRIMITIVE void put(uint64_t i, const Updated& u) const {
    for_each_of<kSlots + 1>([&](unsigned k) {
      const FloatFormat& f = k == 0 ? rule.var : rule.slot;
      if (f.precision == 24)
        static_cast<uint32_t*>(arrays.out[k])[i] = static_cast<uint32_t>(u.code[k]);
      else
        static_cast<uint16_t*>(arrays.out[k])[i] = static_cast<uint16_t>(u.code[k]);
    });
  }
  static SOFTAMP_PRIMITIVE uint64_t code_of(const void* array, const FloatFormat& f, uint64_t i) {
    return f.precision == 24 ? static_cast<const uint32_t*>(array)[i] : static_cast<const uint16_t*>(array)[i];
  }

  SOFTAMP_HD __attribute__((noinline)) void by_body(uint64_t i) const {
    if (i >= size) return;
    const Updated u = kernel::updated(rule, arrays.rates(), arrays.operands(rule, i), environment.now(), i);
    arrays.put(rule, i, u);
    raise_status(status, u.flags, i);
  }

  SOFTAMP_PRIMITIVE UpdateLane enter_rate(uint64_t code) const {
    bool ignored = false;
    return enter(FloatFormat::fp32(), code, ignored);
  }
  /// An operand's value; sets `rare` if it is not finite.
  SOFTAMP_PRIMITIVE UpdateLane enter(const FloatFormat& f, uint64_t code, bool& rare) const {
    auto bits = static_cast<uint32_t>(code);
    if (f.precision == 24) {
      if ((bits & 0x7FFFFFFFu) < flush_below) bits &= 0x80000000u;
    } else {
      bits = bits_of(f.precision == 11 ? float_of_half(bits) : float_of_bf16(bits));
    }
    rare |= (bits & 0x7F800000u) == 0x7F800000u;
    return {static_cast<double>(from_bits(bits))};
  }

  /// The formulas of kernel/optimizers.h's `updated`.
  template <class Word>
  SOFTAMP_PRIMITIVE void quick(const UpdateOperands& x, const Constants& c, const Word& word, Updated& u,
                               bool& rare) const {
    namespace formula = kernel::update;
    const UpdateLane var = enter(rule.var, x.var, rare), grad = enter(rule.grad, x.grad, rare);
    const UpdateLane share{static_cast<double>(rule.share)}, second{static_cast<double>(rule.second_share)};
    const UpdateLane epsilon{static_cast<double>(rule.epsilon)};
    const UpdateLane from = rule.rounding == kernel::WeightRounding::kStep ? UpdateLane{0.0} : var;
    const auto rest = [](UpdateLane s) { return UpdateLane{1.0} + -s; };
    const auto old = [&](unsigned k) { return enter(rule.slot, x.slot[k], rare); };
    const auto stored = [&](unsigned k, const formula::Sum<UpdateLane>& sum) {
      u.code[k] = site[k].code(sum, word(k), rare);
      return k == 0 ? UpdateLane{0.0} : enter(rule.slot, u.code[k], rare);
    };
    if constexpr (kUpdate == Update::kGradientDescent) {
      stored(0, formula::fused(-c.rate, grad, from));
    } else if constexpr (kUpdate == Update::kMomentum || kUpdate == Update::kNesterov) {
      const UpdateLane accum = stored(1, formula::fused(share, old(0), grad));
      stored(0, kUpdate == Update::kMomentum ? formula::fused(-c.rate, accum, from)
                                             : formula::nesterov(from, c.rate, grad, share, accum));
    } else if constexpr (kUpdate == Update::kRmsProp) {
      const UpdateLane square = stored(1, formula::mean_square(share, old(0), rest(share), grad));
      const UpdateLane mom = stored(2, formula::scaled_step(second, old(1), c.rate, grad, square, epsilon));
      stored(0, formula::fused(UpdateLane{-1.0}, mom, from));
    } else if constexpr (kUpdate == Update::kCompensated) {
      const auto rounded = [&](unsigned k, UpdateLane a, UpdateLane b) {
        u.code[k] = site[k].code({a, b}, 0, rare);
        return enter(rule.var, u.code[k], rare);
      };
      const UpdateLane y = rounded(0, grad, -old(0)), sum = rounded(0, var, y);
      rounded(1, rounded(1, sum, -var), -y);
    } else {
      static_assert(kUpdate == Update::kAdam);
      const UpdateLane mean = stored(1, formula::mean(share, old(0), rest(share), grad));
      const UpdateLane square = stored(2, formula::mean_square(second, old(1), rest(second), grad));
      stored(0, formula::adam(from, var, c.rate, mean, square, epsilon, c.decay));
    }
  }
};

class UpdateKernel final : public OpKernel {
 public:
  UpdateKernel(const OpContext& c, Device&) : n_(c), semantics_(c.settings.environment.semantics) {
    const Semantics& s = semantics_;
    // How operands are read if at most their subnormals are changed.
    enters_ =
        s.usual() && s.operand_flush_sign == FlushSign::kSame && s.wide.subnormals != Subnormals::kFlushToPositive;
    if (s.wide_operands_flushed || s.wide.subnormals != Subnormals::kKeep) flush_below_ = 0x00800000u;
  }

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site, semantics_); }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment&, uint64_t index) const override {
    return n_.operands_at(in, index);
  }

  void enqueue(const DeviceCall& call) const override {
    if (n_.size == 0) return;
    switch (n_.rule.update) {
      case Update::kGradientDescent: return put<Update::kGradientDescent>(call);
      case Update::kMomentum: return put<Update::kMomentum>(call);
      case Update::kNesterov: return put<Update::kNesterov>(call);
      case Update::kRmsProp: return put<Update::kRmsProp>(call);
      case Update::kAdam: return put<Update::kAdam>(call);
      case Update::kCompensated: return put<Update::kCompensated>(call);
    }
  }

 private:
  template <Update kUpdate>
  void put(const DeviceCall& call) const {
    UpdateElements<kUpdate> update{{n_, call.in, call.out}, n_.rule,    {}, enters_, flush_below_, n_.size,
                                   call.environment,        call.status};
    Grid grid = loop_grid(call.device, (n_.size + kTileRounds - 1) / kTileRounds, kTileThreads);
    for (uint32_t k = 0; k < n_.sites(); ++k) {
      update.site[k] = FastSite::of(n_.format_of_site(k), n_.semantics_of_site(k, semantics_), call.status != nullptr);
      update.fast = update.fast && update.site[k].usable;
      if (update.site[k].round.draws) grid.shared += shared_of<uint32_t>(kTileWords);
    }
    call.device.launch("update", grid, update);
  }

  engine::UpdateNode n_;
  Semantics semantics_;
  bool enters_;
  uint32_t flush_below_ = 0;
};

}  // namespace

std::span<const KernelEntry> optimizer_kernels() {
  static constexpr KernelFactory update = make_kernel<UpdateKernel>;
  static constexpr KernelEntry entries[] = {
      {"ApplyGradientDescent", update}, {"ApplyMomentum", update},      {"ApplyRMSProp", update}, {"ApplyAdam", update},
      {"ApplyCompensated", update},     {"AllFinite", make_all_finite},
  };
  return entries;
}

}  // namespace softamp::cuda
