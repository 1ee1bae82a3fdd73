// The loop of element-wise kernels: blocks that stay in the first-level cache, threads, broadcasting, padding of ends
// to a group, results in place, and the search for the lowest index of a flag.
#pragma once

#include "emu/elementwise/elementwise.h"
#include "emu/op_kernel.h"
#include "emu/operand_view.h"
#include "softamp/engine/operand_map.h"

namespace softamp::emu {

/// A kernel whose output element i is computed from the operands' elements i, broadcast.
class ElementKernel : public OpKernel {
 public:
  void run(const OpCall& call) const final;
  bool in_place() const override { return in_place_; }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment&, uint64_t index) const override {
    return places_.codes_at(in, index);
  }
  SiteRoundings roundings(uint32_t site) const override {
    return draws_ && site == 0 ? SiteRoundings{1, size_} : SiteRoundings{};
  }

 protected:
  /// A run of elements. `count` is a multiple of kGroup, the first `valid` are real; operands are broadcast.
  struct Block {
    const void* in[3] = {};
    void* out = nullptr;
    uint64_t begin = 0;  ///< index of the first in the output
    size_t count = 0, valid = 0;
    bool stream = false;
  };
  /// Groups (a bit each) that the body must compute, and flags that may be raised elsewhere in the block.
  struct Outcome {
    uint64_t rare = 0;
    uint8_t flags = 0;
  };
  static constexpr uint64_t kAllRare = ~uint64_t{0};

  /// Operands that are broadcast to output 0: the first `operands` (0 .. 3) inputs.
  ElementKernel(const OpContext& context, int operands);

  /// Computes a block by vectors. `wanted`: flags that are looked for.
  virtual Outcome lanes(const OpCall& call, const Block& block, uint8_t wanted) const = 0;
  /// Element i of the block by the body.
  virtual Rounded element(const OpCall& call, const Block& block, size_t i) const = 0;

  /// The code of operand k's element i.
  uint64_t code(const Block& block, int k, size_t i) const;
  /// The random word for element i of a block, as `Environment::draw` gives it.
  static uint32_t word(const OpCall& call, const RoundingPolicy& p, const Block& block, size_t i) {
    return call.environment.draw(p, 0, block.begin + i);
  }
  /// The generator's state for rounding site `site`, as the bulk kernels take it.
  static RandomPlan random_plan(const OpCall& call, uint32_t site = 0);
  /// Words drawn beforehand for the block; null where there are none.
  static const uint32_t* words(const OpCall& call, const Block& block, uint32_t site = 0);

  const Semantics& semantics() const { return semantics_; }
  size_t size() const { return size_; }
  bool reference() const { return reference_; }

  uint8_t possible_ = 0;      ///< flags that elements may raise
  bool draws_ = false;        ///< every element may be rounded stochastically
  size_t grain_ = 32 * 1024;  ///< elements that are worth a thread

 private:
  struct Buffers;
  void piece(const OpCall& call, size_t begin, size_t end, FpStatus* status) const;
  void block(const OpCall& call, const Block& block, FpStatus* status, uint8_t& wanted) const;
  void settle(const OpCall& call, const Block& block, Outcome outcome, FpStatus* status, uint8_t& wanted) const;
  void by_body(const OpCall& call) const;

  Semantics semantics_;
  OperandView views_[3];
  char padding_[3][kGroup * 8];  ///< a group of operands that raise nothing
  int operands_;
  engine::ElementOperands places_;
  size_t size_, out_bytes_;
  int threads_;
  bool reference_, in_place_ = false, stream_ = false;
};

/// The flags that a rounding to format `f` under `s`, or an invalid operation, may raise.
uint8_t possible_flags(const Semantics& s, const FloatFormat& f);

}  // namespace softamp::emu
