// Cast as engines see it: what the ends of a conversion hold, and whether it draws.
#pragma once

#include "softamp/kernel/cast.h"
#include "softamp/tensor/dtype.h"

namespace softamp::engine {

/// What elements of a dtype are to the body of Cast; the format counts for floating dtypes alone.
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
