#include "softamp/pictures/exponent_histogram.h"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/format.h"

namespace softamp {
namespace {

/// By the field of the exponent. Four tables, so that equal neighbours do not wait for each other; subnormals and NaNs,
/// which are rare, one by one.
template <class Code, int kMantissa, int kExponent>
void count_codes(const Code* codes, int64_t n, const FloatFormat& f, ExponentHistogram& h) {
  constexpr Code kField = (Code{1} << kExponent) - 1,
                 kMagnitude = static_cast<Code>(~(Code{1} << (sizeof(Code) * 8 - 1)));
  constexpr Code kInfinity = static_cast<Code>(kField << kMantissa), kNormal = static_cast<Code>(Code{1} << kMantissa);
  constexpr size_t kFields = size_t{kField} + 1;
  std::vector<int64_t> tables(4 * kFields), leading(kMantissa);
  int64_t* const fields[4] = {&tables[0], &tables[kFields], &tables[2 * kFields], &tables[3 * kFields]};
  const auto see = [&](int64_t* table, Code code) {
    const Code magnitude = code & kMagnitude;
    ++table[static_cast<size_t>(magnitude >> kMantissa)];
    // A subnormal that is not 0, or a NaN: 0 wraps round to the greatest number.
    if (static_cast<Code>(magnitude - 1) < static_cast<Code>(kNormal - 1))
      ++leading[static_cast<size_t>(std::bit_width(magnitude) - 1)];
    else if (magnitude > kInfinity)
      ++h.nans;
  };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t k = 0; k < 4; ++k) see(fields[k], codes[i + static_cast<int64_t>(k)]);
  for (; i < n; ++i) see(fields[0], codes[i]);
  for (size_t k = 1; k < 4; ++k)
    for (size_t e = 0; e <= kField; ++e) fields[0][e] += fields[k][e];
  h.elements = n;
  h.infinities = fields[0][kField] - h.nans;
  for (size_t b = 0; b < leading.size(); ++b) {
    h.subnormals += leading[b];
    if (leading[b]) h.exponents[f.min_quantum() + static_cast<int>(b)] = leading[b];
  }
  h.zeros = fields[0][0] - h.subnormals;
  for (size_t e = 1; e < kField; ++e)
    if (fields[0][e]) h.exponents[static_cast<int>(e) - f.bias] = fields[0][e];
}

[[noreturn]] void refuse_dtype(const TensorType& type) {
  throw std::invalid_argument("a histogram of exponents of " + type.text() + "; expected a floating type");
}

}  // namespace

void ExponentHistogram::add(const ExponentHistogram& other) {
  elements += other.elements;
  zeros += other.zeros;
  subnormals += other.subnormals;
  infinities += other.infinities;
  nans += other.nans;
  for (const auto& [exponent, count] : other.exponents) exponents[exponent] += count;
}

ExponentHistogram ExponentHistogram::shifted(int by) const {
  ExponentHistogram moved = *this;
  moved.subnormals = 0;
  moved.exponents.clear();
  for (const auto& [exponent, count] : exponents) moved.exponents[exponent + by] = count;
  return moved;
}

std::string ExponentHistogram::json() const {
  std::string text = "{\"elements\":" + std::to_string(elements) + ",\"zeros\":" + std::to_string(zeros) +
                     ",\"subnormals\":" + std::to_string(subnormals) + ",\"infinities\":" + std::to_string(infinities) +
                     ",\"nans\":" + std::to_string(nans) + ",\"exponents\":{";
  bool first = true;
  for (const auto& [exponent, count] : exponents) {
    text += (first ? "\"" : ",\"") + std::to_string(exponent) + "\":" + std::to_string(count);
    first = false;
  }
  return text + "}}";
}

ExponentHistogram exponents_of(const TensorType& type, const void* data) {
  ExponentHistogram h;
  const int64_t n = type.shape.elements();
  switch (type.dtype) {
    case DType::kFloat16: count_codes<uint16_t, 10, 5>(static_cast<const uint16_t*>(data), n, kFp16, h); break;
    case DType::kBFloat16: count_codes<uint16_t, 7, 8>(static_cast<const uint16_t*>(data), n, kBf16, h); break;
    case DType::kFloat32: count_codes<uint32_t, 23, 8>(static_cast<const uint32_t*>(data), n, kFp32, h); break;
    case DType::kFloat64:
      count_codes<uint64_t, 52, 11>(static_cast<const uint64_t*>(data), n, format_of(type.dtype), h);
      break;
    default: refuse_dtype(type);
  }
  return h;
}

ExponentHistogram exponents_of_quotients(const TensorType& type, const void* data, double divisor) {
  const engine::DefaultEnvironment guard;
  if (!is_floating(type.dtype)) refuse_dtype(type);
  ExponentHistogram h;
  h.elements = type.shape.elements();
  const FloatFormat f = format_of(type.dtype);
  for (int64_t i = 0; i < h.elements; ++i) {
    uint64_t code = 0;
    switch (size_of(type.dtype)) {
      case 2: code = static_cast<const uint16_t*>(data)[i]; break;
      case 4: code = static_cast<const uint32_t*>(data)[i]; break;
      default: code = static_cast<const uint64_t*>(data)[i];
    }
    const double x = value_of(f, code) / divisor;
    h.nans += std::isnan(x);
    h.infinities += std::isinf(x);
    h.zeros += x == 0;
    int exponent = 0;
    if (std::isfinite(x) && x != 0) std::frexp(x, &exponent), ++h.exponents[exponent - 1];
  }
  return h;
}

}  // namespace softamp
