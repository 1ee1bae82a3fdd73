// The kernel of Cast: by the bulk engine's roundings and widenings, or first to fp32 or binary64 in the cache.
#include <cstring>

#include "emu/bulk/dispatch.h"
#include "emu/elementwise/element_ways.h"
#include "softamp/engine/cast_node.h"

namespace softamp::emu {
namespace {

using kernel::CastEnd;
using kernel::Number;

bool is_16_bits(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
Element code_element(DType t) { return is_16_bits(t) ? Element::kU16 : Element::kU32; }

/// How a block is converted.
enum class Step : uint8_t {
  kBody,       ///< element by element
  kCopy,       ///< bytes
  kWiden,      ///< the bulk engine's widening
  kRound,      ///< the bulk engine's rounding of fp32 or binary64 operands
  kMove,       ///< one form
  kMoveMove,   ///< to fp32 in the cache, then a form
  kMoveRound,  ///< to fp32 or binary64 in the cache, then a rounding
  kCompare,    ///< x != 0
  kChoose,     ///< the code of 1 or of 0
};

class CastKernel final : public ElementKernel {
 public:
  explicit CastKernel(const OpContext& context)
      : ElementKernel(context, 1),
        source_(context.inputs[0].dtype),
        target_(context.node.outputs[0].dtype),
        from_(engine::cast_end(source_)),
        to_(engine::cast_end(target_)) {
    const Semantics& s = semantics();
    if (to_.number == Number::kFloat) {
      possible_ = possible_flags(s, to_.format);
      draws_ = engine::cast_draws(from_, to_, s);
    } else if (from_.number == Number::kFloat) {
      possible_ = kInvalid;
    }
    if (from_ == to_ && source_ == target_) possible_ = 0;
    plan(context.settings.isa);
  }

 private:
  void plan(bulk::InstructionSet isa) {
    const Semantics& s = semantics();
    const LaneTable& table = lanes_of(isa);
    const bool rounds_to_fp32 = target_ == DType::kFloat32 && s.wide.mode == RoundingMode::kNearestEven;
    if (source_ == target_) {
      step_ = Step::kCopy;
    } else if (source_ == DType::kBool) {
      step_ = to_.number == Number::kInt32 ? Step::kMove : Step::kChoose;
      first_ = table.move(LaneMove::kBoolToInt32);
      // The body rounds 1 without random bits, which an unusual policy may move.
      if (to_.number == Number::kFloat && !s.rounding(to_.format).usual()) step_ = Step::kBody;
      prepare_choice(table);
    } else if (target_ == DType::kBool) {
      plan_truth(table, isa);
    } else if (source_ == DType::kInt32) {
      step_ = rounds_to_fp32 || target_ == DType::kFloat64 ? Step::kMove : Step::kMoveRound;
      if (target_ == DType::kFloat64 && !s.wide.usual()) step_ = Step::kBody;
      first_ = table.move(rounds_to_fp32 ? LaneMove::kInt32ToFp32 : LaneMove::kInt32ToFp64);
      inexact_unseen_ = rounds_to_fp32;
      if (step_ == Step::kMoveRound) way_ = staged(nullptr, Element::kF64, to_.format, s, isa);
    } else if (target_ == DType::kInt32) {
      step_ = is_16_bits(source_) ? Step::kMoveMove : Step::kMove;
      second_ = table.move(source_ == DType::kFloat64 ? LaneMove::kFp64ToInt32 : LaneMove::kFp32ToInt32);
      first_ = step_ == Step::kMove ? second_ : table.move(widening());
    } else if (is_16_bits(source_) && is_16_bits(target_)) {
      step_ = Step::kMoveRound;
      first_ = table.move(widening());
      finish_ = table.move(LaneMove::kFinishFp32);
      way_ = staged(nullptr, Element::kF32, to_.format, s, isa);
    } else if (is_16_bits(source_) || target_ == DType::kFloat64) {
      widen_plan_ = plan_widen(from_.format, target_ == DType::kFloat64 ? Element::kF64 : Element::kF32, s);
      const bool ieee_infinities = s.narrow_infinity == InfinityOperand::kIeee || !is_16_bits(source_);
      step_ = widen_plan_.vectorised && ieee_infinities ? Step::kWiden : Step::kBody;
      widen_ = kernels_of(isa).widen;
      const bool usual = s.wide.usual() && s.wide.subnormals != Subnormals::kFlushToPositive;
      if (ieee_infinities && target_ == DType::kFloat32 && usual) {
        step_ = Step::kMove;
        first_ = table.move(source_ == DType::kFloat16 ? LaneMove::kWidenFp16 : LaneMove::kWidenBf16);
        if (s.wide.subnormals == Subnormals::kFlush) parameters_.result_flush_below = 0x00800000u;
      }
    } else {
      step_ = Step::kRound;
      const Element values = source_ == DType::kFloat64 ? Element::kF64 : Element::kF32;
      way_ = staged(nullptr, values, to_.format, s, isa);
      // These are operands, which the preset may flush to zero; with their sign if the result is bf16.
      way_.plan = plan_round(values, to_.format, code_element(target_), s);
      way_.round = choose(kernels_of(isa), way_.plan, values, code_element(target_));
      if (s.wide_operands_flushed) way_.parameters.result_flush_below = 0x00800000u;
      if (s.operand_flush_sign == FlushSign::kPositive) way_.parameters.result_flush_sign = 0;
    }
  }
  LaneMove widening() const { return source_ == DType::kFloat16 ? LaneMove::kFp16ToFp32 : LaneMove::kBf16ToFp32; }
  void plan_truth(const LaneTable& table, bulk::InstructionSet isa) {
    if (source_ == DType::kInt32) {
      step_ = Step::kMove;
      first_ = table.move(LaneMove::kInt32ToBool);
    } else if (source_ != DType::kFloat64) {
      step_ = Step::kCompare;
      first_ = ways_of(kernel::Elementwise::kNotEqual, source_, semantics(), isa, parameters_).silent.form;
    }
  }
  /// For bool to a float: a block of ones and one of zeros.
  void prepare_choice(const LaneTable& table) {
    if (step_ != Step::kChoose) return;
    const size_t bytes = size_of(target_);
    const uint64_t one = fp::from_double(to_.format, 1.0);
    ones_.resize(kElementBlock * bytes);
    for (size_t i = 0; i < kElementBlock; ++i) std::memcpy(ones_.data() + i * bytes, &one, bytes);
    first_ = table.move(bytes == 2 ? LaneMove::kSelect16 : bytes == 4 ? LaneMove::kSelect32 : LaneMove::kSelect64);
  }

  Outcome lanes(const OpCall& call, const Block& b, uint8_t wanted) const override {
    alignas(64) char values[kElementBlock * 8];
    Outcome outcome;
    const BlockWords random_words(words(call, b), b.count, b.valid);
    const auto slice = [&](const void* in) {
      return Slice{{in}, b.out, random_words.data, b.begin, b.count, b.stream};
    };
    switch (step_) {
      case Step::kBody: return {kAllRare, 0};
      case Step::kCopy: std::memcpy(b.out, b.in[0], b.count * size_of(target_)); break;
      case Step::kWiden:
        outcome.flags = widen_(widen_plan_, code_element(source_),
                               target_ == DType::kFloat64 ? Element::kF64 : Element::kF32, slice(b.in[0]), wanted);
        break;
      case Step::kRound:
        if (way_.to_bf16 && !(wanted & (kInexact | kUnderflow))) {
          Suspects suspects;
          Suspects* const noted = way_.one_nan ? &suspects : nullptr;
          outcome.rare = way_.to_bf16({{b.in[0]}, b.out, b.count, b.stream, &way_.parameters, noted});
          outcome.rare |= suspects.of_interest(wanted);
        } else {
          outcome.flags =
              way_.round(way_.plan, random_plan(call), way_.values, code_element(target_), slice(b.in[0]), wanted);
        }
        break;
      case Step::kMove:
        outcome.rare = first_({{b.in[0]}, b.out, b.count, b.stream, &parameters_});
        if (inexact_unseen_) outcome.flags = kInexact;
        break;
      case Step::kMoveMove:
        first_({{b.in[0]}, values, b.count, false, &parameters_});
        outcome.rare = second_({{values}, b.out, b.count, b.stream, &parameters_});
        break;
      case Step::kMoveRound:
        first_({{b.in[0]}, values, b.count, false, &parameters_});
        if (finish_) outcome.rare = finish_({{values}, values, b.count, false, &parameters_});
        {
          const Rounding rounded = round_block(way_, random_plan(call), slice(values), wanted);
          outcome.rare |= rounded.rare;
          outcome.flags = rounded.flags;
        }
        break;
      case Step::kCompare:
        std::memset(values, 0, b.count * size_of(source_));
        outcome.rare = first_({{b.in[0], values}, b.out, b.count, false, &parameters_});
        break;
      case Step::kChoose:
        std::memset(values, 0, b.count * size_of(target_));
        first_({{b.in[0], ones_.data(), values}, b.out, b.count, b.stream, &parameters_});
        break;
    }
    return outcome;
  }

  Rounded element(const OpCall& call, const Block& block, size_t i) const override {
    const uint32_t random = draws_ ? word(call, semantics().rounding(to_.format), block, i) : 0;
    return kernel::cast(from_, to_, code(block, 0, i), semantics(), random);
  }

  DType source_, target_;
  CastEnd from_, to_;
  Step step_ = Step::kBody;
  LaneParameters parameters_;
  LaneKernel first_ = nullptr, second_ = nullptr, finish_ = nullptr;
  WidenPlan widen_plan_{};
  WidenKernel widen_ = nullptr;
  Way way_;
  bool inexact_unseen_ = false;
  std::vector<char> ones_;
};

std::unique_ptr<OpKernel> make_cast(const OpContext& context) { return std::make_unique<CastKernel>(context); }

constexpr KernelEntry kCastEntries[] = {{"Cast", make_cast}};

}  // namespace

std::span<const KernelEntry> cast_kernels() { return kCastEntries; }

}  // namespace softamp::emu
