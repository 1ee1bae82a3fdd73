#include "softamp/findings/statistics.h"

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"

namespace softamp {
namespace {

void see_number(TensorStatistics& s, double x, bool& first) {
  if (first || x < s.minimum) s.minimum = x;
  if (first || x > s.maximum) s.maximum = x;
  first = false;
}

/// Codes of one format. Counts by exponent field first, which gives all exponents except those of subnormals.
template <class Code>
void count_floating(const FloatFormat& f, const Code* codes, int64_t n, TensorStatistics& s) {
  bool first = true;
  std::vector<int64_t> by_exponent(static_cast<size_t>(f.max_exponent() - f.min_quantum() + 1));
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t code = codes[i], magnitude = code & f.magnitude_mask();
    if (f.is_nan(code)) {
      ++s.nans;
      continue;
    }
    see_number(s, value_of(f, code), first);
    if (f.is_infinity(code)) {
      ++s.infinities;
      continue;
    }
    if (magnitude == 0) {
      ++s.zeros;
      continue;
    }
    if (magnitude == f.max_finite_code()) ++s.saturated;
    int exponent = static_cast<int>(magnitude >> f.mantissa_bits()) - f.bias;
    if (magnitude < f.min_normal_code()) {
      ++s.subnormals;
      exponent = f.min_quantum() + 63 - detail::countl_zero(magnitude);
    }
    ++by_exponent[static_cast<size_t>(exponent - f.min_quantum())];
  }
  for (size_t e = 0; e < by_exponent.size(); ++e)
    if (by_exponent[e]) s.exponents[static_cast<int>(e) + f.min_quantum()] = by_exponent[e];
}

template <class T>
void count_integers(const T* values, int64_t n, TensorStatistics& s) {
  bool first = true;
  for (int64_t i = 0; i < n; ++i) {
    see_number(s, static_cast<double>(values[i]), first);
    s.zeros += values[i] == 0;
  }
}

}  // namespace

TensorStatistics statistics_of(const TensorType& type, const void* data) {
  const engine::DefaultEnvironment guard;
  TensorStatistics s;
  s.elements = type.shape.elements();
  const FloatFormat f = format_of(type.dtype);
  switch (type.dtype) {
    case DType::kFloat16:
    case DType::kBFloat16: count_floating(f, static_cast<const uint16_t*>(data), s.elements, s); break;
    case DType::kFloat32: count_floating(f, static_cast<const uint32_t*>(data), s.elements, s); break;
    case DType::kFloat64: count_floating(f, static_cast<const uint64_t*>(data), s.elements, s); break;
    case DType::kInt32: count_integers(static_cast<const int32_t*>(data), s.elements, s); break;
    case DType::kInt64: count_integers(static_cast<const int64_t*>(data), s.elements, s); break;
    case DType::kBool:
    case DType::kUint8: count_integers(static_cast<const uint8_t*>(data), s.elements, s); break;
    case DType::kString: break;
  }
  return s;
}

}  // namespace softamp
