// The element-wise forms of NEON.
#include "emu/elementwise/elementwise_body.h"

namespace softamp::emu {

const LaneTable kNeonLanes = {.form = lane_form, .move = lane_move, .words = lane_words};

}  // namespace softamp::emu
