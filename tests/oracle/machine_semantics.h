// The machines of the fp16 oracle, as the library says them.
#pragma once

#include "softamp/numerics/semantics.h"
#include "tests/oracle/fp16_oracle.h"

namespace oracle {

constexpr softamp::Semantics semantics_of(const Machine& m) {
  softamp::RoundingPolicy p = softamp::RoundingPolicy::ieee(m.mode);
  p.overflow = m.overflow;
  if (!m.ipu) return softamp::Semantics::ieee(p);
  softamp::FloatingPointBehaviour b = softamp::FloatingPointBehaviour::all_off();
  b.nanoo = m.nanoo;
  return softamp::Semantics::ipu(b);
}

}  // namespace oracle
