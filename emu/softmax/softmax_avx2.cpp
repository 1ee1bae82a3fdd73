#include "emu/softmax/softmax_body.h"

namespace softamp::emu {

const SoftmaxKernels kAvx2Softmax = kSoftmaxKernels;

}  // namespace softamp::emu
