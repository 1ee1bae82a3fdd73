#include "emu/optimizers/optimizer_body.h"

namespace softamp::emu {

const UpdateKernels kAvx512Updates = kUpdateKernels;

}  // namespace softamp::emu
