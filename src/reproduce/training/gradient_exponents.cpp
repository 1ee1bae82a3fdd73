#include "src/reproduce/training/gradient_exponents.h"

#include <cmath>

#include "softamp/findings/statistics.h"
#include "softamp/tensor/bulk.h"

namespace softamp::reproduce {

Fate count_fates(std::span<const float> values, const FloatFormat& format, int scale) {
  std::vector<double> scaled(values.size());
  for (size_t i = 0; i < values.size(); ++i) scaled[i] = std::ldexp(static_cast<double>(values[i]), scale);
  std::vector<uint16_t> codes(values.size());
  bulk::round(std::span<const double>(scaled), format, std::span<uint16_t>(codes), Semantics::ieee());
  Fate fate;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    fate.zero += format.is_zero(codes[i]);
    fate.subnormal += format.is_subnormal(codes[i]);
    fate.overflow += format.is_infinity(codes[i]);
  }
  return fate;
}

std::map<int, int64_t> exponent_histogram(std::span<const float> values) {
  const TensorType type{DType::kFloat32, Shape{static_cast<int64_t>(values.size())}};
  return statistics_of(type, values.data()).exponents;
}

ExponentTable::ExponentTable(std::span<const float> values, const FloatFormat& format) : format_(format) {
  for (const float x : values) {
    if (x == 0) continue;
    int above = 0;
    const double m = 2 * std::frexp(std::fabs(static_cast<double>(x)), &above);
    Bin& bin = bins_[above - 1];
    ++bin.all;
    bin.powers += m == 1;
    bin.near_normal += m >= 2 - std::ldexp(1.0, 1 - format.precision);
    bin.near_overflow += m >= 2 - std::ldexp(1.0, -format.precision);
    ++nonzero_;
  }
}

Fate ExponentTable::predict(int scale) const {
  Fate fate;
  const int least = format_.min_quantum(), normal = format_.min_exponent(), largest = format_.max_exponent();
  for (const auto& [exponent, bin] : bins_) {
    const int e = exponent + scale;
    int64_t zero = 0;
    if (e < least - 1) zero = bin.all;
    if (e == least - 1) zero = bin.powers;
    fate.zero += zero;
    if (e < normal) fate.subnormal += bin.all - zero - (e == normal - 1 ? bin.near_normal : 0);
    if (e > largest) fate.overflow += bin.all;
    if (e == largest) fate.overflow += bin.near_overflow;
  }
  return fate;
}

}  // namespace softamp::reproduce
