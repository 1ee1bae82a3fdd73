// Updates of optimizers.
#include "softamp/engine/optimizer_node.h"

#include <algorithm>
#include <cstring>

#include "emu/bulk/dispatch.h"
#include "emu/bulk/unusual.h"
#include "emu/elementwise/element_ways.h"
#include "emu/optimizers/optimizer_kernels.h"
#include "emu/parallel.h"
#include "emu/reductions/reduction_kernels.h"
#include "emu/stop_check.h"

namespace softamp::emu {
namespace {

using kernel::Update;

constexpr size_t kUpdateBlock = 512;  ///< elements whose operands, values and codes stay in the first-level cache
constexpr size_t kUpdateStreamFrom = size_t{16} << 20;  ///< bytes of all tensors from which stores bypass the caches
constexpr uint8_t kExactOnly = kInexact | kUnderflow;

/// How the values of a site are computed and rounded.
struct SiteWay {
  Leaves leaves = Leaves::kOdd64;
  Way way{};  ///< none where the values of kFp32 are the results
};
struct SiteWays {
  SiteWay silent, telling;  ///< the latter while inexact or underflow is sought
};

SiteWay rounded_way(Leaves leaves, const FloatFormat& f, const Semantics& s, bulk::InstructionSet isa) {
  return {leaves, staged(nullptr, leaves == Leaves::kOdd64 ? Element::kF64 : Element::kF32, f, s, isa)};
}

/// False if only the body supports it.
bool find_ways(SiteWays& ways, DType type, const Semantics& s, bulk::InstructionSet isa) {
  const FloatFormat f = format_of(type);
  const RoundingPolicy& p = s.rounding(f);
  const bool after_rounding = p.overflow_rule == OverflowRule::kAfterRounding;
  if (!odd_double_serves(f, p) || !only_bits_lie_elsewhere(p)) return false;
  ways.telling = ways.silent = rounded_way(Leaves::kOdd64, f, s, isa);
  if (type == DType::kFloat32 && p.mode == RoundingMode::kNearestEven && after_rounding) {
    ways.silent = {Leaves::kFp32, {}};
    if (!(p.flags & kExactOnly)) ways.telling = ways.silent;
  }
  if (type == DType::kFloat16 && !p.stochastic()) ways.telling = ways.silent = rounded_way(Leaves::kOdd32, f, s, isa);
  if (type == DType::kFloat16 && p.stochastic() && p.variant == StochasticVariant::kCarry && p.usual() &&
      p.random_bits <= 13 && after_rounding)
    ways.silent = rounded_way(Leaves::kTruncated, f, s, isa);
  return true;
}

/// The sum of two halves, rounded to fp32 and then to nearest even to a half, is rounded as if once: 24 bits are at
/// least 2 p + 2 (Figueroa 1995), and subnormal sums are exact. Only what inexact tells is lost.
void round_sums_by_way_of_fp32(SiteWays& ways, DType type, const Semantics& s, bulk::InstructionSet isa) {
  const FloatFormat f = format_of(type);
  const RoundingPolicy& p = s.rounding(f);
  if (f.storage_bits() != 16 || p.subnormals != Subnormals::kKeep || p.overflow_rule != OverflowRule::kAfterRounding)
    return;
  ways.silent = rounded_way(Leaves::kFp32, f, s, isa);
  if (!(p.flags & kExactOnly)) ways.telling = ways.silent;
}

class UpdateKernel final : public OpKernel {
 public:
  explicit UpdateKernel(const OpContext& c)
      : n_(c), semantics_(c.settings.environment.semantics), threads_(c.settings.threads) {
    const Semantics& s = semantics_;
    const bulk::InstructionSet isa = c.settings.isa;
    size_t bytes = n_.size * size_of(n_.grad);
    by_body_ = c.settings.reference;
    for (const DType t : {n_.var, n_.slot, n_.grad}) by_body_ = by_body_ || load_of(t, s) == Load::kNone;
    for (uint32_t site = 0; site < n_.sites(); ++site) {
      const DType t = n_.type_of_site(site);
      bytes += 2 * n_.size * size_of(t);
      possible_ = static_cast<uint8_t>(possible_ | possible_flags(s, format_of(t)));
      rounding_[site] = n_.semantics_of_site(site, s);
      if (!by_body_) by_body_ = !find_ways(ways_[site], t, rounding_[site], isa);
      if (!by_body_ && n_.rule.update == Update::kCompensated)
        round_sums_by_way_of_fp32(ways_[site], t, rounding_[site], isa);
    }
    if (c.settings.reference) threads_ = 1;
    if (by_body_) return;
    vectors_ = &updates_of(isa);
    lanes_ = &lanes_of(isa);
    stream_ = bytes > kUpdateStreamFrom;
    if (s.wide_operands_flushed || s.wide.subnormals != Subnormals::kKeep) entering_.flush_below = 0x00800000u;
  }

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site, semantics_); }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment&, uint64_t index) const override {
    return n_.operands_at(in, index);
  }

  void run(const OpCall& call) const override {
    if (*static_cast<const uint8_t*>(call.in[n_.apply]) == 0) return copy(call);
    const engine::UpdateArrays arrays(n_, call.in, call.out);
    const kernel::UpdateRates rates = arrays.rates();
    if (by_body_) {
      parallel_status(n_.size, threads_ == 1 ? n_.size : 2048, 64, threads_, call.status,
                      [&](size_t begin, size_t end, FpStatus* status) {
                        StopCheck check(call.stop);
                        for (size_t i = begin; i < end; ++i) {
                          put_element(call, rates, i, status);
                          check.after(8 * StopCheck::kBody);
                        }
                      });
      return;
    }
    parallel_status(n_.size, 16 * 1024, kUpdateBlock, threads_, call.status,
                    [&](size_t begin, size_t end, FpStatus* status) { piece(call, rates, begin, end, status); });
  }

 private:
  struct Buffers {
    alignas(64) float var[kUpdateBlock], slot[2][kUpdateBlock], grad[kUpdateBlock], fresh[2][kUpdateBlock];
    alignas(64) double values[kUpdateBlock];
    alignas(64) char codes[kUpdateBlock * 4];
    alignas(64) char tail[4][kGroup * 4];
    alignas(64) float zeros[kUpdateBlock];
  };
  /// A run of elements, `valid` of `count` count; and its operands as fp32.
  struct Block {
    uint64_t begin;
    size_t count, valid;
    const float *var, *slot[2], *grad, *from;  ///< from: what a step is subtracted from
  };
  /// Flags that are sought, and findings in a block.
  struct Seen {
    uint8_t wanted = 0, flags = 0;
    uint64_t rare = 0;
  };

  // implements: N244, N281
  void copy(const OpCall& call) const {
    for (uint32_t k = 0; k < n_.sites(); ++k) {
      const size_t bytes = n_.size * size_of(n_.type_of_site(k));
      auto body = [&](size_t begin, size_t end, size_t) {
        std::memcpy(static_cast<char*>(call.out[k]) + begin, static_cast<const char*>(call.in[k]) + begin, end - begin);
      };
      parallel_ranges(bytes, size_t{1} << 18, 4096, threads_, body);
    }
  }

  /// Element i by the body.
  kernel::Updated updated(const OpCall& call, const engine::UpdateArrays& arrays, const kernel::UpdateRates& rates,
                          size_t i) const {
    return kernel::updated(n_.rule, rates, arrays.operands(n_.rule, i), call.environment, i);
  }

  uint8_t put_element(const OpCall& call, const kernel::UpdateRates& rates, size_t i, FpStatus* status) const {
    const engine::UpdateArrays arrays(n_, call.in, call.out);
    const kernel::Updated u = updated(call, arrays, rates, i);
    arrays.put(n_.rule, i, u);
    if (status) status->raise(u.flags, i);
    return u.flags;
  }

  void piece(const OpCall& call, const kernel::UpdateRates& rates, size_t begin, size_t end, FpStatus* status) const {
    Buffers buffers;
    const bool step = n_.rule.rounding == kernel::WeightRounding::kStep;
    if (step) std::memset(buffers.zeros, 0, sizeof buffers.zeros);
    uint8_t wanted = status ? possible_ : uint8_t{0};
    for (size_t at = begin; at < end;) {
      const size_t left = end - at;
      const size_t count = left < kGroup ? kGroup : std::min(left / kGroup * kGroup, kUpdateBlock);
      Block b{at, count, std::min(left, count), nullptr, {nullptr, nullptr}, nullptr, nullptr};
      b.var = operand(call.in[0], n_.var, b, 0, buffers, buffers.var);
      b.from = step ? buffers.zeros : b.var;
      for (uint32_t k = 0; k < n_.slots; ++k)
        b.slot[k] = operand(call.in[1 + k], n_.slot, b, 1 + static_cast<int>(k), buffers, buffers.slot[k]);
      b.grad = operand(call.in[n_.gradient], n_.grad, b, 3, buffers, buffers.grad);
      Seen seen{wanted};
      stages(call, rates, b, buffers, seen);
      if (seen.rare != 0 || (seen.flags & wanted) != 0) [[unlikely]]
        settle(call, rates, b, seen, status, wanted);
      at += b.valid;
    }
  }

  /// Elements of a block as fp32. An incomplete block is filled up with zeros.
  const float* operand(const void* tensor, DType type, const Block& b, int number, Buffers& buffers, float* to) const {
    const size_t bytes = size_of(type);
    const void* from = static_cast<const char*>(tensor) + b.begin * bytes;
    if (b.valid != b.count) {
      std::memcpy(buffers.tail[number], from, b.valid * bytes);
      std::memset(buffers.tail[number] + b.valid * bytes, 0, (b.count - b.valid) * bytes);
      from = buffers.tail[number];
    }
    return entered(from, type, b.count, to);
  }
  const float* entered(const void* codes, DType type, size_t count, float* to) const {
    if (type == DType::kFloat32 && entering_.flush_below == 0) return static_cast<const float*>(codes);
    const LaneMove move = type == DType::kFloat32   ? LaneMove::kFp32ToFp32
                          : type == DType::kFloat16 ? LaneMove::kFp16ToFp32
                                                    : LaneMove::kBf16ToFp32;
    lanes_->move(move)({{codes}, to, count, false, &entering_});
    return to;
  }

  void stages(const OpCall& call, const kernel::UpdateRates& rates, const Block& b, Buffers& buffers,
              Seen& seen) const {
    const auto scalar = [&](uint64_t code) {
      kernel::Steps ignored;
      return static_cast<double>(ignored.enter_code(kFp32, code, semantics_));
    };
    const double rate = scalar(rates.rate), share = n_.rule.share, second = n_.rule.second_share;
    const double epsilon = n_.rule.epsilon;
    const auto stored = [&](uint32_t site, Stage stage, const StageCall& s) {
      return store(call, b, site, stage, s, buffers, seen);
    };
    switch (n_.rule.update) {
      case Update::kGradientDescent: stored(0, Stage::kFused, {{b.grad, b.from}, {-rate}}); break;
      case Update::kMomentum:
      case Update::kNesterov: {
        const float* const accum = stored(1, Stage::kFused, {{b.slot[0], b.grad}, {share}});
        if (n_.rule.update == Update::kMomentum)
          stored(0, Stage::kFused, {{accum, b.from}, {-rate}});
        else
          stored(0, Stage::kNesterov, {{b.from, b.grad, accum}, {rate, share}});
        break;
      }
      case Update::kRmsProp: {
        const float* const ms = stored(1, Stage::kMeanSquare, {{b.slot[0], b.grad}, {share, 1.0 - share}});
        const float* const mom = stored(2, Stage::kScaledStep, {{b.slot[1], b.grad, ms}, {second, rate, epsilon}});
        stored(0, Stage::kFused, {{mom, b.from}, {-1.0}});
        break;
      }
      case Update::kAdam: {
        const float* const m = stored(1, Stage::kMean, {{b.slot[0], b.grad}, {share, 1.0 - share}});
        const float* const v = stored(2, Stage::kMeanSquare, {{b.slot[1], b.grad}, {second, 1.0 - second}});
        const bool step = n_.rule.rounding == kernel::WeightRounding::kStep;
        stored(0, step ? Stage::kAdamStep : Stage::kAdam, {{b.var, m, v}, {rate, epsilon, scalar(rates.decay)}});
        break;
      }
      case Update::kCompensated: {
        const auto made = [&](const float* factor_of, double factor, const float* plus, float* to) {
          return make(call, b, 0, Stage::kFused, {{factor_of, plus}, {factor}}, to, buffers, seen);
        };
        const float* const y = made(b.slot[0], -1.0, b.grad, buffers.fresh[0]);
        const float* const s =
            make(call, b, 0, Stage::kFused, {{y, b.var}, {1.0}}, buffers.fresh[1], buffers, seen, true);
        const float* const moved = made(b.var, -1.0, s, buffers.slot[1]);
        make(call, b, 1, Stage::kFused, {{y, moved}, {-1.0}}, nullptr, buffers, seen, true);
        break;
      }
    }
  }

  /// Makes the values of a site, rounds and stores them. Returns those of a slot as they enter the next stage.
  const float* store(const OpCall& call, const Block& b, uint32_t site, Stage stage, StageCall s, Buffers& buffers,
                     Seen& seen) const {
    // Both slots may still be read while var is computed, and the first slot while the second is.
    float* const fresh = buffers.fresh[site ? site - 1 : 0];
    return make(call, b, site, stage, s, site == 0 ? nullptr : fresh, buffers, seen, true);
  }
  /// The same; values enter the next stage in `fresh`, null: in none, and are put into the site's tensor if `stored`.
  const float* make(const OpCall& call, const Block& b, uint32_t site, Stage stage, StageCall s, float* fresh,
                    Buffers& buffers, Seen& seen, bool stored = false) const {
    const DType type = n_.type_of_site(site);
    const SiteWay& way = seen.wanted & kExactOnly ? ways_[site].telling : ways_[site].silent;
    const RoundingPolicy& policy = rounding_[site].rounding(format_of(type));
    void* codes = fresh && type == DType::kFloat32 ? static_cast<void*>(fresh) : buffers.codes;
    s.count = b.count;
    const bool rounds = way.way.round != nullptr;
    s.out = rounds ? buffers.values : codes;
    s.flush = policy.subnormals == Subnormals::kFlush;
    s.zero_is_rare = policy.mode == RoundingMode::kDown;
    seen.rare |= vectors_->stage[static_cast<size_t>(stage)][static_cast<size_t>(way.leaves)](s);
    if (rounds) {
      const uint32_t* const all = call.environment.table[site].words;
      const BlockWords words(all ? all + b.begin : nullptr, b.count, b.valid);
      const RandomPlan random{call.environment.random, call.environment.operation + site, call.environment.step, 0,
                              nullptr};
      const Slice slice{{buffers.values}, codes, words.data, b.begin, b.count, false};
      const Rounding rounded = round_block(way.way, random, slice, seen.wanted);
      seen.rare |= rounded.rare;
      seen.flags = static_cast<uint8_t>(seen.flags | rounded.flags);
    }
    if (stored) put(call, b, site, codes);
    return fresh ? entered(codes, type, b.count, fresh) : nullptr;
  }

  void put(const OpCall& call, const Block& b, uint32_t site, const void* codes) const {
    const DType type = n_.type_of_site(site);
    char* const out = static_cast<char*>(call.out[site]) + b.begin * size_of(type);
    const size_t bytes = b.valid * size_of(type);
    if (stream_ && b.valid == b.count && reinterpret_cast<uintptr_t>(out) % 64 == 0)
      vectors_->stream(codes, bytes, out);
    else
      std::memcpy(out, codes, bytes);
  }

  /// Computes by the body what vectors leave to it: elements that raise wanted flags, and whole groups.
  void settle(const OpCall& call, const kernel::UpdateRates& rates, const Block& b, const Seen& seen, FpStatus* status,
              uint8_t& wanted) const {
    uint8_t sought = seen.flags & wanted;
    for (size_t i = 0; i < b.valid && sought; ++i) {
      const uint8_t raised = updated(call, {n_, call.in, call.out}, rates, b.begin + i).flags & sought;
      if (!raised) continue;
      status->raise(raised, b.begin + i);
      sought = static_cast<uint8_t>(sought & ~raised);
      wanted = static_cast<uint8_t>(wanted & ~raised);
    }
    for (uint64_t rare = seen.rare; rare; rare &= rare - 1) {
      const size_t first = static_cast<size_t>(__builtin_ctzll(rare)) * kGroup;
      for (size_t i = first; i < std::min(first + kGroup, b.valid); ++i)
        wanted = static_cast<uint8_t>(wanted & ~put_element(call, rates, b.begin + i, status));
    }
  }

  engine::UpdateNode n_;
  Semantics semantics_;
  int threads_;
  bool by_body_ = false, stream_ = false;
  uint8_t possible_ = 0;
  Semantics rounding_[3];  ///< by site
  SiteWays ways_[3];
  LaneParameters entering_;
  const UpdateKernels* vectors_ = nullptr;
  const LaneTable* lanes_ = nullptr;
};

std::unique_ptr<OpKernel> make_update(const OpContext& c) { return std::make_unique<UpdateKernel>(c); }

}  // namespace

std::unique_ptr<OpKernel> make_all_finite(const OpContext& c);  // emu/optimizers/all_finite.cpp

std::span<const KernelEntry> optimizer_kernels() {
  static constexpr KernelEntry kEntries[] = {
      {"ApplyGradientDescent", make_update}, {"ApplyMomentum", make_update},
      {"ApplyRMSProp", make_update},         {"ApplyAdam", make_update},
      {"ApplyCompensated", make_update},     {"AllFinite", make_all_finite},
  };
  return kEntries;
}

}  // namespace softamp::emu
