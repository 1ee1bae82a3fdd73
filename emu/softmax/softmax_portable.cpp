#include "emu/softmax/softmax_body.h"

namespace softamp::emu {

const SoftmaxKernels kPortableSoftmax = kSoftmaxKernels;

}  // namespace softamp::emu
