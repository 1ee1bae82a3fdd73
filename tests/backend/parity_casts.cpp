#include "parity.h"

namespace softamp::parity {

void casts(Suite&) {}

}  // namespace softamp::parity
