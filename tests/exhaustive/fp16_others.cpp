// The other fp16 operations: square root, rounding to an integer and conversion to int32 of every code under seven
// presets; remainder, comparisons, minimum and maximum of every pair under `ieee` and `ipu`; against the table oracle.
#include "softamp/numerics/operations.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/fp16_walk.h"
#include "tests/oracle/machine_semantics.h"

namespace {

using namespace softamp;
using oracle::Machine;
using oracle::Outcome;

void report(proof::Tally& tally, const std::string& what, const Rounded& got, uint64_t code, uint64_t flags) {
  tally.mismatch(what + " got " + proof::hex(got.code, 4) + " " + proof::hex(got.flags, 2) + " expected " +
                 proof::hex(code, 4) + " " + proof::hex(flags, 2));
}

/// Every code; too few to slice.
void prove_unary(proof::Tally& tally) {
  const proof::Section section("f16_sqrt, f16_roundToInt, f16_to_i32, 7 presets", tally);
  for (int i = 0; i < oracle::kMachineCount; ++i) {
    const Machine& m = oracle::kMachines[i];
    const Semantics s = semantics_of(m);
    for (uint32_t a = 0; a < oracle::kCodes; ++a) {
      const auto compare = [&](const char* name, const Rounded& got, const Outcome& o) {
        tally.add_cases(1);
        if (got.code == o.code && got.flags == o.flags) [[likely]]
          return;
        report(tally, std::string(name) + " " + oracle::kMachineNames[i] + " " + proof::hex(a, 4), got, o.code,
               o.flags);
      };
      compare("f16_sqrt", fp::sqrt(kFp16, a, s), oracle::sqrt(a, m));
      for (const bool exact : {false, true}) {
        const bool flagged = exact && !m.ipu;  // the IPU has no inexact
        compare("f16_roundToInt", fp::round_to_integral(kFp16, a, s, exact), oracle::round_to_integral(a, flagged, m));
        Outcome integer{0x80000000u, kInvalid};
        if (oracle::is_finite(a)) {  // no fp16 number leaves the range of int32
          const oracle::Integral n = oracle::integral(a, m.mode);
          integer = {static_cast<uint32_t>(n.value), flagged && n.inexact ? uint32_t{kInexact} : 0u};
        }
        compare("f16_to_i32", fp::to_int32(kFp16, a, s, exact), integer);
      }
    }
  }
}

/// -1, 0, 1 of numbers, infinities included; 2 where one is a NaN.
int related(uint32_t a, uint32_t b) {
  if (oracle::is_nan(a) || oracle::is_nan(b)) return 2;
  const int64_t x = oracle::signed_value(a), y = oracle::signed_value(b);  // an infinity counts as 65536
  return x < y ? -1 : x > y;
}

template <bool ipu>
void prove_pair(uint32_t a, uint32_t b, proof::Tally& tally) {
  constexpr Machine m = ipu ? Machine::ipu_nearest(false) : Machine::ieee(RoundingMode::kNearestEven);
  constexpr Semantics s = semantics_of(m);
  const auto pair = [&](const char* name) {
    return std::string(name) + (ipu ? " ipu " : " ieee ") + proof::hex(a, 4) + " " + proof::hex(b, 4);
  };
  const Rounded rest = fp::rem(kFp16, a, b, s);
  const Outcome o = oracle::rem(a, b, m);
  if (rest.code != o.code || rest.flags != o.flags) [[unlikely]]
    report(tally, pair("f16_rem"), rest, o.code, o.flags);

  const int relation = related(a, b);
  const bool signaling = oracle::is_signaling(a) || oracle::is_signaling(b);
  const uint32_t loud = relation == 2 ? uint32_t{kInvalid} : 0u, quiet = signaling || ipu ? loud : 0u;
  const auto truth = [&](const char* name, const fp::Compared& c, bool expected, uint32_t flags) {
    if (c.value != expected || c.flags != flags) [[unlikely]]
      report(tally, pair(name), {c.value, c.flags}, expected, flags);
  };
  truth("f16_eq", fp::equal(kFp16, a, b, s), relation == 0, quiet);
  truth("f16_lt", fp::less(kFp16, a, b, s), relation == -1, loud);
  truth("f16_le", fp::less_equal(kFp16, a, b, s), relation == -1 || relation == 0, loud);

  // Of equal numbers the negative one, -0, is the lesser.
  const bool a_is_less = relation == -1 || (relation == 0 && oracle::is_negative(a));
  const auto chosen = [&](bool greatest) -> Outcome {
    if (relation == 2) return {oracle::kNan, quiet};
    const uint32_t code = a_is_less != greatest ? a : b;
    return oracle::is_infinite(code) ? m.infinite(oracle::is_negative(code)) : Outcome{code, 0};
  };
  for (const bool greatest : {false, true}) {
    const Rounded got = greatest ? fp::maximum(kFp16, a, b, s) : fp::minimum(kFp16, a, b, s);
    const Outcome expected = chosen(greatest);
    if (got.code != expected.code || got.flags != expected.flags) [[unlikely]]
      report(tally, pair(greatest ? "f16_maximum" : "f16_minimum"), got, expected.code, expected.flags);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 128);
  proof::Tally tally;
  prove_unary(tally);
  {
    const proof::Section section("f16_rem, eq, lt, le, minimum, maximum, 2 presets", tally);
    proof::for_each_in_slice(o, oracle::kCodes, [&] {
      return [&](uint64_t i) {
        const uint32_t a = static_cast<uint32_t>(i * 40503) & 0xFFFF;
        for (uint32_t b = 0; b < oracle::kCodes; ++b) {
          prove_pair<false>(a, b, tally);
          prove_pair<true>(a, b, tally);
        }
        tally.add_cases(uint64_t{oracle::kCodes} * 2 * 6);
      };
    });
  }
  return proof::verdict("fp16_others", o, tally);
}
