// Every format with 2 to 8 exponent bits and 2 to 24 bits of precision, the four fp8 ones, and those of 4 and 6 bits:
// codes decode and encode back; every fp16 value, and numbers at random, are converted to it in five modes, flags too,
// and compared with MPFR.

#include <cmath>

#include "softamp/numerics/convert.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/mpfr_rounding.h"

namespace {

using namespace softamp;

struct Named {
  std::string name;
  FloatFormat format;
};

std::vector<Named> all_formats() {
  std::vector<Named> all = {{"e4m3", kE4m3}, {"e5m2", kE5m2}, {"f143", kF143}, {"f152", kF152},
                            {"e2m1", kE2m1}, {"e2m3", kE2m3}, {"e3m2", kE3m2}};
  for (int e = 2; e <= 8; ++e)
    for (int p = 2; p <= 24; ++p)
      all.push_back({"(" + std::to_string(e) + "," + std::to_string(p) + ")", FloatFormat::ieee(e, p)});
  return all;
}

/// The value of a finite code from the definition, in binary64, which holds them all.
double value_of(const FloatFormat& f, uint64_t code) {
  const uint64_t fractions = uint64_t{1} << (f.precision - 1);
  const uint64_t field = (code / fractions) % (uint64_t{1} << f.exponent_bits), fraction = code % fractions;
  const int exponent = static_cast<int>(field == 0 ? 1 : field) - f.bias - (f.precision - 1);
  const double magnitude = std::ldexp(static_cast<double>(fraction + (field == 0 ? 0 : fractions)), exponent);
  return code >> (f.exponent_bits + f.precision - 1) & 1 ? -magnitude : magnitude;
}

/// Codes to try: all where there are at most 2^20, else 2^20 of them in strides, and the landmarks' neighbourhoods.
std::vector<uint64_t> codes_of(const FloatFormat& f) {
  std::vector<uint64_t> codes;
  const uint64_t count = f.code_mask() + 1, limit = uint64_t{1} << 20;
  const uint64_t stride = count <= limit ? 1 : (count / limit) | 1;
  for (uint64_t code = 0; code < count; code += stride) codes.push_back(code);
  if (stride > 1) {
    oracle::Cases cases(77);
    for (int i = 0; i < 20000; ++i) codes.push_back(cases.code(f));
  }
  return codes;
}

void prove_codes(const Named& n, proof::Tally& tally) {
  const FloatFormat f = n.format;
  const Semantics s = Semantics::ieee();
  const uint64_t nan = fp::convert(kBinary64, f, uint64_t{0x7FF8} << 48, s).code;
  const std::vector<uint64_t> codes = codes_of(f);
  for (const uint64_t code : codes) {
    const double x = fp::to_double(f, code);
    const uint64_t back = fp::from_double(f, x);
    bool right;
    if (f.is_nan(code)) {
      right = std::isnan(x) && back == nan && f.is_nan(back);
    } else if (f.is_infinity(code)) {
      right = std::isinf(x) && std::signbit(x) == (code > f.magnitude_mask()) && back == code;
    } else {
      const double expected = value_of(f, code);
      right = x == expected && std::signbit(x) == std::signbit(expected) && back == code;
    }
    if (!right)
      tally.mismatch("format " + n.name + " code " + proof::hex(code, 1) + " decodes to " + std::to_string(x) +
                     " and encodes to " + proof::hex(back, 1));
  }
  tally.add_cases(codes.size());
}

void prove_conversions(const Named& n, proof::Tally& tally) {
  const FloatFormat f = n.format;
  oracle::MpfrRounder mpfr(f);
  oracle::Cases cases(static_cast<uint64_t>(f.exponent_bits * 100 + f.precision));
  uint64_t done = 0;
  const auto compare = [&](const FloatFormat& from, const char* from_name, uint64_t code) {
    if (!from.is_finite(code) || from.is_zero(code)) return;
    const double x = value_of(from, code);
    for (const RoundingMode mode : oracle::kDeterministicModes) {
      const Rounded got = fp::convert(from, f, code, Semantics::ieee(RoundingPolicy::ieee(mode)));
      const Rounded expected = mpfr.round(x, mode);
      ++done;
      if (got.code == expected.code && got.flags == expected.flags) [[likely]]
        continue;
      tally.mismatch(std::string("convert ") + from_name + " to " + n.name + " mode " +
                     std::to_string(static_cast<int>(mode)) + " " + proof::hex(code, 1) + " got " +
                     proof::hex(got.code, 1) + " " + proof::hex(got.flags, 2) + " MPFR " +
                     proof::hex(expected.code, 1) + " " + proof::hex(expected.flags, 2));
    }
  };
  for (uint64_t code = 0; code < 0x10000; ++code) compare(kFp16, "fp16", code);
  for (int i = 0; i < 10000; ++i) {
    compare(kFp32, "fp32", cases.code(kFp32));
    // binary64 numbers in and around the format's range, most of them with bits far below its precision
    const double near =
        value_of(f, cases.below(f.magnitude_mask() + 1)) * (1 + std::ldexp(1.0, -static_cast<int>(cases.below(53))));
    compare(kBinary64, "fp64", __builtin_bit_cast(uint64_t, cases.below(2) ? near : -near));
  }
  tally.add_cases(done);
}

template <class Body>
void prove(const char* title, const proof::Options& o, proof::Tally& tally, const Body& body) {
  const std::vector<Named> formats = all_formats();
  const proof::Section section(title, tally);
  proof::for_each_in_slice(o, formats.size(), [&] { return [&](uint64_t i) { body(formats[i], tally); }; });
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 11);
  proof::Tally tally;
  prove("165 formats, codes that decode and encode back", o, tally, prove_codes);
  prove("165 formats, conversions in 6 modes, against MPFR", o, tally, prove_conversions);
  return proof::verdict("formats", o, tally);
}
