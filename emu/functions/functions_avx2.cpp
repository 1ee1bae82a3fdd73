// The elementary functions of AVX2.
#include "emu/functions/functions_body.h"

namespace softamp::emu {

const FunctionTable kAvx2Functions = kFunctions;

}  // namespace softamp::emu
