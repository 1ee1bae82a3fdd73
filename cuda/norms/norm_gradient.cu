// FusedBatchNormGradV3, LayerNormGrad, GroupNormGrad: sums over groups and channels, then the elements.
#include "cuda/norms/norm.h"

namespace softamp::cuda {
namespace {

/// Shared by the elements of a group.
struct GroupTerms {
  float mean, inverse, factor, a, b;
};

/// Parameters of every pass.
struct Gradient {
  NormPlaces places;
  bool training;
  float epsilon;
  Reader dy, x, gamma, mean, variance;
  SmallOutput scale, offset;
  GroupTerms* terms;  ///< by group, in scratch memory
  StepEnvironment environment;
  DeviceStatus* status;

  SOFTAMP_HD const Semantics& semantics() const { return environment.environment.semantics; }
  SOFTAMP_HD bool batch() const { return places.kind == NormKind::kBatch; }
  SOFTAMP_HD float inverse_of(Steps& steps, uint64_t group) const {
    return kernel::inverse_deviation(steps, variance.enter(steps, group, semantics()), epsilon);
  }
};

/// Sums of dy, or in layer and group normalisation RN(dy gamma) over groups, and of that times h: over groups (in batch
/// normalisation the channels), or over channels, with the groups' terms known. Flags: bits 7..0 of the first
/// sum, 15..8 of the second.
struct GradientSums {
  using Value = TwoSums;
  struct Codes {
    Singles<uint32_t> dy, x;
  };
  struct Ahead {
    CodeQueue dy, x;
  };
  static constexpr unsigned kLeastBlocks = 3, kAhead = 3;
  Gradient n;
  bool by_channel;
  NormPlaces places;  ///< of the sums: rows of channels if by_channel

  struct Statistics {
    float mean, inverse;
  };

  SOFTAMP_HD bool weighted() const { return !by_channel && !n.batch(); }
  SOFTAMP_HD uint64_t base(uint64_t output) const { return places.base(output); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const {
    places.load(n.dy, e, k, codes.dy);
    places.load(n.x, e, k, codes.x);
  }
  SOFTAMP_HD Statistics at(uint64_t output) const {
    if (by_channel) return {0, 0};
    Steps ignored;  // they count once per group, at the end
    return {n.mean.enter(ignored, output, n.semantics()), n.inverse_of(ignored, output)};
  }
  SOFTAMP_HD Statistics of_row(uint64_t row, uint64_t channel) const {
    const GroupTerms& of = n.terms[n.places.group_of(row, channel)];
    return {of.mean, of.inverse};
  }
  SOFTAMP_HD TwoSums term(Statistics of, Codes& codes, uint64_t output, uint64_t k, uint32_t& flags) const {
    if (by_channel) of = of_row(k, output);
    Steps first, second;
    float g = n.dy.enter_code(first.flags, codes.dy.take(), n.semantics());
    if (weighted()) g = first.mul(g, n.gamma.enter(first, places.element(output, k).channel, n.semantics()));
    const float x = n.x.enter_code(second.flags, codes.x.take(), n.semantics());
    const float h = kernel::detail::normalised_of(second, x, of.mean, of.inverse);
    const TwoSums two{g, second.mul(g, h)};
    flags |= static_cast<uint32_t>(first.flags) | static_cast<uint32_t>(second.flags) << 8;
    return two;
  }
  SOFTAMP_HD TwoSums add(TwoSums a, TwoSums b, uint64_t, uint64_t, uint32_t& flags) const {
    Steps first, second;
    const TwoSums sum{first.add(a.first, b.first), second.add(a.second, b.second)};
    flags |= static_cast<uint32_t>(first.flags) | static_cast<uint32_t>(second.flags) << 8;
    return sum;
  }
  SOFTAMP_HD TwoSums empty() const { return {0, 0}; }

  struct Fast : TwoSumsFast {
    float mean[kGroup], inverse[kGroup];
  };
  SOFTAMP_PRIMITIVE void load_vectors(const Eight& e, uint64_t k, Ahead& codes) const {
    const uint64_t place = places.within(e.base, k);
    codes.dy.load(n.dy, place, kGroup, true);
    codes.x.load(n.x, place, kGroup, true);
  }
  SOFTAMP_PRIMITIVE Fast fast(const Eight& e, uint64_t) const {
    Fast f;
    Statistics of{};
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (unsigned j = 0; j < kGroup; ++j) {
      if (j == 0 || e.columns) of = at(e.output + j);
      for_each_of<kGroup - 1>([&](unsigned i) { f.mean[i] = f.mean[i + 1], f.inverse[i] = f.inverse[i + 1]; });
      f.mean[kGroup - 1] = of.mean;
      f.inverse[kGroup - 1] = of.inverse;
    }
    return f;
  }
  SOFTAMP_PRIMITIVE void fold(Fast& f, const Eight& e, const Ahead& codes, uint64_t k) const {
    float g[kGroup], x[kGroup];
    codes.dy.values(n.dy, g, f.rare);
    codes.x.values(n.x, x, f.rare);
    if (by_channel) {
      const Statistics of = of_row(k, e.output);  // of all eight: vectors lie within a group
      for_group([&](unsigned j) { f.mean[j] = of.mean, f.inverse[j] = of.inverse; });
    }
    if (weighted()) {
      CodeQueue scale;
      float gamma[kGroup];
      scale.load(n.gamma, places.element(e.output, k).channel, kGroup, true);
      scale.values(n.gamma, gamma, f.rare);
      for_group([&](unsigned j) { g[j] = mul_rn(g[j], gamma[j]); });
    }
    for_group([&](unsigned j) {
      const float h = mul_rn(sub_rn(x[j], f.mean[j]), f.inverse[j]);
      f.add(j, g[j], mul_rn(g[j], h));
    });
  }
  SOFTAMP_PRIMITIVE bool settled(const Fast& f) const {
    return !f.rare && !any_not_finite(f.first) && !any_not_finite(f.second);
  }
  SOFTAMP_PRIMITIVE TwoSums sum(const Fast& f, unsigned j) const { return {f.first[j], f.second[j]}; }
};

struct GradientFinish {
  Gradient n;
  bool by_channel;

  SOFTAMP_HD void operator()(uint64_t output, TwoSums sums, uint32_t flags) const {
    if (!by_channel) group(output, sums, flags);
    if (by_channel || n.batch()) channel(output, sums, flags);
  }

 private:
  SOFTAMP_HD void group(uint64_t g, TwoSums sums, uint32_t flags) const {
    const uint64_t size = n.places.shape.group_size();
    Steps steps;
    GroupTerms t{};
    t.mean = n.mean.enter(steps, g, n.semantics());
    t.inverse = n.inverse_of(steps, g);
    if (n.training) {
      steps.flags = static_cast<uint8_t>(steps.flags | flags | flags >> 8);
      const float count = kernel::count_of(size);
      t.a = steps.div(sums.first, count);
      t.b = steps.div(sums.second, count);
    }
    t.factor = n.batch() ? steps.mul(n.gamma.enter(steps, g, n.semantics()), t.inverse) : t.inverse;
    n.terms[g] = t;
    if (size)
      raise_status(n.status, static_cast<uint8_t>(steps.flags & n.semantics().wide.flags),
                   n.places.element(g, 0).place);
  }
  SOFTAMP_HD void channel(uint64_t c, TwoSums sums, uint32_t flags) const {
    n.scale.put(n.environment, n.status, 1, c, sums.second, static_cast<uint8_t>(flags | flags >> 8), c);
    n.offset.put(n.environment, n.status, 2, c, sums.first, static_cast<uint8_t>(flags), c);
  }
};

/// The gradient of element i of the input, before its rounding.
struct InputGradient {
  Gradient n;

  SOFTAMP_HD uint64_t flag_index(uint64_t i) const { return i; }
  struct Place {
    NormPlaces::Cell cell;
    GroupTerms terms;
  };
  SOFTAMP_HD Place place(uint64_t i) const {
    const NormPlaces::Cell cell = n.places.cell(i);
    return {cell, n.terms[cell.group]};
  }
  SOFTAMP_PRIMITIVE void next(Place& p) const {
    if (n.places.next(p.cell)) p.terms = n.terms[p.cell.group];
  }
  SOFTAMP_PRIMITIVE float operator()(const OutputOperands& x, const Place& p, Steps& steps) const {
    const GroupTerms& t = p.terms;
    float arriving = x(0, steps);
    if (!n.batch()) arriving = steps.mul(arriving, x.of(n.gamma, p.cell.channel, steps));
    if (!n.training) return steps.mul(t.factor, arriving);
    const float h = kernel::detail::normalised_of(steps, x(1, steps), t.mean, t.inverse);
    return kernel::detail::input_gradient_of(steps, arriving, h, t.factor, t.a, t.b);
  }
};

class NormGradient final : public OpKernel {
 public:
  NormGradient(const OpContext& c, Device&)
      : n_(c),
        places_{n_.kind, n_.shape},
        x_(n_.type, c.settings.environment.semantics),
        parameters_(n_.parameters, c.settings.environment.semantics),
        statistics_(DType::kFloat32, c.settings.environment.semantics) {}

  SiteRoundings roundings(uint32_t site) const override { return n_.roundings(site); }
  size_t scratch_bytes() const override {
    return terms_bytes() +
           std::max(tree_scratch_bytes<TwoSums>(places_.groups()), tree_scratch_bytes<TwoSums>(places_.channels()));
  }

  void enqueue(const DeviceCall& call) const override {
    const Gradient n{places_,
                     n_.training,
                     n_.options.epsilon,
                     x_.on(call.in[0]),
                     x_.on(call.in[1]),
                     parameters_.on(call.in[2]),
                     statistics_.on(call.in[3]),
                     statistics_.on(call.in[4]),
                     {call.out[1], n_.parameters},
                     {call.out[2], n_.parameters},
                     static_cast<GroupTerms*>(call.scratch),
                     call.environment,
                     call.status};
    void* const scratch = static_cast<char*>(call.scratch) + terms_bytes();
    const bool batch = n_.kind == NormKind::kBatch;
    const bool vectors = places_.fit(n.dy) && places_.fit(n.x) && (batch || places_.fit(n.gamma));
    launch_tree_sum(call, "norm_group_sums", places_.groups(), vectors, scratch, GradientSums{n, false, places_},
                    GradientFinish{n, false});
    if (!batch) {
      const NormPlaces columns{NormKind::kBatch, n_.shape};
      launch_tree_sum(call, "norm_channel_sums", places_.channels(),
                      places_.together() && columns.fit(n.dy) && columns.fit(n.x), scratch,
                      GradientSums{n, true, columns}, GradientFinish{n, true});
    }
    const Writer dx(n_.type, n.environment.environment.semantics, call.status != nullptr);
    launch_rounding(call, "norm_gradient", n_.shape.rows * n_.shape.channels, 0, dx.on(call.out[0]), n.dy, n.x,
                    InputGradient{n});
  }

 private:
  size_t terms_bytes() const { return (n_.shape.groups() * sizeof(GroupTerms) + 255) / 256 * 256; }

  engine::NormNode n_;
  NormPlaces places_;
  Reader x_, parameters_, statistics_;
};

}  // namespace

std::unique_ptr<OpKernel> make_norm_gradient(const OpContext& c, Device& device) {
  return std::make_unique<NormGradient>(c, device);
}

}  // namespace softamp::cuda
