// The loops of pooling: NEON.
#include "emu/pooling/pooling_body.h"

namespace softamp::emu {

const PoolingKernels kNeonPooling = {pooling_maximum, pooling_maximum_gradient, pooling_average,
                                     pooling_average_gradient};

}  // namespace softamp::emu
