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

/// Elements of kBytes (2, 4) bytes.
template <unsigned kBytes>
struct CodeGroups {
  static constexpr unsigned kAtOnce = 8 / kBytes;                  ///< groups: 64 bytes of each operand
  static constexpr unsigned kMostThreads = 128, kLeastBlocks = 5;  ///< so that 40 KiB of one are on their way

  CodeRules rules;
  bool integer;
  ElementBody body;
  GroupOperand in[2];
  void* out;
  unsigned out_bytes;
  bool binary, vectors;
  GroupRun run;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      each_group_at_once<Codes, kAtOnce>(
          block, t, run.size, vectors,
          [&](uint64_t first, Codes& read) {
            read.a.load(in[0], first);
            if (binary) read.b.load(in[1], first);
          },
          [&](uint64_t first, const Codes& read) {
            uint32_t code[kGroup];
            const bool rare = decide<kGroup>(read.a, read.b, code);
            if (!rare) store_whole(out, out_bytes, first, code);
            return rare;
          },
          [&](uint64_t first) { elements(first); });
    });
  }

 private:
  static constexpr unsigned kShift = kBytes == 2 ? 16 : 0;  ///< to alignment at bit 31
  struct Codes {
    GroupCodes<kBytes> a, b;
  };

  SOFTAMP_HD __attribute__((noinline)) void elements(uint64_t first) const {
    run.each_pair<kBytes>(in[0], in[1], first, [&](uint64_t i, uint64_t code_a, uint64_t code_b) {
      const uint32_t x[] = {static_cast<uint32_t>(code_a)}, y[] = {static_cast<uint32_t>(code_b)};
      uint32_t code[1];
      Rounded r{0, 0};
      if (decide<1>(x, y, code))
        r = body.chosen(code_a, code_b, run.environment.environment.semantics);
      else
        r.code = code[0];
      store_element(out, out_bytes, i, r.code);
      raise_status(run.status, r.flags, i);
    });
  }

  /// What is done with kCount elements' codes; true: the body must do one of them.
  template <unsigned kCount, class Of>
  SOFTAMP_PRIMITIVE bool decide(const Of& a, const Of& b, uint32_t (&code)[kCount]) const {
    if constexpr (kBytes == 4)
      if (integer) return integers<kCount>(a, b, code), false;
    return floats<kCount>(a, b, code);
  }

  template <unsigned kCount, class Of>
  SOFTAMP_PRIMITIVE void integers(const Of& a, const Of& b, uint32_t (&code)[kCount]) const {
    switch (body.op) {
#define SOFTAMP_OF(OP)                                                                                          \
  case Elementwise::OP:                                                                                         \
    for_each_of<kCount>([&](unsigned j) { code[j] = kernel::elementwise_int32(Elementwise::OP, a[j], b[j]); }); \
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
      default: for_each_of<kCount>([&](unsigned j) { code[j] = 0; });
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

  template <unsigned kCount, class Of>
  SOFTAMP_PRIMITIVE bool floats(const Of& a, const Of& b, uint32_t (&code)[kCount]) const {
    uint32_t greatest = 0;  // magnitude
    const auto look_at = [&](uint32_t u) { greatest = (u & kMagnitude) > greatest ? u & kMagnitude : greatest; };
    // What is done with element j's operands; a result of a selection is aligned as they are.
    const auto unary = [&](auto f) {
      for_each_of<kCount>([&](unsigned j) {
        const uint32_t u = a[j] << kShift;
        look_at(u);
        code[j] = f(u) >> kShift;
      });
    };
    const auto larger = [&](bool want_greater) {
      for_each_of<kCount>([&](unsigned j) {
        const uint32_t u = a[j] << kShift, v = b[j] << kShift;
        look_at(u), look_at(v);
        const uint32_t x = operand(u), y = operand(v);
        code[j] = result(((key(x) > key(y)) == want_greater) ? x : y) >> kShift;
      });
    };
    const auto relation = [&](auto f) {
      for_each_of<kCount>([&](unsigned j) {
        const uint32_t u = a[j] << kShift, v = b[j] << kShift;
        look_at(u), look_at(v);
        code[j] = f(number(u), number(v));
      });
    };
    const auto positive = [&](uint32_t u) {
      const uint32_t x = operand(u);
      return static_cast<int32_t>(x) > 0 ? x : 0u;
    };
    switch (body.op) {
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
        for_each_of<kCount>([&](unsigned j) {
          const uint32_t v = b[j] << kShift;
          look_at(v);
          code[j] = number(v) > 0 ? a[j] : 0;
        });
        break;
      case Elementwise::kEqual: relation([](int32_t x, int32_t y) { return uint32_t{x == y}; }); break;
      case Elementwise::kNotEqual: relation([](int32_t x, int32_t y) { return uint32_t{x != y}; }); break;
      case Elementwise::kLess: relation([](int32_t x, int32_t y) { return uint32_t{x < y}; }); break;
      case Elementwise::kLessEqual: relation([](int32_t x, int32_t y) { return uint32_t{x <= y}; }); break;
      case Elementwise::kGreater: relation([](int32_t x, int32_t y) { return uint32_t{x > y}; }); break;
      case Elementwise::kGreaterEqual: relation([](int32_t x, int32_t y) { return uint32_t{x >= y}; }); break;
      // Of these nothing has been looked at.
      case Elementwise::kIsNan:
        for_each_of<kCount>([&](unsigned j) { code[j] = (a[j] << kShift & kMagnitude) > rules.rare_from; });
        break;
      default:  // IsFinite
        for_each_of<kCount>([&](unsigned j) { code[j] = (a[j] << kShift & kMagnitude) < rules.rare_from; });
        break;
    }
    return greatest >= rules.rare_from;
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

template <unsigned kBytes>
void put(const DeviceCall& call, const ElementwiseLaunch& e, const CodeRules& rules) {
  using Kernel = CodeGroups<kBytes>;
  const bool vectors = e.in[0].at_once() && e.in[1].at_once() && detail::aligned_groups(e.out, e.out_bytes);
  call.device.launch("element_codes", at_once_grid(call.device, e.size, Kernel::kMostThreads),
                     Kernel{rules,
                            e.type == DType::kInt32,
                            {e.op, format_of(e.type), e.alpha},
                            {e.in[0], e.in[1]},
                            e.out,
                            e.out_bytes,
                            kernel::operand_count(e.op) == 2,
                            vectors,
                            {e.size, call.environment, call.status}});
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
  const CodeRules rules = integer ? CodeRules{~0u} : rules_of(e.op, f, s, wide ? 0 : 16);
  if (integer || wide)
    put<4>(call, e, rules);
  else
    put<2>(call, e, rules);
  return true;
}

}  // namespace softamp::cuda
