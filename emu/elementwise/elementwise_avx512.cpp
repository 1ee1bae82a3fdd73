// The element-wise forms of AVX-512.
#include "emu/elementwise/elementwise_body.h"

namespace softamp::emu {

const LaneTable kAvx512Lanes = {.form = lane_form, .move = lane_move, .words = lane_words};

}  // namespace softamp::emu
