// Elementary functions against the model library: every half and brain code, floats over all exponents.
#include <cstring>

#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_elementwise.h"

namespace softamp::test {
namespace {

using namespace oracle::model;

[[maybe_unused]] const ::testing::Environment* const kCoversFunctions = covers(function_rows(), {});

/// Every code of 16 bits, or one in nine; of fp32: all exponents, unit range, specials.
std::vector<Tensor> operands(DType t, bool all) {
  std::vector<Tensor> in;
  if (narrow(t)) {
    in.emplace_back(t, Shape{all ? 1 << 16 : (1 << 16) / 9});
    for (int64_t i = 0; i < in[0].elements(); ++i) set_code(in[0], i, static_cast<uint64_t>(all ? i : 9 * i + 4));
    return in;
  }
  const int64_t count = all ? 24000 : 3000;
  in.emplace_back(t, Shape{count});
  Mixer mix(99);
  for (int64_t i = 0; i < count; ++i)
    set_code(in[0], i, random_code(mix, t, i % 3 == 0 ? Data::kAny : i % 3 == 1 ? Data::kMiddle : Data::kUnit));
  return in;
}

TEST(ModelFunctions, AgreeWithinTheStatedUnits) {
  for (const Function& f : functions()) {
    const bool approximate = f.op == "Gelu approximate";
    Attributes attributes;
    if (f.op.starts_with("Gelu")) attributes["approximate"] = approximate;
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        const std::vector<Tensor> in = operands(t, std::string(mode.name) == "ipu esr");
        const std::vector<Tensor> out = run_operation(approximate ? "Gelu" : f.op, in, attributes, mode);
        const Array x = load(in[0], mode);
        RoundedUp statistics;
        expect_admitted(out[0], map(x, [&](const Range& v) { return function_range(f, v.nan ? NAN : v.low, mode); }),
                        mode, f.op, &statistics);
        expect_probabilities(statistics, t, mode);
      }
  }
}

/// float64 keeps subnormals and infinities, and rounds to nearest under every preset.
TEST(ModelFunctions, OfFloat64AgreeWithLongDouble) {
  for (const Function& f : functions()) {
    if (f.op == "Sin" || f.op == "Cos") continue;
    const bool approximate = f.op == "Gelu approximate";
    Attributes attributes;
    if (f.op.starts_with("Gelu")) attributes["approximate"] = approximate;
    for (const Mode& mode : kModes) {
      const std::vector<Tensor> in = operands(DType::kFloat64, true);
      const std::vector<Tensor> out = run_operation(approximate ? "Gelu" : f.op, in, attributes, mode);
      const Array x = load(in[0], mode);
      expect_admitted(out[0], map(x, [&](const Range& v) { return function_range64(f, v.nan ? NAN : v.low); }), mode,
                      f.op);
    }
  }
}

/// The two functions of one variable that a power is made of, on 4 10^5 points each of the ranges that others reduce
/// to.
TEST(ModelFunctions, PartsOfAPower) {
  constexpr int kPoints = 400000;
  for (int i = 1; i < kPoints; ++i) {
    const double a = std::sqrt(0.5) + i * (std::sqrt(0.5) / kPoints), v = static_cast<double>(i) / kPoints - 0.5;
    const Real log = std::log2(static_cast<Real>(a)), power = std::exp2(static_cast<Real>(v));
    ASSERT_LE(std::fabs(math::detail::log2_of(math::Double(a)).value - log), kLog2Error * std::fabs(log)) << a;
    ASSERT_LE(std::fabs(math::detail::exp2_of(math::Double(v)).value - power), kExp2Error * power) << v;
  }
}

TEST(ModelFunctions, Powers) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      std::vector<Tensor> in;
      in.emplace_back(t, Shape{12000});
      in.emplace_back(t, Shape{12000});
      Mixer mix(5);
      for (int64_t i = 0; i < 12000; ++i) {
        const Data data = i % 4 == 0   ? Data::kAny
                          : i % 4 == 1 ? Data::kMiddle
                          : i % 4 == 2 ? Data::kUnit
                                       : Data::kIntegers;
        set_code(in[0], i, random_code(mix, t, data == Data::kIntegers ? Data::kUnit : data));
        set_code(in[1], i, random_code(mix, t, data));
      }
      const Array x = load(in[0], mode), y = load(in[1], mode);
      Array model(x.shape);
      for (int64_t i = 0; i < x.size(); ++i)
        model[i] = power(x[i].nan ? NAN : x[i].low, y[i].nan ? NAN : y[i].low, mode);
      expect_admitted(run_operation("Pow", in, {}, mode)[0], model, mode, "Pow");
    }
}

// tests: N193
TEST(ModelFunctions, GeluGradient) {
  for (const bool approximate : {false, true})
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        std::vector<Tensor> in;
        in.push_back(random_tensor(t, {9000}, Data::kMiddle, 3));
        in.push_back(random_tensor(t, {9000}, Data::kMiddle, 4));
        const Array dy = load(in[0], mode), x = load(in[1], mode);
        Array model(x.shape);
        for (int64_t i = 0; i < x.size(); ++i) model[i] = f32(dy[i] * f32(gelu_gradient(x[i].low, approximate)));
        expect_admitted(run_operation("GeluGrad", in, {{"approximate", approximate}}, mode)[0], model, mode,
                        "GeluGrad");
      }
  for (const bool approximate : {false, true}) {
    std::vector<Tensor> in;
    in.push_back(random_tensor(DType::kFloat64, {9000}, Data::kMiddle, 3));
    in.push_back(random_tensor(DType::kFloat64, {9000}, Data::kMiddle, 4));
    const Array dy = load(in[0], kModes[1]), x = load(in[1], kModes[1]);
    Array model(x.shape);
    for (int64_t i = 0; i < x.size(); ++i) model[i] = dy[i] * f64(gelu_gradient64(x[i].low, approximate));
    expect_admitted(run_operation("GeluGrad", in, {{"approximate", approximate}}, kModes[1])[0], model, kModes[1],
                    "GeluGrad");
  }
}

}  // namespace
}  // namespace softamp::test
