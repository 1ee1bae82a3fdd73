#include "emu/softmax_body.h"

namespace softamp::emu {

const SoftmaxKernels kPortableSoftmax = kSoftmaxKernels;

}  // namespace softamp::emu
