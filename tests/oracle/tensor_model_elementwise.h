// Models of the element-wise operations and of the elementary functions, one element at a time.
#pragma once

#include <functional>
#include <string_view>

#include "tests/oracle/tensor_model.h"

namespace oracle::model {

/// out[i] = f(x[i], y[i]) with NumPy's broadcasting.
Array broadcast_map(const Array& x, const Array& y, const std::function<Range(const Range&, const Range&)>& f);
Array map(const Array& x, const std::function<Range(const Range&)>& f);

/// What an element-wise operation computes of x (and y), before its last rounding to dtype t. Names: those of the
/// operations. `alpha`: of the leaky ones, as fp32, of float64 as it is.
///
///   AddV2 Sub Mul RealDiv Square Sqrt Rsqrt Reciprocal      the exact value; under `ipu` quotients and roots of at
///   most
///                                                           16 bits by way of fp32 (N51), 1/root as two such steps
///   LeakyRelu LeakyReluGrad TanhGrad SigmoidGrad SqrtGrad RsqrtGrad ReciprocalGrad       an fp32 rounding at each
///   step,
///                                                           one to binary64 of float64
///   Maximum Minimum Relu Relu6 ReluGrad Neg Abs             one of the operands, or a bound
Range elementwise(const std::string& op, const Range& x, const Range& y, Real alpha, DType t, const Mode& mode);

/// Comparisons and IsNan, IsFinite of two numbers: 0 or 1.
bool comparison(const std::string& op, Real x, Real y);

/// An elementary function: its real value, and the largest error of softamp's, in units of the last place of fp32.
struct Function {
  std::string op;
  std::function<Real(Real)> value;
  Real ulps;
  Real doubt;  ///< FunctionRow's: of the value, were it computed in binary64
};
/// Those of tests/ops/function_rows.h that are operations, under their names, and "Gelu approximate". Values to within
/// 2^-58 of their magnitude for fp32 arguments.
const std::vector<Function>& functions();
const Function& function(std::string_view op);
/// The range of a function's fp32 results at x; flushed where the preset flushes.
Range function_range(const Function& f, Real x, const Mode& mode);
/// The range of its results for float64, before the rounding.
Range function_range64(const Function& f, Real x);
/// The derivative of gelu for float64, before the rounding.
Range gelu_gradient64(Real x, bool approximate);
/// The derivative of gelu in fp32, from the errors of the functions that it is made of.
Range gelu_gradient(Real x, bool approximate);
/// Relative errors of the two functions that a power is made of; tests/graph/models/model_functions_test.cpp measures
/// them.
inline constexpr Real kLog2Error = 0x1.4p-38L, kExp2Error = 0x1.ap-35L;
/// x^y of fp32 numbers by way of binary64.
Range power(Real x, Real y, const Mode& mode);

/// Φ, the normal distribution function, from erfc.
Real normal_cdf(Real x);

}  // namespace oracle::model
