// Cast as engines see it: the formats of source and result, and whether it needs random bits.
#pragma once

#include "softamp/kernel/casts.h"
#include "softamp/names/dtype.h"

namespace softamp::engine {

/// A dtype as the body of Cast takes it. The format counts only for floating dtypes.
inline kernel::CastEnd cast_end(DType t) {
  using kernel::Number;
  const Number number = t == DType::kBool ? Number::kBool : t == DType::kInt32 ? Number::kInt32 : Number::kFloat;
  return {number, format_of(t)};
}

/// Whether every element reads a random word.
inline bool cast_draws(const kernel::CastEnd& from, const kernel::CastEnd& to, const Semantics& s) {
  return kernel::cast_rounds(from, to) && s.draws(to.format);
}

}  // namespace softamp::engine
