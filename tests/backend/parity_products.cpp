#include "parity.h"

namespace softamp::parity {

void products(Suite&) {}

}  // namespace softamp::parity
