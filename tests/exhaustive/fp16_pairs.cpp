// fp16 add, sub, mul, div of every pair of operands, values and flags, under seven presets, against the table oracle.
#include "softamp/numerics/arithmetic.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/fp16_walk.h"
#include "tests/oracle/machine_semantics.h"

namespace {

using namespace softamp;
using oracle::Operation;

template <Operation operation>
Rounded apply(uint64_t a, uint64_t b, const Semantics& s) {
  switch (operation) {
    case Operation::kAdd: return fp::add(kFp16, a, b, s);
    case Operation::kSub: return fp::sub(kFp16, a, b, s);
    case Operation::kMul: return fp::mul(kFp16, a, b, s);
    case Operation::kDiv: return fp::div(kFp16, a, b, s);
  }
  return {};
}

constexpr const char* kNames[] = {"f16_add", "f16_sub", "f16_mul", "f16_div"};

/// Compares one row under one preset. The fixed operand is the left one, of a division the right one.
template <Operation operation, int machine>
void compare_row(uint32_t fixed, const oracle::Row& row, proof::Tally& tally) {
  constexpr Semantics s = semantics_of(oracle::kMachines[machine]);
  constexpr uint32_t flip = operation == Operation::kSub ? oracle::kSign : 0;  // a - b = a + (-b)
  const uint32_t* expected = row.expected[machine].data();
  for (uint32_t walking = 0; walking < oracle::kCodes; ++walking) {
    const uint32_t other = walking ^ flip;
    const uint64_t a = operation == Operation::kDiv ? other : fixed, b = operation == Operation::kDiv ? fixed : other;
    const Rounded r = apply<operation>(a, b, s);
    const uint32_t got = static_cast<uint32_t>(r.code) | uint32_t{r.flags} << 16;
    if (got == expected[walking]) [[likely]]
      continue;
    tally.mismatch(std::string(kNames[static_cast<int>(operation)]) + " " + oracle::kMachineNames[machine] + " " +
                   proof::hex(a, 4) + " " + proof::hex(b, 4) + " got " + proof::hex(got & 0xFFFF, 4) + " " +
                   proof::hex(got >> 16, 2) + " expected " + proof::hex(expected[walking] & 0xFFFF, 4) + " " +
                   proof::hex(expected[walking] >> 16, 2));
  }
  tally.add_cases(oracle::kCodes);
}

template <Operation operation, int... machine>
void compare_presets(uint32_t fixed, const oracle::Row& row, proof::Tally& tally,
                     std::integer_sequence<int, machine...>) {
  (compare_row<operation, machine>(fixed, row, tally), ...);
}

template <Operation... operation, class Fill>
void prove(const char* name, const proof::Options& o, proof::Tally& tally, const Fill& fill) {
  const proof::Section section(name, tally);
  proof::for_each_in_slice(o, oracle::kCodes, [&] {
    return [&, row = oracle::Row{}](uint64_t i) mutable {
      // An odd multiplier permutes the codes, so that every slice meets all exponents and both signs.
      const uint32_t fixed = static_cast<uint32_t>(i * 40503) & 0xFFFF;
      fill(fixed, row);
      (compare_presets<operation>(fixed, row, tally, std::make_integer_sequence<int, oracle::kMachineCount>{}), ...);
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 192);
  proof::Tally tally;
  prove<Operation::kAdd, Operation::kSub>("f16_add, f16_sub, 7 presets", o, tally, oracle::sum_row);
  prove<Operation::kMul>("f16_mul, 7 presets", o, tally, oracle::product_row);
  prove<Operation::kDiv>("f16_div, 7 presets", o, tally, oracle::quotient_row);
  return proof::verdict("fp16_pairs", o, tally);
}
