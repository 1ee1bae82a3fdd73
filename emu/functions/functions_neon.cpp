// The elementary functions of NEON.
#include "emu/functions/functions_body.h"

namespace softamp::emu {

const FunctionTable kNeonFunctions = kFunctions;

}  // namespace softamp::emu
