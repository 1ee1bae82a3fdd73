#include "tests/oracle/tensor_model_elementwise.h"

#include <stdexcept>

#include "tests/ops/element_rows.h"

namespace oracle::model {

Array map(const Array& x, const std::function<Range(const Range&)>& f) {
  Array out(x.shape);
  for (int64_t i = 0; i < out.size(); ++i) out[i] = f(x[i]);
  return out;
}

Array broadcast_map(const Array& x, const Array& y, const std::function<Range(const Range&, const Range&)>& f) {
  const size_t rank = std::max(x.shape.size(), y.shape.size());
  const auto extent = [&](const Array& a, size_t axis) {  // aligned at the right
    const size_t missing = rank - a.shape.size();
    return axis < missing ? int64_t{1} : a.shape[axis - missing];
  };
  std::vector<int64_t> shape(rank);
  for (size_t a = 0; a < rank; ++a) shape[a] = extent(x, a) == 1 ? extent(y, a) : extent(x, a);
  Array out(shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const std::vector<int64_t> index = out.index(i);
    const auto element = [&](const Array& a) {
      const size_t missing = rank - a.shape.size();
      std::vector<int64_t> own;
      for (size_t axis = missing; axis < rank; ++axis) own.push_back(extent(a, axis) == 1 ? 0 : index[axis]);
      return a[a.place(own)];
    };
    out[i] = f(element(x), element(y));
  }
  return out;
}

namespace {

/// The zero of x's sign where an fp32 result of the preset would be subnormal.
Range flushed(Range x, const Mode& mode) {
  if (!mode.ipu || x.nan) return x;
  for (Real* end : {&x.low, &x.high})
    if (std::fabs(*end) < 0x1p-126L) *end = std::copysign(Real{0}, *end);
  return x;
}

}  // namespace

static Range with_steps(const std::string& op, const Range& x, const Range& y, Real alpha, DType t);

Range elementwise(const std::string& op, const Range& x, const Range& y, Real alpha, DType t, const Mode& mode) {
  const auto step = [&](const Range& r) { return mode.ipu && narrow(t) ? flushed(f32(r), mode) : r; };
  if (op == "AddV2" || op == "BiasAdd") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return x * y;
  if (op == "RealDiv") return step(x / y);
  if (op == "Square") return square(x);
  if (op == "Sqrt") return step(square_root(x));
  if (op == "Reciprocal" || op == "Inv") return step(Range(Real{1}) / x);
  if (op == "Rsqrt") {
    if (mode.ipu && narrow(t)) return step(Range(Real{1}) / step(square_root(x)));
    if (t == DType::kFloat64 && !x.nan) {  // root and quotient round each
      const Range root = square_root(x);
      if (root.nan) return root;
      return Range(Real{1}) / Range(nearest(t, root.low), nearest(t, root.high));
    }
    return Range(Real{1}) / square_root(x);
  }

  if (op == "Neg") return -x;
  if (op == "Abs") return x.nan ? x : Range(std::fabs(x.low));
  if (op == "Maximum") return larger(x, y);
  if (op == "Minimum") return smaller(x, y);
  if (op == "Relu") return larger(x, Real{0});
  if (op == "Relu6") return smaller(larger(x, Real{0}), Real{6});
  if (op == "ReluGrad") return !y.nan && y.low > 0 ? x : Range(Real{0});  // gradients, features

  const Range r = with_steps(op, x, y, alpha, t);
  if (t == DType::kFloat64) return r;
  // An infinity that a step makes of numbers is an overflow of the operation, unless it divided by zero.
  const bool finite = x.magnitude() < kInfinity && y.magnitude() < kInfinity;
  const bool pole = op == "SqrtGrad" && x.low == 0;
  if (!r.nan && finite && !pole && std::isinf(r.low)) return std::copysign(0x1p1000L, r.low);
  return r;
}

/// Formulas whose steps round to fp32, of float64 to binary64.
Range with_steps(const std::string& op, const Range& x, const Range& y, Real alpha, DType t) {
  const auto step = [t](const Range& r) { return t == DType::kFloat64 ? f64(r) : f32(r); };
  const Range a = alpha;
  if (op == "LeakyRelu") return x.nan || x.low > 0 ? x : step(x * a);
  if (op == "LeakyReluGrad") return y.nan ? y : y.low > 0 ? x : step(x * a);
  const Range one = Real{1};
  if (op == "TanhGrad") return step(y * step(one - step(x * x)));  // y, dy
  if (op == "SigmoidGrad") return step(step(y * x) * step(one - x));
  if (op == "SqrtGrad") return step(step(Range(Real{0.5L}) * y) / x);
  if (op == "RsqrtGrad") return step(step(Range(Real{-0.5L}) * y) * step(step(x * x) * x));
  if (op == "ReciprocalGrad") return step(-y * step(x * x));
  if (op == "SquaredDifference") {
    const Range d = step(x - y);
    return step(d * d);
  }
  throw std::logic_error("no model of " + op);
}

bool comparison(const std::string& op, Real x, Real y) {
  if (op == "Equal") return x == y;
  if (op == "NotEqual") return x != y;
  if (op == "Less") return x < y;
  if (op == "LessEqual") return x <= y;
  if (op == "Greater") return x > y;
  if (op == "GreaterEqual") return x >= y;
  if (op == "IsNan") return std::isnan(x);
  if (op == "IsFinite") return std::isfinite(x);
  throw std::logic_error("no model of " + op);
}

namespace {

namespace formulas = softamp::test::formulas;

/// The derivative of twice gelu_argument.
Real argument_slope(Real x) { return 2 * std::sqrt(2 / formulas::pi<Real>()) * (1 + 3 * 0.044715L * x * x); }

}  // namespace

Real normal_cdf(Real x) { return formulas::normal_cdf(x); }

const std::vector<Function>& functions() {
  static const std::vector<Function> kFunctions = [] {
    std::vector<Function> all;
    for (const softamp::test::ElementRow& row : softamp::test::function_rows()) {
      if (row.operands() != 1) continue;
      const bool approximate = row.op == "Gelu" && softamp::test::rows_detail::flag(row.attributes, "approximate");
      all.push_back({approximate ? "Gelu approximate" : row.op,
                     [&row](Real x) { return row.value(x, 0, row.attributes); }, row.ulps, row.doubt});
    }
    return all;
  }();
  return kFunctions;
}

const Function& function(std::string_view op) {
  for (const Function& f : functions())
    if (f.op == op) return f;
  throw std::logic_error("no model of the function " + std::string(op));
}

Range function_range(const Function& f, Real x, const Mode& mode) {
  const Real y = f.value(x);
  if (std::isnan(x) || std::isnan(y)) return Range::not_a_number();
  if (std::isinf(y) && (std::isinf(x) || f.op.starts_with("Log"))) return y;  // exact, or a pole
  if (std::fabs(y) > precision_of(DType::kFloat32).greatest * 1.0001L) return std::copysign(0x1p1000L, y);
  Range r = f32_function(within(y, std::fabs(y) * 0x1p-58L), f.ulps);
  // What subnormal results of the two gelus are is not stated: anything below the least normal number.
  if (f.op.starts_with("Gelu") && y != 0 && std::fabs(y) < 0x1.00001p-126L)
    r = y < 0 ? Range(std::fmin(r.low, -0x1p-126L), 0) : Range(0, std::fmax(r.high, 0x1p-126L));
  // What fp32 has no number for overflows in every format; it is no infinity that was there before.
  for (Real* end : {&r.low, &r.high})
    if (std::isinf(*end)) *end = std::copysign(0x1p1000L, *end);
  return flushed(r, mode);
}

Range function_range64(const Function& f, Real x) {
  const Real y = f.value(x);
  if (std::isnan(x) || std::isnan(y)) return Range::not_a_number();
  if (std::isinf(y) || y == 0) return y;
  return within(y, std::fabs(y) * f.doubt * 0x1p-11L);
}

Range gelu_gradient64(Real x, bool approximate) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x < 0 ? Real{0} : Real{1};
  const Real slope = approximate ? formulas::gelu_tanh_slope(x) : formulas::gelu_slope(x);
  // What the formula's parts are off by, where they cancel; 2^-66 is what softamp's is off by there.
  return within(slope, std::fabs(slope) * 0x1p-53L + std::fmin(Real{1}, std::fabs(x)) * 0x1p-58L + 0x1p-66L);
}

Range gelu_gradient(Real x, bool approximate) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x < 0 ? Real{0} : Real{1};
  constexpr Real u = 0x1p-24L;
  const Real a = std::fabs(x);
  if (!approximate) {
    // y = |x| phi(x) - Phi(-|x|), then -y or 1 + y. phi is within 1.3 units (2.6 u relative), Phi within 2.7 (5.4 u),
    // the product, the difference and the sum round once each.
    const Real product = a * formulas::normal_pdf(a), tail = normal_cdf(-a), y = product - tail;
    const Real distance = 3.6L * u * product + 5.4L * u * tail + u * std::fabs(y) + 0x1p-126L;
    return within(x < 0 ? -y : 1 + y, x < 0 ? distance : distance + u);
  }
  // y = s (t - 1), t = |x| u' (1 - s): relative errors of 4 u in |x| u' (coefficients, square, fused step, product), 4
  // u in 1 - s (that of s, 2.2 u, is at most as much of 1 - s >= 1/2; the subtraction), u in their product, u (t + 1)
  // in the fused step, 3.2 u in s and the last product: at most 14 u s (t + 1); then -y or 1 + y.
  const Real s = formulas::logistic(-2 * formulas::gelu_argument(a)), t = a * argument_slope(a) * (1 - s),
             y = s * (t - 1);
  return within(x < 0 ? -y : 1 + y, 14 * u * s * (t + 1) + (x < 0 ? 0 : u) + 0x1p-126L);
}

Range power(Real x, Real y, const Mode& mode) {
  const Real z = std::pow(x, y);
  if (std::isnan(z) || z == 0) return z;
  const bool pole = x == 0 && y < 0, infinite = std::isinf(x) || std::isinf(y);
  if (std::isinf(z) && (pole || infinite)) return z;
  if (std::fabs(z) > 0x1p130L) return std::copysign(0x1p1000L, z);
  // 2^(y log2 |x|) in binary64: log2 within kLog2Error of itself, the exponent at most 150 here, 2^v within kExp2Error;
  // binary64's own roundings, 2^-53 of 150 twice, are a thousandth of that. Then one rounding to fp32.
  const Real relative = 150 * std::log(Real{2}) * kLog2Error + kExp2Error + 0x1p-44L;
  Range r = f32(within(z, std::fabs(z) * relative));
  for (Real* end : {&r.low, &r.high})
    if (std::isinf(*end)) *end = std::copysign(0x1p1000L, *end);
  return flushed(r, mode);
}

}  // namespace oracle::model
