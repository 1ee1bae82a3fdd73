// Says whether this compiler, with the flags that reached it, made one rounding of a product and a sum: what
// softamp::numerics and its .pc file forbid those who compile with them (N83).
// tests: N83
#include <cstdio>

#include "softamp/numerics/operations.h"

int main() {
  // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24 exactly, and 0 where the product is rounded first. Volatile: computed at run
  // time.
  volatile float factor = 0x1.001p0f, addend = -0x1.002p0f;
  const float a = factor, c = addend, difference = a * a + c;
  const uint64_t two = softamp::fp::add(softamp::kFp16, 0x3C00, 0x3C00, softamp::Semantics::ieee()).code;
  std::printf("%s, 1 + 1 is code %llx\n", difference == 0 ? "as written" : "contracted",
              static_cast<unsigned long long>(two));
}
