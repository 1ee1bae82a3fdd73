// An operand of an element-wise operation as the output sees it: NumPy's broadcasting, as a map of indices.
#pragma once

#include <cstring>
#include <vector>

#include "softamp/engine/op_kernel.h"
#include "softamp/kernel/structure.h"

namespace softamp::engine {

struct OperandMap {
  bool direct = true;  ///< indices are the output's
  kernel::StructureMap map;

  OperandMap() = default;
  /// `shape` broadcasts to `output`; axes with one common stride are joined.
  OperandMap(const Shape& shape, const Shape& output) {
    direct = shape == output || shape.elements() == output.elements();
    if (direct) return;
    int64_t strides[Shape::kMaxRank]{}, next = 1;
    const int lead = output.rank() - shape.rank();
    for (int a = output.rank() - 1; a >= lead; --a) {
      const int64_t extent = shape[a - lead];
      strides[a] = extent == 1 ? 0 : next;
      next *= extent;
    }
    for (int a = 0; a < output.rank(); ++a) {
      if (output[a] == 1) continue;
      kernel::AxisMap* const before = map.rank ? &map.axis[map.rank - 1] : nullptr;
      if (before && before->stride == strides[a] * output[a]) {
        before->extent *= output[a];
        before->bound = before->extent;
        before->stride = strides[a];
        continue;
      }
      map.axis[map.rank++] = {output[a], 0, 1, output[a], strides[a], false};
    }
  }

  SOFTAMP_HD uint64_t place(uint64_t index) const {
    return direct ? index : static_cast<uint64_t>(kernel::source_of(map, static_cast<int64_t>(index)));
  }
};

/// The operands of an element-wise node: the first `count` (0 .. 3) inputs, broadcast to output 0.
class ElementOperands {
 public:
  ElementOperands(const OpContext& context, int count) : count_(count) {
    for (int k = 0; k < count; ++k) {
      const TensorType& in = context.inputs[static_cast<size_t>(k)];
      maps_[k] = OperandMap(in.shape, context.node.outputs[0].shape);
      bytes_[k] = static_cast<unsigned>(size_of(in.dtype));
    }
  }
  int count() const { return count_; }
  const OperandMap& map(int k) const { return maps_[k]; }
  unsigned bytes(int k) const { return bytes_[k]; }

  /// See OpKernel::operands_at.
  std::vector<uint64_t> codes_at(const void* const* in, uint64_t index) const {
    std::vector<uint64_t> codes(static_cast<size_t>(count_));
    for (int k = 0; k < count_; ++k)
      std::memcpy(&codes[static_cast<size_t>(k)], static_cast<const char*>(in[k]) + maps_[k].place(index) * bytes_[k],
                  bytes_[k]);
    return codes;
  }

 private:
  int count_;
  OperandMap maps_[3];
  unsigned bytes_[3]{};
};

}  // namespace softamp::engine
