#include "emu/reductions/reduction_lanes_body.h"

namespace softamp::emu {

const ReductionKernels kAvx512Reductions = kReductionKernels;

}  // namespace softamp::emu
