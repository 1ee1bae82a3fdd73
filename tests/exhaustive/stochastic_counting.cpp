// Stochastic rounding to fp16 by counting: every remainder of r bits and every one of the 2^r random numbers, four
// variants, r = 1, 2, 3, 4, 8, 11, 13 on many significands, r = 16 (2^32 pairs a gap and variant) on one;
// each decision compared with the formula, the counts with it too. Subnormals, binade edges (the carry into
// the next binade) and the overflow gap included.
#include "softamp/numerics/convert.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/counting.h"

namespace {

using namespace softamp;

/// Gaps by the code of their lower end; 0x7BFF is the gap from 65504 to 65536.
std::vector<uint64_t> gaps(int r) {
  if (r == 16) return {0x03FF};
  std::vector<uint64_t> all = {0x7BFE, 0x7BFF, 0x0001, 0x0002};
  const uint64_t step = r <= 4 ? 1 : r <= 8 ? 37 : r == 11 ? 331 : 2741;
  for (uint64_t code = 0; code < 0x7BFE; code += step) all.push_back(code);
  for (uint64_t binade = 0x0400; binade < 0x7C00; binade += r <= 11 ? 0x400 : 0x1800)
    all.push_back(binade - 1), all.push_back(binade);
  return all;
}

template <int r, StochasticVariant variant>
void count_gap(uint64_t lower, proof::Tally& tally) {
  constexpr Semantics s = [] {
    RoundingPolicy p = RoundingPolicy::stochastic_carry(r);
    p.variant = variant;
    return Semantics::ieee(p);
  }();
  const double low = fp::to_double(kFp16, lower);
  const double quantum = lower == 0x7BFF ? 32.0 : fp::to_double(kFp16, lower + 1) - low;
  for (uint64_t rest = 0; rest < uint64_t{1} << r; ++rest) {
    // Two bits more than r, so that what is dropped or rounded away is exercised too.
    const oracle::Remainder d{rest * 4 + rest % 4, r + 2};
    const double x = low + quantum * d.fraction();
    const uint64_t expected = oracle::numbers_that_go_up(variant, d, r);
    const uint64_t threshold = (uint64_t{1} << r) - expected;
    uint64_t up = 0;
    for (uint64_t n = 0; n < uint64_t{1} << r; ++n) {
      const bool negative = ((n ^ rest) & 1) != 0;
      const double signed_x = negative ? -x : x;
      const Rounded got =
          fp::convert(kBinary64, kFp16, __builtin_bit_cast(uint64_t, signed_x), s, static_cast<uint32_t>(n));
      up += (got.code & 0x7FFF) == lower + 1;  // 0x7C00, infinity, stands for 65536
      if (got.code == (lower + (n >= threshold) + (negative ? 0x8000u : 0u))) [[likely]]
        continue;
      char text[160];
      std::snprintf(text, sizeof text, "f64_to_f16 variant %d r %d x %a random %llx got %llx expected %llx",
                    static_cast<int>(variant), r, signed_x, static_cast<unsigned long long>(n),
                    static_cast<unsigned long long>(got.code),
                    static_cast<unsigned long long>(lower + (n >= threshold) + (negative ? 0x8000u : 0u)));
      tally.mismatch(text);
    }
    if (up != expected) tally.mismatch("count of code " + proof::hex(lower, 4) + " remainder " + std::to_string(rest));
  }
  tally.add_cases(uint64_t{1} << 2 * r);
}

template <int r>
void prove(const proof::Options& o, proof::Tally& tally) {
  const proof::Section section("r = " + std::to_string(r) + ", variant x gap x remainder x number", tally);
  const std::vector<uint64_t> all = gaps(r);
  proof::for_each_in_slice(o, all.size(), [&] {
    return [&](uint64_t i) {
      count_gap<r, StochasticVariant::kCarry>(all[i], tally);

      count_gap<r, StochasticVariant::kHalf>(all[i], tally);
      count_gap<r, StochasticVariant::kRne>(all[i], tally);
      count_gap<r, StochasticVariant::kOdd>(all[i], tally);
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 32);
  proof::Tally tally;
  prove<1>(o, tally);
  prove<2>(o, tally);
  prove<3>(o, tally);
  prove<4>(o, tally);
  prove<8>(o, tally);
  prove<11>(o, tally);
  prove<13>(o, tally);
  if (o.full()) prove<16>(o, tally);
  return proof::verdict("stochastic_counting", o, tally);
}
