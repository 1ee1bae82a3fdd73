#include "src/reproduce/tensor_cores/tensor_core_sums.h"

#include <bit>

#include "softamp/numerics/operations.h"

namespace softamp::reproduce::matrix_units {
namespace {

constexpr uint32_t kIpuBlock = 16;
constexpr uint32_t kOne = 0x3F800000;

bool is_amd(Unit unit) { return unit >= Unit::kCdna1; }

kernel::ProductRules rules_of(Unit unit) {
  kernel::ProductRules rules;
  rules.output = kFp32;
  rules.accumulator = is_amd(unit) ? Accumulator::kFp32Chain : accumulator_of(unit);
  if (unit == Unit::kIpuHalf) rules.partials = kernel::PartialsType::kHalf;
  return rules;
}

/// IEEE 754's, and the IPU's own for its halves.
kernel::Environment environment_of(Unit unit) {
  kernel::Environment e;
  e.semantics = unit == Unit::kIpuHalf ? Semantics::ipu() : Semantics::ieee();
  return e;
}

uint16_t half(double x) { return static_cast<uint16_t>(fp::from_double(kFp16, x)); }

uint32_t widened(uint16_t code) { return kernel::widen_operand(kFp16, code, Semantics::ieee()); }

}  // namespace

const char* title_of(Unit unit) {
  switch (unit) {
    case Unit::kFp32Chain: return "fp32 chain";
    case Unit::kIpuHalf: return "IPU, half partials";
    case Unit::kVolta: return "Volta";
    case Unit::kTuring: return "Turing";
    case Unit::kAmpere: return "Ampere";
    case Unit::kAda: return "Ada";
    case Unit::kHopper: return "Hopper";
    case Unit::kBlackwell: return "Blackwell";
    case Unit::kCdna1: return "CDNA1";
    case Unit::kCdna2: break;
  }
  return "CDNA2";
}

Accumulator accumulator_of(Unit unit) {
  switch (unit) {
    case Unit::kIpuHalf: return Accumulator::kIpuModelA;
    case Unit::kVolta: return Accumulator::kTensorCoreVolta;
    case Unit::kTuring: return Accumulator::kTensorCoreTuring;
    case Unit::kAmpere: return Accumulator::kTensorCoreAmpere;
    case Unit::kAda: return Accumulator::kTensorCoreAda;
    case Unit::kHopper: return Accumulator::kTensorCoreHopper;
    case Unit::kBlackwell: return Accumulator::kTensorCoreBlackwell;
    default: break;
  }
  return Accumulator::kFp32Chain;
}

Sum::Sum(Unit unit) : unit_(unit), environment_(environment_of(unit)), chain_(rules_of(unit), environment_, 0) {}

void Sum::add(uint16_t a, uint16_t b) {
  if (!is_amd(unit_)) {
    chain_.step(widened(a), widened(b), 0);
    if (unit_ == Unit::kIpuHalf && ++count_ % kIpuBlock == 0) chain_.end_block(0);
    return;
  }
  if (unit_ == Unit::kCdna2 && kFp16.is_subnormal(a)) a = 0;
  if (unit_ == Unit::kCdna2 && kFp16.is_subnormal(b)) b = 0;
  // Exact: fp32 holds the product of two halves.
  products_[count_++] = static_cast<uint32_t>(fp::mul(kFp32, widened(a), widened(b), environment_.semantics).code);
  if (count_ < products_.size()) return;
  sum_ = with_group();
  products_ = {};
  count_ = 0;
}

uint32_t Sum::with_group() const {
  if (unit_ == Unit::kCdna1) {
    kernel::ExactDot group;
    for (const uint32_t product : products_) group.add(product, kOne, environment_.semantics);
    return static_cast<uint32_t>(group.round(sum_, environment_.semantics).code);
  }
  const auto plus = [&](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(fp::add(kFp32, a, b, environment_.semantics).code);
  };
  return plus(sum_, plus(plus(products_[0], products_[1]), plus(products_[2], products_[3])));
}

float Sum::value() const {
  if (is_amd(unit_)) return std::bit_cast<float>(count_ == 0 ? sum_ : with_group());
  kernel::ProductChain done = chain_;
  if (unit_ == Unit::kIpuHalf && count_ % kIpuBlock != 0) done.end_block(0);
  return std::bit_cast<float>(static_cast<uint32_t>(done.finish().code));
}

float sum_of(Unit unit, const std::vector<double>& a, const std::vector<double>& b) {
  Sum sum(unit);
  for (size_t i = 0; i < a.size(); ++i) sum.add(half(a[i]), half(b[i]));
  return sum.value();
}

double scaled(Unit unit, double x) {
  const TensorCore core = tensor_core(accumulator_of(unit), kFp16, true);
  if (!core.exists()) return fp::to_double(kFp16, half(static_cast<double>(sum_of(unit, {x}, {65504}))));
  FusedGroup group;
  group.add(core, widened(half(x)), widened(half(65504)));
  return fp::to_double(kFp16, group.round(core, 0, Semantics::ieee()).code);
}

}  // namespace softamp::reproduce::matrix_units
