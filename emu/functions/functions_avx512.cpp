// The elementary functions of AVX-512.
#include "emu/functions/functions_body.h"

namespace softamp::emu {

const FunctionTable kAvx512Functions = kFunctions;

}  // namespace softamp::emu
