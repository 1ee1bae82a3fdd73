#include "parity.h"

namespace softamp::parity {

void softmax(Suite&) {}

}  // namespace softamp::parity
