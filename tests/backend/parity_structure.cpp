#include "parity.h"

namespace softamp::parity {

void structure(Suite&) {}

}  // namespace softamp::parity
