// FusedBatchNormV3, LayerNorm, GroupNorm: sums over groups; the values that each group gets from them; the elements.
#include "cuda/norms/norm_forward.h"

namespace softamp::cuda {
namespace {

/// fp32 statistics of groups.
struct MomentSums {
  using Value = TwoSums;
  using Codes = Singles<uint32_t>;
  using Ahead = CodeQueue;
  static constexpr unsigned kLeastBlocks = 5, kAhead = 4;
  Forward f;
  Pass pass;

  SOFTAMP_HD uint64_t base(uint64_t group) const { return f.places.base(group); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const { f.load(e, k, codes); }
  SOFTAMP_HD float at(uint64_t group) const { return pass == Pass::kDeviations ? f.mean[group] : 0; }
  SOFTAMP_HD TwoSums term(float mean, Codes& codes, uint64_t, uint64_t, uint32_t& flags) const {
    Steps steps;
    const float x = f.x.enter_code(steps.flags, codes.take(), f.semantics());
    TwoSums two{x, 0};
    if (pass != Pass::kMean) {
      const float d = pass == Pass::kDeviations ? steps.sub(x, mean) : x;
      two.second = steps.mul(d, d);
      if (pass == Pass::kDeviations) two.first = 0;
    }
    flags |= steps.flags;
    return two;
  }
  SOFTAMP_HD TwoSums add(TwoSums a, TwoSums b, uint64_t, uint64_t, uint32_t& flags) const {
    Steps steps;
    const TwoSums sum{steps.add(a.first, b.first), steps.add(a.second, b.second)};
    flags |= steps.flags;
    return sum;
  }
  SOFTAMP_HD TwoSums empty() const { return {0, 0}; }

  /// One way for all passes: what a pass does not want of it is left out at the end.
  struct Fast : TwoSumsFast {
    float mean[kGroup];
  };
  SOFTAMP_PRIMITIVE void load_vectors(const Eight& e, uint64_t k, CodeQueue& codes) const {
    codes.load(f.x, f.places.within(e.base, k), kGroup, true);
  }
  SOFTAMP_PRIMITIVE Fast fast(const Eight& e, uint64_t) const {
    Fast s;
    for_group([&](unsigned j) { s.mean[j] = at(e.output + (e.columns ? j : 0)); });
    return s;
  }
  SOFTAMP_PRIMITIVE void fold(Fast& s, const Eight&, const CodeQueue& codes, uint64_t) const {
    float x[kGroup];
    codes.values(f.x, x, s.rare);
    for_group([&](unsigned j) {
      const float d = sub_rn(x[j], s.mean[j]);
      s.add(j, x[j], mul_rn(d, d));
    });
  }
  SOFTAMP_PRIMITIVE bool settled(const Fast& s) const {
    return !s.rare && (pass == Pass::kDeviations || !any_not_finite(s.first)) &&
           (pass == Pass::kMean || !any_not_finite(s.second));
  }
  SOFTAMP_PRIMITIVE TwoSums sum(const Fast& s, unsigned j) const {
    return {pass == Pass::kDeviations ? 0 : s.first[j], pass == Pass::kMean ? 0 : s.second[j]};
  }
};

/// The end of a pass over groups.
struct MomentsFinish {
  Forward f;
  Pass pass;

  SOFTAMP_HD void operator()(uint64_t g, TwoSums sums, uint32_t flags) const {
    Steps steps;
    steps.flags = static_cast<uint8_t>(flags);
    const float n = kernel::count_of(f.size());
    if (pass == Pass::kMean) {
      f.mean[g] = steps.div(sums.first, n);
      f.flags[g] = steps.flags;
      return;
    }
    const bool stable = pass == Pass::kDeviations;
    if (stable) steps.flags = static_cast<uint8_t>(steps.flags | f.flags[g]);
    const float mean = stable ? f.mean[g] : steps.div(sums.first, n);
    f.settle(g, kernel::moments_of(steps, mean, sums.second, f.size(), stable), steps);
  }
};

/// Batch normalisation by statistics that are given.
struct GivenMoments {
  Forward f;

  SOFTAMP_HD uint8_t operator()(uint64_t c) const {
    Steps steps;
    const Moments m{steps.enter(f.old_mean, c, f.semantics()), steps.enter(f.old_variance, c, f.semantics())};
    f.settle(c, m, steps);
    return 0;
  }
};

/// y of element i before its rounding.
struct Normalised {
  Forward f;

  SOFTAMP_HD uint64_t flag_index(uint64_t i) const { return i; }
  struct Place {
    NormPlaces::Cell cell;
    float mean, inverse;
  };
  SOFTAMP_HD Place place(uint64_t i) const {
    const NormPlaces::Cell cell = f.places.cell(i);
    return {cell, f.mean[cell.group], f.inverse[cell.group]};
  }
  SOFTAMP_PRIMITIVE void next(Place& p) const {
    if (f.places.next(p.cell)) p.mean = f.mean[p.cell.group], p.inverse = f.inverse[p.cell.group];
  }
  SOFTAMP_PRIMITIVE float operator()(const OutputOperands& x, const Place& p, Steps& steps) const {
    const float h = kernel::detail::normalised_of(steps, x(0, steps), p.mean, p.inverse);
    return steps.fma(h, x.of(f.gamma, p.cell.channel, steps), x.of(f.beta, p.cell.channel, steps));
  }
};

class NormForward final : public OpKernel {
 public:
  NormForward(const OpContext& c, Device&)
      : n_(c),
        places_{n_.kind, n_.shape},
        x_(n_.type, c.settings.environment.semantics),
        parameters_(n_.parameters, c.settings.environment.semantics) {}

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }
  size_t scratch_bytes() const override { return 4 * groups_bytes() + tree_scratch_bytes<TwoSums>(places_.groups()); }

  void enqueue(const DeviceCall& call) const override {
    const Forward f = operands(call);
    void* const scratch = static_cast<char*>(call.scratch) + 4 * groups_bytes();
    const auto sums = [&](Pass pass) {
      if (n_.options.half_statistics)
        launch_half_moments(call, f, pass, scratch);
      else
        launch_tree_sum(call, "norm_moments", places_.groups(), places_.fit(f.x), scratch, MomentSums{f, pass},
                        MomentsFinish{f, pass});
    };
    if (!n_.training) {
      launch_elements(call, "norm_given", n_.shape.channels, GivenMoments{f});
    } else if (n_.options.half_statistics || n_.options.stable) {
      sums(Pass::kMean);
      sums(n_.options.stable ? Pass::kDeviations : Pass::kSquares);
    } else {
      sums(Pass::kBoth);
    }
    const Writer y(n_.type, f.environment.environment.semantics, call.status != nullptr);
    launch_rounding(call, "norm", n_.shape.rows * n_.shape.channels, 0, y.on(call.out[0]), f.x, Reader(),
                    Normalised{f});
  }

 private:
  size_t groups_bytes() const { return (n_.shape.groups() * sizeof(float) + 255) / 256 * 256; }

  Forward operands(const DeviceCall& call) const {
    Forward f{};
    f.places = places_;
    f.options = n_.options;
    f.training = n_.training;
    f.factor = n_.factor;
    f.x = x_.on(call.in[0]);
    f.gamma = parameters_.on(call.in[1]);
    f.beta = parameters_.on(call.in[2]);
    f.environment = call.environment;
    f.status = call.status;
    f.outputs[0] = {call.out[1], n_.second()};
    f.outputs[1] = {call.out[2], n_.second()};
    if (n_.kind == NormKind::kBatch) {
      f.old_mean = {call.in[3], format_of(n_.parameters)};
      f.old_variance = {call.in[4], format_of(n_.parameters)};
      f.outputs[2] = {call.out[3], DType::kFloat32};
      f.outputs[3] = {call.out[4], DType::kFloat32};
    }
    char* const scratch = static_cast<char*>(call.scratch);
    f.mean = reinterpret_cast<float*>(scratch);
    f.inverse = reinterpret_cast<float*>(scratch + groups_bytes());
    f.flags = reinterpret_cast<uint32_t*>(scratch + 2 * groups_bytes());
    f.half_mean = reinterpret_cast<uint32_t*>(scratch + 3 * groups_bytes());
    return f;
  }

  engine::NormNode n_;
  NormPlaces places_;
  Reader x_, parameters_;
};

}  // namespace

std::unique_ptr<OpKernel> make_norm(const OpContext& c, Device& device) {
  return std::make_unique<NormForward>(c, device);
}

}  // namespace softamp::cuda
