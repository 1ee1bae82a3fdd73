// Uses the compiled library from another project: rounds and multiplies arrays, adds up, and prints a digest of it all.
#include <softamp/softamp.h>

#include <cstdio>
#include <vector>

#include "numerics_sweep.h"

int main() {
  namespace bulk = softamp::bulk;
  constexpr uint32_t kElements = 100'003;
  std::vector<float> in(kElements);
  for (uint32_t i = 0; i < kElements; ++i) in[i] = __builtin_bit_cast(float, i * 2654435761u);

  softamp::sweep::Digest digest;
  for (const softamp::Semantics& semantics :
       {softamp::Semantics::ieee(), softamp::Semantics::ieee(softamp::RoundingPolicy::stochastic_carry(13)),
        softamp::Semantics::ipu(softamp::FloatingPointBehaviour{})}) {
    std::vector<uint16_t> codes(kElements), products(kElements);
    softamp::FpStatus status;
    bulk::BulkOptions options;
    options.status = &status;
    bulk::round(in, softamp::kFp16, codes, semantics, options);
    bulk::mul(codes, codes, products, semantics, options);
    for (const uint16_t code : codes) digest.add(code);
    for (const uint16_t code : products) digest.add(code);
    digest.add(status.flags);
    for (const uint64_t index : status.first_index) digest.add(index);
  }
  std::printf("library %016llx\n", static_cast<unsigned long long>(digest.hash));
}
