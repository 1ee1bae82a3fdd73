// The elementary functions of any machine.
#include "emu/functions/functions_body.h"

namespace softamp::emu {

const FunctionTable kPortableFunctions = kFunctions;

}  // namespace softamp::emu
