// Which functions a call gets: those of the same instruction set as its kernels.
#include "emu/functions/functions.h"

#include "emu/bulk/dispatch.h"

namespace softamp::emu {

const FunctionTable& functions_of(bulk::InstructionSet set) {
  const KernelTable* kernels = &kernels_of(set);
#if defined(SOFTAMP_HAS_AVX512FP16)
  if (kernels == &kAvx512Fp16Kernels) kernels = &kAvx512Kernels;
#endif
#if defined(SOFTAMP_HAS_AVX512)
  if (kernels == &kAvx512Kernels) return kAvx512Functions;
#endif
#if defined(SOFTAMP_HAS_AVX2)
  if (kernels == &kAvx2Kernels) return kAvx2Functions;
#endif
  return kPortableFunctions;
}

}  // namespace softamp::emu
