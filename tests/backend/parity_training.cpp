#include "parity.h"

namespace softamp::parity {

void training(Suite&) {}

}  // namespace softamp::parity
