// Random values by address: value i of an output is a function of the 32-bit lane i of (seed, step, operation id).
// Distributions and roundings: kernel/random.h.
#include <climits>

#include "softamp/numbers/number_text.h"
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

void infer_shape(InferenceContext& c) { c.output(0, c.get_shape("shape")); }

/// A number that fp32 holds.
void need_finite(InferenceContext& c, const char* name) {
  const double x = c.get_float(name);
  if (!(x >= -3.4028234663852886e38 && x <= 3.4028234663852886e38))
    c.fail("attribute '" + std::string(name) + "' is " + shortest_decimal(x) + "; expected a finite fp32 number");
}
void infer_uniform(InferenceContext& c) {
  need_finite(c, "minval");
  need_finite(c, "maxval");
  if (!(c.get_float("minval") < c.get_float("maxval")))
    c.fail("minval is " + shortest_decimal(c.get_float("minval")) + ", maxval " +
           shortest_decimal(c.get_float("maxval")) + "; expected minval < maxval");
  infer_shape(c);
}
void infer_normal(InferenceContext& c) {
  need_finite(c, "mean");
  need_finite(c, "stddev");
  if (!(c.get_float("stddev") >= 0))
    c.fail("stddev is " + shortest_decimal(c.get_float("stddev")) + "; expected 0 or more");
  infer_shape(c);
}
void infer_integer(InferenceContext& c) {
  const int64_t low = c.get_int("minval"), high = c.get_int("maxval");
  if (low < INT32_MIN || high > INT32_MAX || low >= high)
    c.fail("minval is " + std::to_string(low) + ", maxval " + std::to_string(high) +
           "; expected -2147483648 <= minval < maxval <= 2147483647");
  infer_shape(c);
}
void infer_bernoulli(InferenceContext& c) {
  const double p = c.get_float("probability");
  if (!(p >= 0 && p <= 1)) c.fail("probability is " + shortest_decimal(p) + "; expected 0 to 1");
  infer_shape(c);
}

std::vector<AttributeSpec> random_attributes(AttributeSpec first, AttributeSpec second) {
  using enum DType;
  return {{"dtype", kType, kFloat32, "dtype of the values", {}, {kFloat16, kBFloat16, kFloat32}},
          {"shape", kShape, {}, "shape of the values", {}, {}},
          std::move(first),
          std::move(second)};
}
AttributeSpec number(const char* name, double value, const char* summary) {
  return {name, kFloat, value, summary, {}, {}};
}

}  // namespace

std::vector<Operation> random() {
  const AttributeSpec mean = number("mean", 0.0, "mean, rounded to fp32");
  return {
      row("RandomUniform",
          "minval + u (maxval - minval), u uniform in [0, 1): in fp32, then rounded once, which may reach maxval.", {},
          {{"output", "dtype"}},
          random_attributes(number("minval", 0.0, "least value, rounded to fp32"),
                            number("maxval", 1.0, "bound of the values, rounded to fp32")),
          infer_uniform, 2)
          .constant(),
      row("RandomStandardNormal", "mean + stddev n, n of the normal distribution: in fp32, then rounded once.", {},
          {{"output", "dtype"}}, random_attributes(mean, number("stddev", 1.0, "standard deviation, rounded to fp32")),
          infer_normal, 2)
          .constant(),
      row("TruncatedNormal",
          "mean + stddev n, n of the normal distribution cut off to [-2, 2]: in fp32, then rounded once.", {},
          {{"output", "dtype"}},
          random_attributes(mean, number("stddev", 1.0, "standard deviation before truncation, rounded to fp32")),
          infer_normal, 2)
          .constant(),
      row("RandomUniformInt", "minval + floor(lane (maxval - minval) / 2^32).", {}, {{"output", "int32"}},
          {{"shape", kShape, {}, "shape of the values", {}, {}},
           {"minval", kInt, int64_t{0}, "least value", {}, {}},
           {"maxval", kInt, {}, "bound of the values, not reached", {}, {}}},
          infer_integer)
          .constant(),
      row("RandomBernoulli",
          "Whether lane / 2^32 < probability: the mask of a dropout that keeps with this probability.", {},
          {{"output", "bool"}},
          {{"shape", kShape, {}, "shape of the values", {}, {}},
           {"probability", kFloat, {}, "of true, from 0 (never) to 1 (always)", {}, {}}},
          infer_bernoulli)
          .constant(),
  };
}

}  // namespace softamp::operations_of
