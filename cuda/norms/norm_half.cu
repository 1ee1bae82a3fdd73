// Statistics in fp16: every step of them rounded, at addresses of their own (kernel/norms.h).
#include "cuda/norms/norm_forward.h"

namespace softamp::cuda {
namespace {

/// Draws at a launch's environment, which stays where it is.
struct Draws {
  const StepEnvironment& e;
  const Semantics& semantics;

  SOFTAMP_HD explicit Draws(const StepEnvironment& launch) : e(launch), semantics(launch.environment.semantics) {}
  SOFTAMP_HD uint32_t draw(const RoundingPolicy&, uint32_t site, uint64_t index) const {
    return draw_word(e, FloatFormat::fp16(), site, index);
  }
};

/// fp16 statistics of groups: codes, rounded at every step.
struct HalfMomentSums {
  using Value = uint32_t;
  using Codes = Singles<uint32_t>;
  static constexpr unsigned kLeastBlocks = 3, kAhead = 0;
  Forward f;
  Pass pass;

  SOFTAMP_HD uint64_t base(uint64_t group) const { return f.places.base(group); }
  SOFTAMP_PRIMITIVE void load(const Eight& e, uint64_t k, Codes& codes) const { f.load(e, k, codes); }
  SOFTAMP_HD uint32_t at(uint64_t group) const { return pass == Pass::kDeviations ? f.half_mean[group] : 0; }
  SOFTAMP_HD uint32_t term(uint32_t mean, Codes& codes, uint64_t group, uint64_t k, uint32_t& flags) const {
    uint64_t code = codes.take();
    if (pass == Pass::kMean) return static_cast<uint32_t>(code);
    Steps steps;
    const Draws draws(f.environment);
    const kernel::detail::HalfSteps half{steps, draws, group};
    const uint64_t p = f.size() + k;
    if (pass == Pass::kDeviations) code = half.sub(code, mean, 1, p);
    code = half.square(code, 2, p);
    flags |= steps.flags;
    return static_cast<uint32_t>(code);
  }
  SOFTAMP_HD uint32_t add(uint32_t a, uint32_t b, uint64_t p, uint64_t group, uint32_t& flags) const {
    return half_add(a, b, f.environment, pass == Pass::kMean ? 1 : 2, product_index(p, group), flags);
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
    const Draws draws(f.environment);
    const kernel::detail::HalfSteps half{steps, draws, g};
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
  launch_tree_sum(call, "norm_half_moments", f.places.groups(), false, scratch, HalfMomentSums{f, pass},
                  HalfMomentsFinish{f, pass});
}

}  // namespace softamp::cuda
