// The element-wise forms of AVX2.
#include "emu/elementwise/elementwise_body.h"

namespace softamp::emu {

const LaneTable kAvx2Lanes = {.form = lane_form, .move = lane_move, .words = lane_words};

}  // namespace softamp::emu
