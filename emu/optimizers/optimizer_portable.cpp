#include "emu/optimizers/optimizer_body.h"

namespace softamp::emu {

const UpdateKernels kPortableUpdates = kUpdateKernels;

}  // namespace softamp::emu
