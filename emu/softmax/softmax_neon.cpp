#include "emu/softmax/softmax_body.h"

namespace softamp::emu {

const SoftmaxKernels kNeonSoftmax = kSoftmaxKernels;

}  // namespace softamp::emu
