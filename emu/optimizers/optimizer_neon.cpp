#include "emu/optimizers/optimizer_body.h"

namespace softamp::emu {

const UpdateKernels kNeonUpdates = kUpdateKernels;

}  // namespace softamp::emu
