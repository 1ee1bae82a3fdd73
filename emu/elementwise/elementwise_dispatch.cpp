#include "emu/elementwise/elementwise.h"

namespace softamp::emu {

const LaneTable& lanes_of(bulk::InstructionSet set) {
  using bulk::InstructionSet;
  if (set == InstructionSet::kAuto) set = bulk::best_instruction_set();
  switch (set) {
#if defined(SOFTAMP_HAS_AVX512)
    case InstructionSet::kAvx512:
    case InstructionSet::kAvx512Fp16: return kAvx512Lanes;
#endif
#if defined(SOFTAMP_HAS_AVX2)
    case InstructionSet::kAvx2: return kAvx2Lanes;
#endif
    default: return kPortableLanes;
  }
}

}  // namespace softamp::emu
