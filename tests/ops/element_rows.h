// The test rows of the operations of one element, a row for each (two of Gelu, whose formulas differ): what the suites
// ask of every one of them. Beside the suites over all operations (node_rows.h), these iterate them:
//
//   its body on every instruction set, threads, in place   tests/emu/elementwise_test.cpp
//   both engines, every preset, shape and special value    tests/backend/parity_elementwise.cpp, parity_functions.cpp
//   the model of its arithmetic                            tests/graph/models/model_elementwise_test.cpp,
//                                                          model_functions_test.cpp
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "softamp/graph/operation.h"
#include "softamp/kernel/elementwise.h"
#include "tests/ops/function_rows.h"

namespace softamp::test {

struct ElementRow {
  using Real = long double;

  std::string op;
  /// The result for real numbers; y is the second operand of operations that have two.
  std::function<Real(Real x, Real y, const Attributes& attributes)> value;
  Attributes attributes = {};  ///< that it is tried with
  using Domain = FunctionRow::Domain;
  Domain x = {}, y = {};  ///< where its gradient is compared with differences
  Real ulps = 0;          ///< of functions: the largest error, in units of the last place of fp32 (docs/NUMERICS.md)
  Real doubt = 0;         ///< of functions: FunctionRow's

  const Operation& operation() const { return softamp::operation(op); }
  size_t operands() const { return operation().inputs.size(); }
  bool truth() const { return operation().outputs[0].type == "bool"; }
  /// The dtypes that it takes.
  const std::vector<DType>& types() const { return operation().attributes[0].types; }
  /// Whether its two operands may be of different shapes.
  bool broadcasts() const { return operands() == 2 && !op.ends_with("Grad"); }
  bool takes(DType t) const {
    for (const DType known : types())
      if (known == t) return true;
    return false;
  }
  /// Of kernel/elementwise.h, and of this kind: kernel::is_arithmetic, is_selection, is_fp32_inside, is_comparison.
  bool is(bool (*kind)(kernel::Elementwise)) const {
    const auto* const element = std::get_if<kernel::Elementwise>(&operation().element);
    return element && kind(*element);
  }
};

namespace rows_detail {

using Real = ElementRow::Real;
inline auto of_one(Real (*f)(Real)) {
  return [f](Real x, Real, const Attributes&) { return f(x); };
}
inline auto of_two(Real (*f)(Real, Real)) {
  return [f](Real x, Real y, const Attributes&) { return f(x, y); };
}
/// An attribute that the operation takes as fp32.
inline Real number(const Attributes& a, const char* name) {
  return static_cast<Real>(static_cast<float>(std::get<double>(a.find(name)->second)));
}
inline bool flag(const Attributes& a, const char* name) { return std::get<bool>(a.find(name)->second); }

}  // namespace rows_detail

/// Arithmetic, selections, formulas in fp32, comparisons.
inline const std::vector<ElementRow>& elementwise_rows() {
  using namespace rows_detail;
  static const auto leaky_relu = [](Real x, Real, const Attributes& a) { return x > 0 ? x : number(a, "alpha") * x; };
  static const auto leaky_relu_grad = [](Real g, Real x, const Attributes& a) {
    return x > 0 ? g : number(a, "alpha") * g;
  };
  static const std::vector<ElementRow> kRows = {
      {"AddV2", of_two([](Real x, Real y) { return x + y; })},
      {"Sub", of_two([](Real x, Real y) { return x - y; })},
      {"Mul", of_two([](Real x, Real y) { return x * y; })},
      {"RealDiv", of_two([](Real x, Real y) { return x / y; }), {}, {}, {0.5, 2}},
      {"Square", of_one([](Real x) { return x * x; })},
      {"Sqrt", of_one([](Real x) { return std::sqrt(x); }), {}, {0.5, 2}},
      {"Rsqrt", of_one([](Real x) { return 1 / std::sqrt(x); }), {}, {0.5, 2}},
      {"Reciprocal", of_one([](Real x) { return 1 / x; }), {}, {0.5, 2}},
      {"Inv", of_one([](Real x) { return 1 / x; }), {}, {0.5, 2}},
      {"Neg", of_one([](Real x) { return -x; })},
      {"Abs", of_one([](Real x) { return std::fabs(x); })},
      {"Maximum", of_two([](Real x, Real y) { return std::fmax(x, y); })},
      {"Minimum", of_two([](Real x, Real y) { return std::fmin(x, y); })},
      {"Relu", of_one([](Real x) { return std::fmax(x, Real{0}); })},
      {"Relu6", of_one([](Real x) { return std::fmin(std::fmax(x, Real{0}), Real{6}); }), {}, {-4, 8}},
      {"ReluGrad", of_two([](Real g, Real x) { return x > 0 ? g : Real{0}; })},
      {"LeakyRelu", leaky_relu, {{"alpha", 0.2}}},
      {"LeakyRelu", leaky_relu, {{"alpha", 0.0}}},
      {"LeakyRelu", leaky_relu, {{"alpha", -1.5}}},
      {"LeakyReluGrad", leaky_relu_grad, {{"alpha", 0.2}}},
      {"LeakyReluGrad", leaky_relu_grad, {{"alpha", 0.0}}},
      {"LeakyReluGrad", leaky_relu_grad, {{"alpha", -1.5}}},
      {"TanhGrad", of_two([](Real y, Real g) { return g * (1 - y * y); })},
      {"SigmoidGrad", of_two([](Real y, Real g) { return g * y * (1 - y); })},
      {"SqrtGrad", of_two([](Real y, Real g) { return g / (2 * y); })},
      {"RsqrtGrad", of_two([](Real y, Real g) { return -g / 2 * y * y * y; })},
      {"ReciprocalGrad", of_two([](Real y, Real g) { return -g * y * y; })},
      {"SquaredDifference", of_two([](Real x, Real y) { return (x - y) * (x - y); })},
      {"Equal", of_two([](Real x, Real y) { return Real(x == y); })},
      {"NotEqual", of_two([](Real x, Real y) { return Real(x != y); })},
      {"Less", of_two([](Real x, Real y) { return Real(x < y); })},
      {"LessEqual", of_two([](Real x, Real y) { return Real(x <= y); })},
      {"Greater", of_two([](Real x, Real y) { return Real(x > y); })},
      {"GreaterEqual", of_two([](Real x, Real y) { return Real(x >= y); })},
      {"IsNan", of_one([](Real x) { return Real(std::isnan(x)); })},
      {"IsFinite", of_one([](Real x) { return Real(std::isfinite(x)); })},
  };
  return kRows;
}

/// The operations of the elementary functions (function_rows.h); Pow and the gradient of gelu, which are made of them.
/// Values are within 2^-58 of their magnitude for fp32 operands.
inline const std::vector<ElementRow>& function_rows() {
  using namespace rows_detail;
  static const auto gelu_grad = [](Real g, Real x, const Attributes& a) {
    return g * (flag(a, "approximate") ? formulas::gelu_tanh_slope(x) : formulas::gelu_slope(x));
  };
  static const std::vector<ElementRow> kRows = [] {
    std::vector<ElementRow> all;
    for (const JudgedFunction<Real>& f : judged_functions<Real>())
      if (!f.row.op.empty())
        all.push_back({f.row.op,
                       of_one(f.value),
                       f.row.attributes,
                       f.row.x,
                       {},
                       static_cast<Real>(f.row.ulps),
                       static_cast<Real>(f.row.doubt)});
    all.push_back({"Pow", of_two([](Real x, Real y) { return std::pow(x, y); }), {}, {0.5, 2}, {0.5, 2}});
    for (const bool approximate : {false, true}) all.push_back({"GeluGrad", gelu_grad, {{"approximate", approximate}}});
    return all;
  }();
  return kRows;
}

/// All of them.
inline const std::vector<ElementRow>& element_rows() {
  static const std::vector<ElementRow> kRows = [] {
    std::vector<ElementRow> all = elementwise_rows();
    all.insert(all.end(), function_rows().begin(), function_rows().end());
    return all;
  }();
  return kRows;
}

/// The row of an operation, that of its attributes where there are several; null: it has none.
inline const ElementRow* element_row(const std::string& op, const Attributes& attributes) {
  const ElementRow* found = nullptr;
  for (const ElementRow& row : element_rows()) {
    if (row.op != op) continue;
    bool same = true;
    for (const auto& [name, value] : row.attributes) {
      const auto given = attributes.find(name);
      same = same && given != attributes.end() && given->second == value;
    }
    if (same) return &row;
    if (!found) found = &row;
  }
  return found;
}

}  // namespace softamp::test
