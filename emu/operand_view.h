// An operand of an element-wise operation as the output sees it: NumPy's broadcasting, a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "softamp/tensor/shape.h"

namespace softamp::emu {

/// The most elements of a block.
constexpr size_t kElementBlock = 1024;

class OperandView {
 public:
  OperandView() = default;
  /// `shape` broadcasts to `output`; elements have `bytes` bytes.
  OperandView(const Shape& shape, const Shape& output, size_t bytes);

  /// The operand has the output's shape: nothing is repeated.
  bool direct() const { return kind_ == Kind::kDirect; }
  size_t bytes() const { return bytes_; }
  /// Elements of the operand.
  size_t elements() const { return elements_; }

  /// One thread's buffer for one operand: a gathered block, or a repeated row.
  struct Buffer {
    alignas(64) char data[2 * kElementBlock * 8];
    bool filled = false;
  };

  /// Elements [begin, begin + count) of the output, count <= kElementBlock, of the operand at `data`; in the operand
  /// itself or in `buffer`.
  const void* at(const void* data, size_t begin, size_t count, Buffer& buffer) const {
    if (kind_ == Kind::kDirect) return static_cast<const char*>(data) + begin * bytes_;
    return expanded(static_cast<const char*>(data), begin, count, buffer);
  }
  /// The place in the operand of output element `index`.
  size_t place(size_t index) const;

 private:
  enum class Kind : uint8_t {
    kDirect,
    kRow,      ///< the operand over and over: a scalar, or the output's last axes
    kGeneral,  ///< runs of the innermost axis
  };
  struct Axis {
    size_t extent, stride;  ///< stride in elements; 0 where the operand is repeated
  };

  const void* expanded(const char* data, size_t begin, size_t count, Buffer& buffer) const;
  const void* row(const char* data, size_t begin, size_t count, Buffer& buffer) const;
  const void* general(const char* data, size_t begin, size_t count, Buffer& buffer) const;

  Kind kind_ = Kind::kDirect;
  size_t bytes_ = 4, elements_ = 0;
  std::vector<Axis> axes_;  ///< of the output, neighbours joined, outermost first
};

}  // namespace softamp::emu
