#include "emu/elementwise/element_loop.h"

#include <algorithm>
#include <cstring>

#include "emu/bulk/reference.h"
#include "emu/parallel.h"
#include "emu/stop_check.h"
#include "softamp/machine/float_environment.h"

namespace softamp::emu {
namespace {

// Arrays larger than this together would not stay in a core's share of the last-level cache.
constexpr size_t kStreamFrom = size_t{16} << 20;

uint64_t load_code(const void* array, size_t bytes, size_t i) {
  uint64_t code = 0;
  std::memcpy(&code, static_cast<const char*>(array) + i * bytes, bytes);
  return code;
}
void store_code(void* array, size_t bytes, size_t i, uint64_t code) {
  std::memcpy(static_cast<char*>(array) + i * bytes, &code, bytes);
}

}  // namespace

uint8_t possible_flags(const Semantics& s, const FloatFormat& f) {
  const RoundingPolicy& p = s.rounding(f);
  return static_cast<uint8_t>(kInvalid | (p.flags & (kInexact | kUnderflow | kOverflow | kDivideByZero)));
}

/// A thread's own buffers.
struct ElementKernel::Buffers {
  OperandView::Buffer operand[3];
  alignas(64) char tail[3][kGroup * 8];
  alignas(64) char result[kElementBlock * 8];
};

ElementKernel::ElementKernel(const OpContext& context, int operands)
    : semantics_(context.settings.environment.semantics),
      operands_(operands),
      places_(context, operands),
      threads_(context.settings.threads),
      reference_(context.settings.reference) {
  const TensorType& out = context.node.outputs[0];
  size_ = static_cast<size_t>(out.shape.elements());
  out_bytes_ = size_of(out.dtype);
  size_t bytes = size_ * out_bytes_;
  for (int k = 0; k < operands; ++k) {
    const TensorType& in = context.inputs[static_cast<size_t>(k)];
    views_[k] = OperandView(in.shape, out.shape, size_of(in.dtype));
    const uint64_t one = is_floating(in.dtype) ? fp::from_double(format_of(in.dtype), 1.0) : 1;
    for (size_t i = 0; i < kGroup; ++i) store_code(padding_[k], size_of(in.dtype), i, one);
    bytes += views_[k].elements() * views_[k].bytes();
  }
  in_place_ = operands > 0 && views_[0].direct() && views_[0].bytes() == out_bytes_;
  stream_ = bytes > kStreamFrom;
}

uint64_t ElementKernel::code(const Block& block, int k, size_t i) const {
  return load_code(block.in[k], views_[k].bytes(), i);
}

RandomPlan ElementKernel::random_plan(const OpCall& call, uint32_t site) {
  return {call.environment.random, call.environment.operation + site, call.environment.step, 0, nullptr};
}

const uint32_t* ElementKernel::words(const OpCall& call, const Block& block, uint32_t site) {
  const uint32_t* const all = call.environment.table[site].words;
  return all ? all + block.begin : nullptr;
}

void ElementKernel::run(const OpCall& call) const {
  if (size_ == 0) return;
  if (reference_) return by_body(call);
  if (size_ <= grain_) {
    const engine::DefaultRegisters guard;
    piece(call, 0, size_, call.status);
    return;
  }
  parallel_status(size_, grain_, kElementBlock, threads_, call.status,
                  [&](size_t begin, size_t end, FpStatus* status) { piece(call, begin, end, status); });
}

void ElementKernel::piece(const OpCall& call, size_t begin, size_t end, FpStatus* status) const {
  Buffers buffers;
  uint8_t wanted = status ? possible_ : uint8_t{0};
  char* const out = static_cast<char*>(call.out[0]);
  const bool same = operands_ > 0 && call.in[0] == call.out[0];
  const bool stream = stream_ && !same && reinterpret_cast<uintptr_t>(out) % 64 == 0;
  for (size_t at = begin; at < end; at += kElementBlock) {
    const size_t valid = std::min(kElementBlock, end - at), whole = valid / kGroup * kGroup;
    Block b;
    for (int k = 0; k < operands_; ++k) b.in[k] = views_[k].at(call.in[k], at, valid, buffers.operand[k]);
    if (whole != 0) {
      b.begin = at, b.count = b.valid = whole;
      b.out = same ? buffers.result : out + at * out_bytes_;
      b.stream = stream;
      block(call, b, status, wanted);
      if (same) std::memcpy(out + at * out_bytes_, buffers.result, whole * out_bytes_);
    }
    if (whole == valid) continue;
    const size_t left = valid - whole;
    for (int k = 0; k < operands_; ++k) {
      const size_t bytes = views_[k].bytes();
      std::memcpy(buffers.tail[k], static_cast<const char*>(b.in[k]) + whole * bytes, left * bytes);
      std::memcpy(buffers.tail[k] + left * bytes, padding_[k], (kGroup - left) * bytes);
      b.in[k] = buffers.tail[k];
    }
    b.begin = at + whole, b.count = kGroup, b.valid = left;
    b.out = buffers.result;
    b.stream = false;
    block(call, b, status, wanted);
    std::memcpy(out + (at + whole) * out_bytes_, buffers.result, left * out_bytes_);
  }
}

void ElementKernel::block(const OpCall& call, const Block& block, FpStatus* status, uint8_t& wanted) const {
  const Outcome outcome = lanes(call, block, wanted);
  if (outcome.rare != 0 || (outcome.flags & wanted) != 0) [[unlikely]]
    settle(call, block, outcome, status, wanted);
}

void ElementKernel::settle(const OpCall& call, const Block& block, Outcome outcome, FpStatus* status,
                           uint8_t& wanted) const {
  uint8_t sought = outcome.flags & wanted;
  for (size_t i = 0; i < block.valid && sought; ++i) {
    const uint8_t raised = element(call, block, i).flags & sought;
    if (!raised) continue;
    status->raise(raised, block.begin + i);
    sought = static_cast<uint8_t>(sought & ~raised);
    wanted = static_cast<uint8_t>(wanted & ~raised);
  }
  for (uint64_t rare = outcome.rare; rare; rare &= rare - 1) {
    const size_t first = static_cast<size_t>(__builtin_ctzll(rare)) * kGroup;
    if (first >= block.valid) break;
    for (size_t i = first; i < std::min(first + kGroup, block.valid); ++i) {
      const Rounded r = element(call, block, i);
      store_code(block.out, out_bytes_, i, r.code);
      if (!status) continue;
      status->raise(r.flags, block.begin + i);
      wanted = static_cast<uint8_t>(wanted & ~r.flags);
    }
  }
}

void ElementKernel::by_body(const OpCall& call) const {
  const engine::DefaultRegisters guard;
  StopCheck check(call.stop);
  for (size_t i = 0; i < size_; ++i) {
    Block b;
    for (int k = 0; k < operands_; ++k)
      b.in[k] = static_cast<const char*>(call.in[k]) + views_[k].place(i) * views_[k].bytes();
    b.begin = i, b.count = b.valid = 1;
    const Rounded r = element(call, b, 0);
    store_code(call.out[0], out_bytes_, i, r.code);
    if (call.status) call.status->raise(r.flags, i);
    check.after(StopCheck::kBody);
  }
}

}  // namespace softamp::emu
