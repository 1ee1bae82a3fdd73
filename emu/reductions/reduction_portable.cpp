#include "emu/reductions/reduction_lanes_body.h"

namespace softamp::emu {

const ReductionKernels kPortableReductions = kReductionKernels;

}  // namespace softamp::emu
