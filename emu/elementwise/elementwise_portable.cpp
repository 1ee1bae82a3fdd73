// The element-wise forms of the portable build.
#include "emu/elementwise/elementwise_body.h"

namespace softamp::emu {

const LaneTable kPortableLanes = {.form = lane_form, .move = lane_move, .words = lane_words};

}  // namespace softamp::emu
