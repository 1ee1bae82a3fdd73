// The elementary functions of any machine.
#include "emu/functions_body.h"

namespace softamp::emu {

const FunctionTable kPortableFunctions = kFunctions;

}  // namespace softamp::emu
