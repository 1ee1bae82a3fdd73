#include "parity.h"

namespace softamp::parity {

void optimizers(Suite&) {}

}  // namespace softamp::parity
