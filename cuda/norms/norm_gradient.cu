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
  /// dy, or in layer and group normalisation RN(dy gamma).
  SOFTAMP_HD float arriving(Steps& steps, uint64_t i, uint64_t channel, bool weighted) const {
    const float g = dy.enter(steps, i, semantics());
    return weighted ? steps.mul(g, gamma.enter(steps, channel, semantics())) : g;
  }
};

/// Sums of dy and of dy h: over groups (in batch normalisation the channels), or over channels, with the groups' terms
/// known. Flags: bits 7..0 of the first sum, 15..8 of the second.
struct GradientSums {
  using Value = TwoSums;
  Gradient n;
  bool by_channel;

  struct Cursor {
    const GradientSums& s;
    uint64_t output;
    float mean, inverse;

    SOFTAMP_HD TwoSums term(uint64_t k, uint32_t& flags) const {
      const Gradient& n = s.n;
      NormPlaces::Element at{};
      float m = mean, i = inverse;
      if (s.by_channel) {
        at = {k * n.places.shape.channels + output, output};
        const GroupTerms& of = n.terms[n.places.group_of(k, output)];
        m = of.mean;
        i = of.inverse;
      } else {
        at = n.places.element(output, k);
      }
      Steps first, second;
      const float g = n.arriving(first, at.place, at.channel, !s.by_channel && !n.batch());
      const float h = kernel::detail::normalised_of(second, n.x.enter(second, at.place, n.semantics()), m, i);
      const TwoSums two{g, second.mul(g, h)};
      flags |= static_cast<uint32_t>(first.flags) | static_cast<uint32_t>(second.flags) << 8;
      return two;
    }
  };
  SOFTAMP_HD Cursor at(uint64_t output) const {
    if (by_channel) return {*this, output, 0, 0};
    Steps ignored;  // they count once per group, at the end
    return {*this, output, n.mean.enter(ignored, output, n.semantics()), n.inverse_of(ignored, output)};
  }
  SOFTAMP_HD TwoSums add(TwoSums a, TwoSums b, uint64_t, uint64_t, uint32_t& flags) const {
    Steps first, second;
    const TwoSums sum{first.add(a.first, b.first), second.add(a.second, b.second)};
    flags |= static_cast<uint32_t>(first.flags) | static_cast<uint32_t>(second.flags) << 8;
    return sum;
  }
  SOFTAMP_HD TwoSums empty() const { return {0, 0}; }
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
    launch_tree_sum(call, "norm_group_sums", places_.groups(), scratch, GradientSums{n, false},
                    GradientFinish{n, false});
    if (n_.kind != NormKind::kBatch)
      launch_tree_sum(call, "norm_channel_sums", places_.channels(), scratch, GradientSums{n, true},
                      GradientFinish{n, true});
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
