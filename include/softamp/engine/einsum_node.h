// What every engine works out once for an Einsum: the operations that carry it out, one after the other.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "softamp/engine/op_kernel.h"

namespace softamp::engine {

/// One of them: a node, the kernel that it is for, and where its inputs come from.
struct EinsumStep {
  const char* kernel;  ///< "Transpose", "BatchMatMulV2"
  Node node;
  std::vector<TensorType> inputs;
  std::vector<int> from;  ///< k: input k of the Einsum; -1 - s: what step s made
  size_t offset = 0;      ///< of its result in the scratch memory; the last one's is the output
};

/// The operands are transposed to [batch, rows, inner] and [batch, inner, columns], where they do not lie so, or with
/// the last two swapped; then multiplied by BatchMatMulV2, whose result [batch, rows, columns] is transposed to the
/// output's axes. Letters: graph/einsum.h.
// implements: N111
struct EinsumNode {
  explicit EinsumNode(const OpContext& context);

  std::vector<EinsumStep> steps;
  size_t product = 0;        ///< the number of the step that multiplies
  size_t between_bytes = 0;  ///< of all results but the last

  /// The output element that element `place` of the product becomes.
  uint64_t element_of(uint64_t place) const;
  /// What OpKernel::operands_at says, of the product's kernel. `in`: the operands in the host's memory.
  std::vector<uint64_t> operands_at(const OpKernel& multiply, const void* const* in, const kernel::Environment& e,
                                    uint64_t index) const;

 private:
  int left_;
};

/// What the kernels of the engines share; `Base`: an engine's OpKernel.
template <class Base>
class EinsumKernelBase : public Base {
 public:
  /// `make`: a step's kernel, of its context.
  template <class Make>
  EinsumKernelBase(const OpContext& c, const Make& make) : node_(c) {
    for (const EinsumStep& s : node_.steps) {
      kernels_.push_back(make(s.kernel, OpContext{s.node, s.inputs, c.settings, c.warnings}));
      most_scratch_ = std::max(most_scratch_, kernels_.back()->scratch_bytes());
    }
  }
  size_t scratch_bytes() const final { return node_.between_bytes + most_scratch_; }
  uint64_t element_of(uint64_t place) const final { return node_.element_of(place); }
  std::vector<uint64_t> operands_at(const void* const* in, const kernel::Environment& e, uint64_t index) const final {
    return node_.operands_at(*kernels_[node_.product], in, e, index);
  }
  OpKernel::SiteRoundings roundings(uint32_t site) const final { return kernels_[node_.product]->roundings(site); }

 protected:
  /// Calls run(kernel, inputs, outputs, scratch) for each step in turn.
  template <class F>
  void each(const void* const* in, void* const* out, void* scratch, const F& run) const {
    std::byte* const bytes = static_cast<std::byte*>(scratch);
    for (size_t s = 0; s < kernels_.size(); ++s) {
      const EinsumStep& step = node_.steps[s];
      const void* inputs[2] = {};
      for (size_t i = 0; i < step.from.size(); ++i)
        inputs[i] =
            step.from[i] >= 0 ? in[step.from[i]] : bytes + node_.steps[static_cast<size_t>(-1 - step.from[i])].offset;
      void* const output = s + 1 < kernels_.size() ? bytes + step.offset : out[0];
      run(*kernels_[s], inputs, &output, bytes + node_.between_bytes);
    }
  }

 private:
  EinsumNode node_;
  std::vector<std::unique_ptr<Base>> kernels_;
  size_t most_scratch_ = 0;
};

}  // namespace softamp::engine
