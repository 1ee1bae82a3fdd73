// STUB
#include "src/reproduce/paths.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

#include <stdexcept>

namespace softamp::reproduce {
namespace {

template <class Operation>
void each(const FloatFormat& f, const Semantics& s, uint64_t seed, std::span<const uint16_t> a,
          std::span<const uint16_t> b, std::span<uint16_t> out, const Paths::Site& site, Operation operation) {
  if (a.size() != b.size() || a.size() != out.size()) throw std::invalid_argument("paths: lengths differ");
  const RandomBits random{seed};
  const int r = s.rounding(f).random_bits;
  const bool draws = s.draws(f);
  for (size_t i = 0; i < a.size(); ++i)
    out[i] = static_cast<uint16_t>(
        operation(f, a[i], b[i], s, draws ? random.bits(site.step, site.operation, site.first_path + i, r) : 0).code);
}

}  // namespace

Paths::Paths(const FloatFormat& format, const Semantics& semantics, uint64_t seed)
    : format_(format), semantics_(semantics), seed_(seed) {}

void Paths::add(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                const Site& site) const {
  each(format_, semantics_, seed_, a, b, out, site,
       [](const FloatFormat& f, uint64_t x, uint64_t y, const Semantics& s, uint32_t w) { return fp::add(f, x, y, s, w); });
}
void Paths::sub(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                const Site& site) const {
  each(format_, semantics_, seed_, a, b, out, site,
       [](const FloatFormat& f, uint64_t x, uint64_t y, const Semantics& s, uint32_t w) { return fp::sub(f, x, y, s, w); });
}
void Paths::mul(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                const Site& site) const {
  each(format_, semantics_, seed_, a, b, out, site,
       [](const FloatFormat& f, uint64_t x, uint64_t y, const Semantics& s, uint32_t w) { return fp::mul(f, x, y, s, w); });
}

Semantics experiment_semantics(RoundingMode mode, int bits) {
  RoundingPolicy p = RoundingPolicy::ieee(mode);
  p.random_bits = bits;
  return Semantics::ieee(p);
}

}  // namespace softamp::reproduce
