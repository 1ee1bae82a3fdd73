// The general kernels, compiled for portable.
#include "emu/general_body.h"

namespace softamp::emu {

const KernelTable kPortableKernels = {round_general, widen_general, arithmetic_general,
                                        nullptr, nullptr, nullptr, nullptr};

}  // namespace softamp::emu
