// Which kernels a call gets.
#pragma once

#include "emu/bulk/kernels.h"

namespace softamp::emu {

/// The kernels of `set` (kAuto: the best available). Throws std::invalid_argument if machine or build lack it.
const KernelTable& kernels_of(bulk::InstructionSet set);

}  // namespace softamp::emu
