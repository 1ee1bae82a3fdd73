#include "emu/optimizers/optimizer_body.h"

namespace softamp::emu {

const UpdateKernels kAvx2Updates = kUpdateKernels;

}  // namespace softamp::emu
