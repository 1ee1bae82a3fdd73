#include "parity.h"

namespace softamp::parity {

void functions(Suite&) {}

}  // namespace softamp::parity
