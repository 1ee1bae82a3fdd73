// Selections and comparisons on codes, without converting them. As integers, codes have the order of the numbers once
// sign and magnitude are made two's complement. 16-bit codes get 16 zero bits on the right, so that the same code
// serves fp16, bf16 and fp32. NaNs, and infinities that the preset reads as something else, are left to the body. int32
// is done here, too.
#include "cuda/elementwise/elementwise.h"

namespace softamp::cuda {
namespace {

using kernel::Elementwise;

constexpr uint32_t kSign = 0x80000000u, kMagnitude = 0x7FFFFFFFu;

/// Constants for codes aligned at bit 31.
struct CodeRules {
  uint32_t rare_from;           ///< magnitudes from here on are left to the body
  uint32_t flush_below = 0;     ///< of operands
  uint32_t flush_sign = kSign;  ///< what these keep
  uint32_t result_flush_below = 0;
  uint32_t six = 0;  ///< the code of 6
};

struct CodeGroups {
  static constexpr unsigned kLeastBlocks = 2;  ///< of 256 threads

  CodeRules rules;
  unsigned shift;  ///< (0, 16) to alignment at bit 31
  bool integer;
  Elementwise op;
  RareElements rare_elements;
  GroupOperand in[2];
  void* out;
  unsigned out_bytes;
  bool binary, vectors;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      each_group(block, t, run.size, [&](uint64_t first, unsigned count) {
        uint32_t a[kGroup], b[kGroup] = {}, code[kGroup] = {};
        load_group(in[0], first, count, a);
        if (binary) load_group(in[1], first, count, b);
        if (integer)
          integers(a, b, code);
        else
          floats(first, count, a, b, code);
        store_group(out, out_bytes, vectors, first, count, code);
      });
    });
  }

 private:
  using Codes = uint32_t[kGroup];

  SOFTAMP_PRIMITIVE void integers(const Codes& a, const Codes& b, Codes& code) const {
    switch (op) {
#define SOFTAMP_OF(OP)                                                                                \
  case Elementwise::OP:                                                                               \
    for_group([&](unsigned j) { code[j] = kernel::elementwise_int32(Elementwise::OP, a[j], b[j]); }); \
    break;
      SOFTAMP_OF(kAdd)
      SOFTAMP_OF(kSub)
      SOFTAMP_OF(kMul)
      SOFTAMP_OF(kSquare)
      SOFTAMP_OF(kNeg)
      SOFTAMP_OF(kAbs)
      SOFTAMP_OF(kMaximum)
      SOFTAMP_OF(kMinimum)
      SOFTAMP_OF(kRelu)
      SOFTAMP_OF(kRelu6)
      SOFTAMP_OF(kReluGrad)
      SOFTAMP_OF(kEqual)
      SOFTAMP_OF(kNotEqual)
      SOFTAMP_OF(kLess)
      SOFTAMP_OF(kLessEqual)
      SOFTAMP_OF(kGreater)
      SOFTAMP_OF(kGreaterEqual)
#undef SOFTAMP_OF
      default: for_group([&](unsigned j) { code[j] = 0; });
    }
  }

  SOFTAMP_PRIMITIVE uint32_t operand(uint32_t u) const { return flushed(u, rules.flush_below, rules.flush_sign); }
  SOFTAMP_PRIMITIVE uint32_t result(uint32_t u) const { return flushed(u, rules.result_flush_below, kSign); }
  /// Orders codes, -0 below +0.
  static SOFTAMP_PRIMITIVE int32_t key(uint32_t u) {
    return static_cast<int32_t>(u ^ (static_cast<uint32_t>(static_cast<int32_t>(u) >> 31) & kMagnitude));
  }
  /// Orders numbers: both zeros are 0.
  SOFTAMP_PRIMITIVE int32_t number(uint32_t u) const {
    const uint32_t v = flushed(u, rules.flush_below, 0),
                   negative = static_cast<uint32_t>(static_cast<int32_t>(v) >> 31);
    return static_cast<int32_t>(((v & kMagnitude) ^ negative) - negative);
  }

  SOFTAMP_PRIMITIVE void floats(uint64_t first, unsigned count, const Codes& a, const Codes& b, Codes& code) const {
    uint32_t rare = 0;
    const auto look_at = [&](unsigned j, uint32_t u) {
      if ((u & kMagnitude) >= rules.rare_from) rare |= 1u << j;
    };
    // What is done with element j's operands; a result of a selection is aligned as they are.
    const auto unary = [&](auto f) {
      for_group([&](unsigned j) {
        const uint32_t u = a[j] << shift;
        look_at(j, u);
        code[j] = f(u) >> shift;
      });
    };
    const auto larger = [&](bool want_greater) {
      for_group([&](unsigned j) {
        const uint32_t u = a[j] << shift, v = b[j] << shift;
        look_at(j, u), look_at(j, v);
        const uint32_t x = operand(u), y = operand(v);
        code[j] = result(((key(x) > key(y)) == want_greater) ? x : y) >> shift;
      });
    };
    const auto relation = [&](auto f) {
      for_group([&](unsigned j) {
        const uint32_t u = a[j] << shift, v = b[j] << shift;
        look_at(j, u), look_at(j, v);
        code[j] = f(number(u), number(v));
      });
    };
    const auto positive = [&](uint32_t u) {
      const uint32_t x = operand(u);
      return static_cast<int32_t>(x) > 0 ? x : 0u;
    };
    switch (op) {
      case Elementwise::kNeg: unary([](uint32_t u) { return u ^ kSign; }); break;
      case Elementwise::kAbs: unary([](uint32_t u) { return u & kMagnitude; }); break;
      case Elementwise::kRelu: unary([&](uint32_t u) { return result(positive(u)); }); break;
      case Elementwise::kRelu6:
        unary([&](uint32_t u) {
          const uint32_t x = positive(u);
          return result(x > rules.six ? rules.six : x);
        });
        break;
      case Elementwise::kMaximum: larger(true); break;
      case Elementwise::kMinimum: larger(false); break;
      case Elementwise::kReluGrad:
        for_group([&](unsigned j) {
          const uint32_t v = b[j] << shift;
          look_at(j, v);
          code[j] = number(v) > 0 ? a[j] : 0;
        });
        break;
      case Elementwise::kEqual: relation([](int32_t x, int32_t y) { return uint32_t{x == y}; }); break;
      case Elementwise::kNotEqual: relation([](int32_t x, int32_t y) { return uint32_t{x != y}; }); break;
      case Elementwise::kLess: relation([](int32_t x, int32_t y) { return uint32_t{x < y}; }); break;
      case Elementwise::kLessEqual: relation([](int32_t x, int32_t y) { return uint32_t{x <= y}; }); break;
      case Elementwise::kGreater: relation([](int32_t x, int32_t y) { return uint32_t{x > y}; }); break;
      case Elementwise::kGreaterEqual: relation([](int32_t x, int32_t y) { return uint32_t{x >= y}; }); break;
      case Elementwise::kIsNan:
        for_group([&](unsigned j) { code[j] = (a[j] << shift & kMagnitude) > rules.rare_from; });
        return;
      default:  // IsFinite
        for_group([&](unsigned j) { code[j] = (a[j] << shift & kMagnitude) < rules.rare_from; });
        return;
    }
    rare &= (1u << count) - 1;
    if (rare) settle(first, rare, code);
  }

  /// A copy, so that the group itself is in registers.
  SOFTAMP_PRIMITIVE void settle(uint64_t first, uint32_t rare, Codes& code) const {
    Codes r;
    for_group([&](unsigned j) { r[j] = code[j]; });
    rare_elements.settle(in, run.environment, first, rare, r, run.status);
    for_group([&](unsigned j) { code[j] = r[j]; });
  }
};

bool looks_at_class(Elementwise op) { return op == Elementwise::kIsNan || op == Elementwise::kIsFinite; }

CodeRules rules_of(Elementwise op, const FloatFormat& f, const Semantics& s, unsigned shift) {
  const bool wide = f.storage_bits() > 16, plain = infinities_are_plain(s, f);
  const bool keeps = s.rounding(f).infinity == InfinityResult::kKeep;
  const uint32_t infinity = static_cast<uint32_t>(f.infinity_code()) << shift, nan = infinity + 1;
  CodeRules r{nan};
  if (looks_at_class(op))
    r.rare_from = infinity;
  else if (op == Elementwise::kReluGrad || kernel::is_comparison(op))
    r.rare_from = plain ? nan : infinity;
  else if (op != Elementwise::kNeg && op != Elementwise::kAbs)
    r.rare_from = plain && keeps ? nan : infinity;
  if (wide && s.wide_operands_flushed) r.flush_below = kLeastNormal32;
  if (s.operand_flush_sign == FlushSign::kPositive) r.flush_sign = 0;
  if (wide && s.wide.subnormals == Subnormals::kFlush) r.result_flush_below = kLeastNormal32;
  r.six = static_cast<uint32_t>(fp::from_double(f, 6.0)) << shift;
  return r;
}

}  // namespace

bool launch_codes(const DeviceCall& call, const ElementwiseLaunch& e) {
  const bool integer = e.type == DType::kInt32;
  if (!integer && (e.type == DType::kFloat64 || kernel::rounds(e.op))) return false;
  const FloatFormat f = format_of(e.type);
  const Semantics& s = call.environment.environment.semantics;
  if (!integer && !s.usual()) return false;
  // A zero that flushing makes positive cannot be distinguished from an unflushed negative one.
  const bool wide = f.storage_bits() > 16;
  if (!integer && kernel::is_selection(e.op) &&
      (wide ? s.wide.subnormals == Subnormals::kFlushToPositive : s.narrow.subnormals != Subnormals::kKeep))
    return false;
  const unsigned shift = wide ? 0 : 16;
  const CodeGroups groups{integer ? CodeRules{~0u} : rules_of(e.op, f, s, shift),
                          shift,
                          integer,
                          e.op,
                          {e.op, f, e.alpha, false},
                          {e.in[0], e.in[1]},
                          e.out,
                          e.out_bytes,
                          kernel::operand_count(e.op) == 2,
                          detail::aligned_groups(e.out, e.out_bytes),
                          e.size,
                          call.environment,
                          call.status};
  call.device.launch("element_codes", group_grid(call.device, e.size), groups);
  return true;
}

}  // namespace softamp::cuda
