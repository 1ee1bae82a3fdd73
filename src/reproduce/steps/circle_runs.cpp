#include "src/reproduce/steps/circle_runs.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace softamp::reproduce::stepping {
namespace {

/// The rounding sites of a run.
struct CircleSite {
  enum Kind : uint32_t { kStepLength, kProductU, kProductV, kSumU, kSumV };
};

uint32_t circle_site(const CircleRun& run, CircleSite::Kind kind) {
  return site_of(run.format, static_cast<uint32_t>(run.steps_log2), kind);
}

/// 2 pi / 2^steps_log2: the first 64 bits of pi, whose last stands for all that follow.
constexpr Exact step_of(int steps_log2) { return {false, -61 - steps_log2, 0xC90FDAA22168C234u | 1}; }

}  // namespace

CircleEnd run_circle(const CircleRun& run, uint32_t first, uint32_t count, bool trace, int bits, uint64_t seed,
                     JobProgress& progress) {
  const FloatFormat& f = run.format;
  const Semantics semantics = experiment_semantics(run.mode, bits);
  const Paths unit(f, semantics, seed);
  const RandomBits random{seed};
  std::vector<uint16_t> h(count), u(count, static_cast<uint16_t>(fp::from_double(f, 1))), v(count), hv(count),
      hu(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t word =
        semantics.draws(f) ? random.bits(0, circle_site(run, CircleSite::kStepLength), first + i, bits) : 0;
    h[i] = static_cast<uint16_t>(round_and_pack(f, step_of(run.steps_log2), semantics.rounding(f), word).code);
  }
  CircleEnd end;
  const uint32_t steps_a_point = std::max(1u, run.steps() / 2048), steps_a_report = std::max(1u, 100000 / count);
  const auto note = [&] {
    end.trace_u.push_back(fp::to_double(f, u[0]));
    end.trace_v.push_back(fp::to_double(f, v[0]));
  };
  if (trace) note();
  for (uint32_t k = 1; k <= run.steps(); ++k) {
    unit.mul(h, v, hv, {circle_site(run, CircleSite::kProductV), k, first});
    unit.mul(h, u, hu, {circle_site(run, CircleSite::kProductU), k, first});
    unit.add(u, hv, u, {circle_site(run, CircleSite::kSumU), k, first});
    unit.sub(v, hu, v, {circle_site(run, CircleSite::kSumV), k, first});
    if (trace && k % steps_a_point == 0) note();
    if (k % steps_a_report == 0) progress.add(4.0 * count * steps_a_report);
  }
  for (uint32_t i = 0; i < count; ++i) {
    end.h.push_back(fp::to_double(f, h[i]));
    end.u.push_back(fp::to_double(f, u[i]));
    end.v.push_back(fp::to_double(f, v[i]));
  }
  return end;
}

// A step takes z = (u, v) to A z + e, A = [1 h; -h 1], A'A = (1 + h^2) I, and e the roundings' errors, of mean zero
// given z. So E z = A^N z0, which is exact Euler's, and
//   E |z'|^2 = (1 + h^2) E |z|^2 + E |e|^2:
// noise adds to the square of the radius and nothing takes it off again. With Jensen's inequality, twice,
//   |E z| <= E |z| <= sqrt(E |z|^2).
// E |e|^2, M short for E |z|^2 and eps for 2^(1 - p), the greatest share of a number that its quantum is:
//   products  a quantum is at most eps h |u|, or the least there is, m; a variance at most a quarter of its square. Of
//             both: (eps^2 h^2 M + 2 m^2) / 4.
//   sums      s = u + d, d = fl(h v), lies at most |d| from a number of s's grid (u, or the power of two between), so
//             its variance is at most min(q^2 / 4, q |d|), q <= max(eps |s|, m). With E d^2 <= h^2 v^2 + the product's
//             variance P, the first, of both, is at most eps^2 ((1 + h^2) M + P) / 4 + 2 m^2 / 4; the second at most
//             eps E (|u| |d| + |v| |d'| + d^2 + d'^2) + m E (|d| + |d'|) <= eps (sqrt(M D) + D) + m sqrt(2 D),
//             D = h^2 M + P >= E (d^2 + d'^2), by Cauchy and Schwarz, and 2^-r q^2, four times as much of the first,
//             for what r bits cut off.
// Bias: a rounding leaves out less than 2^-r of its quantum, so e's mean is b, |b| <= 2^-r (eps |z'| + eps h |z| + 2
// m), instead of 0. A^k makes what that moves (1 + h^2)^(k / 2) times as long; M' <= (sqrt((1 + h^2) M) + b)^2 + the
// rest.
CircleExpectation expected_circle(const FloatFormat& format, int steps_log2, double h, int bits) {
  const double steps = std::ldexp(1.0, steps_log2), grow = 1 + h * h;
  const double eps = std::ldexp(1.0, 1 - format.precision), least = std::ldexp(1.0, format.min_quantum());
  const double unit = std::ldexp(1.0, -bits);
  CircleExpectation e{};
  e.radius = std::exp(steps / 2 * std::log1p(h * h));
  const double angle = steps * std::atan(h);
  e.u = e.radius * std::cos(angle);
  e.v = -e.radius * std::sin(angle);
  e.square = 1;
  for (double k = 0; k < steps; ++k) {
    const double m = e.square, product = (eps * eps * h * h * m + 2 * least * least) / 4;
    const double moved = h * h * m + product;
    const double far = eps * eps * (grow * m + product) / 4 + least * least / 2;
    const double near = eps * (std::sqrt(m * moved) + moved) + least * std::sqrt(2 * moved) + 4 * unit * far;
    const double left_out = unit * (eps * std::sqrt(m) * (1 + 2 * h) + eps * std::sqrt(product) + 2 * least);
    const double carried = std::sqrt(grow * m) + left_out;
    e.square = carried * carried + product + std::min(far, near);
    e.bias = e.bias * std::sqrt(grow) + left_out;
  }
  return e;
}

}  // namespace softamp::reproduce::stepping
