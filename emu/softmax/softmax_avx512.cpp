#include "emu/softmax/softmax_body.h"

namespace softamp::emu {

const SoftmaxKernels kAvx512Softmax = kSoftmaxKernels;

}  // namespace softamp::emu
