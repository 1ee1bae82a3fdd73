// Updates of optimizers: one launch per variable, which reads and writes everything once.
#include "cuda/optimizers/optimizer.h"

#include "cuda/optimizers/update_math.h"
#include "cuda/tile_words.h"
#include "softamp/engine/optimizer_node.h"

namespace softamp::cuda {
namespace {

using kernel::Update;
using kernel::Updated;
using kernel::UpdateOperands;
using kernel::UpdateRates;

SOFTAMP_HD __attribute__((noinline)) Updated updated_by_body(const kernel::UpdateRule& u, const UpdateRates& rates,
                                                             const UpdateOperands& x, const kernel::Environment& e,
                                                             uint64_t index) {
  return kernel::updated(u, rates, x, e, index);
}

/// Tiles (tile_words.h): random words first, then the elements.
struct UpdateElements {
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
      for (unsigned k = 0; k < 3; ++k)
        if (site[k].round.draws) words[k] = block.template shared<uint32_t>(kTileWords);
    for (uint64_t base = uint64_t{block.index()} * kTile; base < size; base += uint64_t{block.blocks()} * kTile) {
      block.each([&](unsigned t) {
        if (!apply || !fast) return;
        const kernel::Environment e = environment.now();
        for (unsigned k = 0; k < 3; ++k)
          if (words[k]) draw_words(words[k], e, k, site[k].round.random_bits, base, size, t);
      });
      block.each([&](unsigned t) {
        const UpdateRates rates = arrays.rates();
        const Constants constants{enter_rate(rates.rate), enter_rate(rates.decay)};
        FpStatus seen;
        for (unsigned n = 0; n < kTileRounds; ++n) {
          const unsigned in_tile = n * kTileThreads + t;
          const uint64_t i = base + in_tile;
          if (i >= size) break;
          const UpdateOperands x = arrays.operands(rule, i);
          Updated u{{x.var, x.slot[0], x.slot[1]}, 0};
          if (apply) {
            bool rare = !fast;
            if (fast) {
              const auto word = [&](unsigned k) { return words[k] ? words[k][word_place(in_tile)] : 0; };
              quick(x, constants, word, u, rare);
            }
            if (rare) {
              u = updated_by_body(rule, rates, x, environment.now(), i);
              if (u.flags) seen.raise(u.flags, i);
            }
          }
          arrays.put(rule, i, u);
        }
        merge_status(status, seen);
      });
    }
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
    const auto rest = [](UpdateLane s) { return UpdateLane{1.0} + -s; };
    const auto old = [&](unsigned k) { return enter(rule.slot, x.slot[k], rare); };
    const auto stored = [&](unsigned k, const formula::Sum<UpdateLane>& sum) {
      u.code[k] = site[k].code(sum, word(k), rare);
      return k == 0 ? UpdateLane{0.0} : enter(rule.slot, u.code[k], rare);
    };
    switch (rule.update) {
      case Update::kGradientDescent: stored(0, formula::fused(-c.rate, grad, var)); break;
      case Update::kMomentum:
      case Update::kNesterov: {
        const UpdateLane accum = stored(1, formula::fused(share, old(0), grad));
        stored(0, rule.update == Update::kMomentum ? formula::fused(-c.rate, accum, var)
                                                   : formula::nesterov(var, c.rate, grad, share, accum));
        break;
      }
      case Update::kRmsProp: {
        const UpdateLane square = stored(1, formula::mean_square(share, old(0), rest(share), grad));
        const UpdateLane mom = stored(2, formula::scaled_step(second, old(1), c.rate, grad, square, epsilon));
        stored(0, formula::fused(UpdateLane{-1.0}, mom, var));
        break;
      }
      case Update::kAdam: {
        const UpdateLane mean = stored(1, formula::mean(share, old(0), rest(share), grad));
        const UpdateLane square = stored(2, formula::mean_square(second, old(1), rest(second), grad));
        stored(0, formula::adam(var, c.rate, mean, square, epsilon, c.decay));
        break;
      }
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
    UpdateElements update{{n_, call.in, call.out}, n_.rule,    {}, enters_, flush_below_, n_.size,
                          call.environment,        call.status};
    Grid grid = loop_grid(call.device, (n_.size + kTileRounds - 1) / kTileRounds, kTileThreads);
    for (uint32_t k = 0; k < n_.sites(); ++k) {
      update.site[k] = FastSite::of(n_.format_of_site(k), semantics_, call.status != nullptr);
      update.fast = update.fast && update.site[k].usable;
      if (update.site[k].round.draws) grid.shared += shared_of<uint32_t>(kTileWords);
    }
    call.device.launch("update", grid, update);
  }

 private:
  engine::UpdateNode n_;
  Semantics semantics_;
  bool enters_;
  uint32_t flush_below_ = 0;
};

}  // namespace

std::span<const KernelEntry> optimizer_kernels() {
  static constexpr KernelFactory update = make_kernel<UpdateKernel>;
  static constexpr KernelEntry entries[] = {
      {"ApplyGradientDescent", update}, {"ApplyMomentum", update}, {"ApplyRMSProp", update}, {"ApplyAdam", update},
      {"AllFinite", make_all_finite},
  };
  return entries;
}

}  // namespace softamp::cuda
