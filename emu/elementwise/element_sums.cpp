// The kernels of AddN and of constants.
#include <cstring>

#include "emu/elementwise/element_ways.h"
#include "emu/parallel.h"
#include "softamp/engine/element_attributes.h"

namespace softamp::emu {
namespace {

using kernel::Elementwise;

/// AddN: floats of at most 32 bits in fp32, ascending, rounded once; others in their own arithmetic, ascending.
class AddNKernel final : public ElementKernel {
 public:
  explicit AddNKernel(const OpContext& context)
      : ElementKernel(context, 0), terms_(context.inputs.size()), type_(context.inputs[0].dtype) {
    const bulk::InstructionSet isa = context.settings.isa;
    const LaneTable& table = lanes_of(isa);
    format_ = format_of(type_);
    const Semantics& s = semantics();
    if (type_ == DType::kInt32) return;
    possible_ = type_ == DType::kFloat64 ? kInvalid | kOverflow : possible_flags(s, format_);
    if (type_ == DType::kFloat64) return;
    draws_ = s.draws(format_);
    if (s.wide_operands_flushed) parameters_.flush_below = 0x00800000u;
    if (s.operand_flush_sign == FlushSign::kPositive) parameters_.flush_sign = 0;
    if (s.wide.subnormals == Subnormals::kFlush) parameters_.result_flush_below = 0x00800000u;
    const bool half = type_ == DType::kFloat16, wide = type_ == DType::kFloat32;
    first_ = table.move(half ? LaneMove::kFp16ToFp32 : wide ? LaneMove::kFp32ToFp32 : LaneMove::kBf16ToFp32);
    add_ = table.move(half ? LaneMove::kAddFp16 : wide ? LaneMove::kAddFp32 : LaneMove::kAddBf16);
    finish_ = table.move(LaneMove::kFinishFp32);
    if (!wide) way_ = staged(finish_, Element::kF32, format_, s, isa);
    if (!s.wide.usual() || (wide && s.wide.subnormals == Subnormals::kFlushToPositive)) first_ = nullptr;
  }
  bool in_place() const override { return false; }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment&, uint64_t index) const override {
    std::vector<uint64_t> codes;
    for (size_t k = 0; k < terms_; ++k) codes.push_back(term(in, k, index));
    return codes;
  }

 private:
  uint64_t term(const void* const* in, size_t k, uint64_t index) const {
    uint64_t code = 0;
    const size_t bytes = size_of(type_);
    std::memcpy(&code, static_cast<const char*>(in[k]) + index * bytes, bytes);
    return code;
  }

  Outcome lanes(const OpCall& call, const Block& block, uint8_t wanted) const override {
    if (!first_) return {kAllRare, 0};
    alignas(64) float sums[kElementBlock];
    alignas(64) char tail[kGroup * 4] = {};
    const size_t bytes = size_of(type_);
    for (size_t k = 0; k < terms_; ++k) {
      const void* in = static_cast<const char*>(call.in[k]) + block.begin * bytes;
      if (block.valid != block.count) std::memcpy(tail, in, block.valid * bytes), in = tail;
      (k == 0 ? first_ : add_)({{in}, sums, block.count, false, &parameters_});
    }
    if (!way_.round) return {finish_({{sums}, block.out, block.count, false, &parameters_}), 0};
    // The sums are finished in place: they are not flushed, since they are not fp32 results.
    LaneParameters unflushed;
    Outcome outcome{finish_({{sums}, sums, block.count, false, &unflushed}), 0};
    const BlockWords random_words(words(call, block), block.count, block.valid);
    const Rounding rounded =
        round_block(way_, random_plan(call),
                    {{sums}, block.out, random_words.data, block.begin, block.count, block.stream}, wanted);
    outcome.rare |= rounded.rare;
    outcome.flags = rounded.flags;
    return outcome;
  }

  Rounded element(const OpCall& call, const Block& block, size_t i) const override {
    const uint64_t index = block.begin + i;
    if (type_ == DType::kInt32) {
      uint32_t sum = 0;
      for (size_t k = 0; k < terms_; ++k) sum += static_cast<uint32_t>(term(call.in, k, index));
      return {sum, 0};
    }
    if (type_ == DType::kFloat64) {
      Rounded sum{term(call.in, 0, index), 0};
      kernel::Operands operands;
      operands.add(format_, sum.code, semantics());
      for (size_t k = 1; k < terms_; ++k) {
        const uint64_t next = term(call.in, k, index);
        operands.add(format_, next, semantics());
        sum.code = kernel::arithmetic64(Elementwise::kAdd, sum.code, next, semantics()).code;
      }
      return kernel::finish64(__builtin_bit_cast(double, sum.code), operands, false, semantics());
    }
    kernel::Sum32 sum;
    for (size_t k = 0; k < terms_; ++k) sum.add(format_, term(call.in, k, index), semantics());
    return sum.finish(format_, semantics(), word(call, semantics().rounding(format_), block, i));
  }

  size_t terms_;
  DType type_;
  FloatFormat format_{};
  LaneParameters parameters_;
  LaneKernel first_ = nullptr, add_ = nullptr, finish_ = nullptr;
  Way way_;
};
/// Every element the same: Fill, ZerosLike, OnesLike.
class ConstantKernel final : public OpKernel {
 public:
  ConstantKernel(const OpContext& context, double value)
      : size_(static_cast<size_t>(context.node.outputs[0].shape.elements())), threads_(context.settings.threads) {
    const DType type = context.node.outputs[0].dtype;
    bytes_ = size_of(type);
    const uint64_t code = engine::constant_code(type, value);
    for (size_t i = 0; i < sizeof pattern_; i += bytes_) std::memcpy(pattern_ + i, &code, bytes_);
  }
  void run(const OpCall& call) const override {
    char* const out = static_cast<char*>(call.out[0]);
    auto fill = [&](size_t begin, size_t end, size_t) {
      for (size_t at = begin; at < end; at += sizeof pattern_)
        std::memcpy(out + at, pattern_, end - at < sizeof pattern_ ? end - at : sizeof pattern_);
    };
    const size_t bytes = size_ * bytes_;
    constexpr size_t kGrain = size_t{1} << 18;
    if (bytes <= kGrain)
      fill(0, bytes, 0);
    else
      parallel_ranges(bytes, kGrain, sizeof pattern_, threads_, fill);
  }

 private:
  size_t size_, bytes_ = 1;
  int threads_;
  alignas(64) char pattern_[256];
};
}  // namespace

// implements: N195
std::unique_ptr<OpKernel> make_add_n(const OpContext& context) { return std::make_unique<AddNKernel>(context); }
std::unique_ptr<OpKernel> make_fill(const OpContext& context) {
  return std::make_unique<ConstantKernel>(context, attribute<double>(context.node, "value"));
}
std::unique_ptr<OpKernel> make_zeros(const OpContext& context) {
  return std::make_unique<ConstantKernel>(context, 0.0);
}
std::unique_ptr<OpKernel> make_ones(const OpContext& context) { return std::make_unique<ConstantKernel>(context, 1.0); }

}  // namespace softamp::emu
