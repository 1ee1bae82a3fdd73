// Statistics in fp16: every step of them rounded, at addresses of their own (kernel/norms.h).
#include "cuda/norms/norm_forward.h"

namespace softamp::cuda {
namespace {

/// fp16 statistics of groups: codes, rounded at every step.
struct HalfMomentSums {
  using Value = uint32_t;
  Forward f;
  Pass pass;

  SOFTAMP_HD uint32_t site() const { return pass == Pass::kMean ? 1 : 2; }

  struct Cursor {
    const HalfMomentSums& s;
    uint64_t group;
    kernel::Environment environment;
    SOFTAMP_HD uint32_t term(uint64_t k, uint32_t& flags) const {
      uint64_t code = static_cast<const uint16_t*>(s.f.x.data)[s.f.places.element(group, k).place];
      if (s.pass == Pass::kMean) return static_cast<uint32_t>(code);
      Steps steps;
      const kernel::detail::HalfSteps half{steps, environment, group};
      const uint64_t p = s.f.size() + k;
      if (s.pass == Pass::kDeviations) code = half.sub(code, s.f.half_mean[group], 1, p);
      code = half.square(code, 2, p);
      flags |= steps.flags;
      return static_cast<uint32_t>(code);
    }
  };
  SOFTAMP_HD Cursor at(uint64_t group) const { return {*this, group, f.environment.now()}; }
  SOFTAMP_HD uint32_t add(uint32_t a, uint32_t b, uint64_t p, uint64_t group, uint32_t& flags) const {
    constexpr FloatFormat kHalf = FloatFormat::fp16();
    const Rounded r =
        fp::add(kHalf, a, b, f.semantics(), draw_word(f.environment, kHalf, site(), product_index(p, group)));
    flags |= r.flags;
    return static_cast<uint32_t>(r.code);
  }
  SOFTAMP_HD uint32_t empty() const { return 0; }
};

/// The end of a pass over groups.
struct HalfMomentsFinish {
  Forward f;
  Pass pass;

  SOFTAMP_HD void operator()(uint64_t g, uint32_t sum, uint32_t flags) const {
    Steps steps;
    steps.flags = static_cast<uint8_t>(flags);
    const kernel::Environment e = f.environment.now();
    const kernel::detail::HalfSteps half{steps, e, g};
    const uint64_t n = f.size();
    if (pass == Pass::kMean) {
      f.half_mean[g] = static_cast<uint32_t>(half.divide(sum, n, 1, 2 * n));
      f.flags[g] = steps.flags;
      return;
    }
    steps.flags = static_cast<uint8_t>(steps.flags | f.flags[g]);
    const uint64_t mean = f.half_mean[g];
    uint64_t variance = half.divide(sum, n, 2, 2 * n);
    if (pass == Pass::kSquares) variance = half.sub(variance, half.square(mean, 1, n), 2, 2 * n + 1);
    constexpr FloatFormat kHalf = FloatFormat::fp16();
    const Moments m{steps.enter_code(kHalf, mean, f.semantics()), steps.enter_code(kHalf, variance, f.semantics())};
    f.settle(g, m, steps);
  }
};

}  // namespace

void launch_half_moments(const DeviceCall& call, const Forward& f, Pass pass, void* scratch) {
  launch_tree_sum(call, "norm_half_moments", f.places.groups(), scratch, HalfMomentSums{f, pass},
                  HalfMomentsFinish{f, pass});
}

}  // namespace softamp::cuda
