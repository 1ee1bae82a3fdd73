#include "src/reproduce/steps/paths.h"

#include <stdexcept>
#include <string>

#include "src/tensor/code_arithmetic.h"

namespace softamp::reproduce {
namespace {

using detail::CodeOperation;

bulk::RandomSource source(uint64_t seed, const Paths::Site& site) {
  bulk::RandomSource random;
  random.seed = seed;
  random.operation = site.operation;
  random.step = site.step;
  random.first_index = site.first_path;
  return random;
}

}  // namespace

Paths::Paths(const FloatFormat& format, const Semantics& semantics, uint64_t seed)
    : format_(format), semantics_(semantics), seed_(seed) {
  if (!format.valid() || format.storage_bits() > 16)
    throw std::invalid_argument("paths: a format of " + std::to_string(format.storage_bits()) +
                                " bits: expected one of at most 16");
}

void Paths::add(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                const Site& site) const {
  detail::code_arithmetic(CodeOperation::kAdd, format_, semantics_, a, b, out, source(seed_, site));
}
void Paths::sub(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                const Site& site) const {
  detail::code_arithmetic(CodeOperation::kSub, format_, semantics_, a, b, out, source(seed_, site));
}
void Paths::mul(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out,
                const Site& site) const {
  detail::code_arithmetic(CodeOperation::kMul, format_, semantics_, a, b, out, source(seed_, site));
}

Semantics experiment_semantics(RoundingMode mode, int bits) {
  RoundingPolicy p = RoundingPolicy::ieee(mode);
  p.random_bits = bits;
  return Semantics::ieee(p);
}

}  // namespace softamp::reproduce
