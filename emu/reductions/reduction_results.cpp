#include "emu/reductions/reduction_results.h"

#include <cstring>

#include "emu/bulk/dispatch.h"
#include "emu/bulk/unusual.h"
#include "softamp/kernel/reductions.h"

namespace softamp::emu {
namespace {

constexpr uint64_t kResultStreamFrom = uint64_t{8} << 20;  // bytes of a tensor from which stores bypass the caches

/// Multi-step operations write no payloads (kernel::finish).
Semantics without_payloads(Semantics s) {
  for (RoundingPolicy* p : {&s.wide, &s.narrow, &s.quarter})
    if (p->nan == NanPattern::kPropagate) p->nan = NanPattern::kQuiet;
  return s;
}

bool result_starts_line(const void* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

}  // namespace

Load load_of(DType type, const Semantics& s) {
  const bool flushing = s.wide.subnormals != Subnormals::kKeep;
  if (s.wide.infinity != InfinityResult::kKeep || s.wide.subnormals == Subnormals::kFlushToPositive) return Load::kNone;
  if (!s.wide.usual()) return Load::kNone;
  switch (type) {
    case DType::kFloat32:
      if (s.wide_operands_flushed && s.operand_flush_sign != FlushSign::kSame) return Load::kNone;
      return flushing || s.wide_operands_flushed ? Load::kF32Flushed : Load::kF32;
    case DType::kFloat16: return s.narrow_infinity == InfinityOperand::kIeee ? Load::kF16 : Load::kNone;
    case DType::kBFloat16:
      if (s.narrow_infinity != InfinityOperand::kIeee) return Load::kNone;
      return Load::kBf16;
    default: return Load::kNone;
  }
}

Results::Results(DType to, uint64_t elements, const EngineSettings& settings) : type_(to) {
  const Semantics s = without_payloads(settings.environment.semantics);
  const FloatFormat format = format_of(to);
  if (to == DType::kFloat64 || !is_floating(to)) {
    by_body_ = true;
    return;
  }
  stream_ = elements * softamp::size_of(to) >= kResultStreamFrom;
  vectors_ = &reductions_of(settings.isa);
  plan_ = to == DType::kFloat32 ? plan_round(Element::kF32, format, Element::kU32, s)
                                : plan_round(Element::kF32, format, Element::kU16, kernel::detail::unflushed(s));
  if (to == DType::kFloat32) {
    by_body_ = load_of(to, s) == Load::kNone;
    return;
  }
  by_body_ = !only_bits_lie_elsewhere(s.narrow);
  kernel_ = choose(kernels_of(settings.isa), plan_, Element::kF32, Element::kU16);
  possible_ = static_cast<uint8_t>(plan_.on_inexact | plan_.on_underflow | plan_.on_overflow | plan_.on_infinity);
}

struct Results::Call {
  RandomPlan random;
  const uint32_t* words;  ///< of output 0
};

uint8_t Results::groups(const Call& call, const float* values, uint64_t first, size_t count, char* out, uint8_t wanted,
                        bool stream) const {
  Slice slice{};
  slice.in[0] = values;
  slice.out = out;
  slice.words = call.words ? call.words + first : nullptr;
  slice.index = first;
  slice.count = count;
  slice.stream = stream;
  return kernel_(plan_, call.random, Element::kF32, Element::kU16, slice, wanted);
}

/// Stores `count` results as part of a padded group, from position `lead` on.
uint8_t Results::padded(const Call& call, const float* values, uint64_t first, size_t lead, size_t count, char* out,
                        uint8_t wanted) const {
  alignas(64) float group[kGroup] = {};
  alignas(64) uint16_t codes[kGroup];
  uint32_t words[kGroup] = {};
  std::memcpy(group + lead, values, count * sizeof(float));
  Slice slice{};
  slice.in[0] = group;
  slice.out = codes;
  if (call.words) {
    std::memcpy(words + lead, call.words + first, count * sizeof(uint32_t));
    slice.words = words;
  }
  slice.index = first - lead;
  slice.count = kGroup;
  const uint8_t flags = kernel_(plan_, call.random, Element::kF32, Element::kU16, slice, wanted);
  std::memcpy(out, codes + lead, count * sizeof(uint16_t));
  return flags;
}

void Results::store(const float* values, uint64_t first, size_t count, void* out, const kernel::Environment& e,
                    uint32_t site, FpStatus* status, uint64_t to_index) const {
  if (type_ == DType::kFloat32) {
    float* to = static_cast<float*>(out) + first;
    const bool flushed = plan_.operand_flush_below != 0 || plan_.flush_below != 0;
    size_t head = stream_ ? (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64 / sizeof(float) : 0;
    if (head > count) head = count;
    if (head) vectors_->store(values, head, plan_.nan, flushed, false, to);
    vectors_->store(values + head, count - head, plan_.nan, flushed, stream_, to + head);
    return;
  }
  uint8_t wanted = 0;
  if (status)
    for (int b = 0; b < kFlagCount; ++b)
      if ((possible_ >> b & 1) && status->first_index[b] > first / to_index) wanted |= static_cast<uint8_t>(1 << b);

  const Call call{{e.random, e.operation + site, e.step, 0, nullptr}, plan_.stochastic ? e.table[site].words : nullptr};
  char* to = static_cast<char*>(out) + 2 * first;
  const bool aligned_draws = plan_.stochastic && !call.words;
  uint8_t flags = 0;
  size_t done = 0;
  const auto in_a_group = [&](size_t lead, size_t n) {
    flags = static_cast<uint8_t>(flags | padded(call, values + done, first + done, lead, n, to + 2 * done, wanted));
    done += n;
  };
  const size_t lead = aligned_draws ? first % 8 : 0;
  if (lead) in_a_group(lead, count < 8 - lead ? count : 8 - lead);
  if (const size_t whole = (count - done) / kGroup * kGroup) {
    const bool stream = stream_ && result_starts_line(to + 2 * done);
    flags =
        static_cast<uint8_t>(flags | groups(call, values + done, first + done, whole, to + 2 * done, wanted, stream));
    done += whole;
  }
  if (done < count) in_a_group(0, count - done);

  uint8_t sought = flags & wanted;
  const RoundingPolicy& p = e.semantics.rounding(plan_.format);
  for (size_t i = 0; i < count && sought; ++i) {
    const uint64_t index = first + i;
    const uint8_t raised =
        sought & kernel::finish(plan_.format, values[i], 0, e.semantics, e.draw(p, site, index)).flags;
    if (!raised) continue;
    status->raise(raised, index / to_index);
    sought = static_cast<uint8_t>(sought & ~raised);
  }
}

}  // namespace softamp::emu
