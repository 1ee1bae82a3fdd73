#include "emu/reductions/reduction_lanes_body.h"

namespace softamp::emu {

const ReductionKernels kNeonReductions = kReductionKernels;

}  // namespace softamp::emu
