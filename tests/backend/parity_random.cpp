#include "parity.h"

namespace softamp::parity {

void random_values(Suite&) {}

}  // namespace softamp::parity
