// The loops of pooling: any machine of the architecture.
#include "emu/pooling/pooling_body.h"

namespace softamp::emu {

const PoolingKernels kPortablePooling = {pooling_maximum, pooling_maximum_gradient, pooling_average,
                                         pooling_average_gradient};

}  // namespace softamp::emu
