// The loops of pooling: AVX2.
#include "emu/pooling/pooling_body.h"

namespace softamp::emu {

const PoolingKernels kAvx2Pooling = {pooling_maximum, pooling_maximum_gradient, pooling_average,
                                     pooling_average_gradient};

}  // namespace softamp::emu
