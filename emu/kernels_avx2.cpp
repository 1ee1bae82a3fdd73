// The general kernels, compiled for avx2.
#include "emu/general_body.h"

namespace softamp::emu {

const KernelTable kAvx2Kernels = {round_general, widen_general, arithmetic_general,
                                        nullptr, nullptr, nullptr, nullptr};

}  // namespace softamp::emu
