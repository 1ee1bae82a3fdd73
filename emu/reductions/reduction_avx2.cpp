#include "emu/reductions/reduction_lanes_body.h"

namespace softamp::emu {

const ReductionKernels kAvx2Reductions = kReductionKernels;

}  // namespace softamp::emu
