// Cast: from one dtype to another. Meaning: kernel/casts.h.
#include "src/graph/ops/rows.h"

namespace softamp::operations_of {
namespace {

using enum AttributeKind;

/// Back to the dtype that the values came from, rounded once more. Integers and truth values have no gradient.
// implements: N221
void cast(GradientContext& c) { c.set(0, c.cast(c.arriving(), c.dtype())); }

}  // namespace

std::vector<Operation> casts() {
  const std::vector<DType> any = numbers_and_bool();
  return {
      row("Cast", "x as another dtype: rounded once; to int32 truncated; to bool x != 0.", {{"x", "SrcT"}},
          {{"y", "DstT"}},
          {{"SrcT", kType, {}, "dtype of x", {}, any}, {"DstT", kType, {}, "dtype of the result", {}, any}}, same_shape)
          .with(cast),
  };
}

}  // namespace softamp::operations_of
