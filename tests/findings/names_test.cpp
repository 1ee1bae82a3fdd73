#include "softamp/names/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "softamp/chips/chip_table.h"
#include "src/names/name_rows.h"
#include "tests/refusal.h"

namespace softamp {
namespace {

using test::refusal;

TEST(Names, EveryFormatIsFoundByEachOfItsNamesInAnyCase) {
  for (const NamedFormat& named : named_formats()) {
    EXPECT_EQ(format_name(named.format), named.names.front());
    for (std::string name : named.names) {
      EXPECT_EQ(format_from_name(name), named.format) << name;
      for (char& c : name) c = static_cast<char>(std::toupper(c));
      EXPECT_EQ(format_from_name(name), named.format) << name;
    }
  }
}

TEST(Names, TheFieldsSpellings) {
  for (const char* name : {"fp16", "float16", "half"}) EXPECT_EQ(format_from_name(name), kFp16);
  for (const char* name : {"bf16", "bfloat16"}) EXPECT_EQ(format_from_name(name), kBf16);
  for (const char* name : {"fp32", "float32", "float"}) EXPECT_EQ(format_from_name(name), kFp32);
  EXPECT_EQ(format_from_name("float8_e4m3fn"), kE4m3);
  EXPECT_EQ(format_from_name("float8_e4m3fnuz"), kF143);
}

TEST(Names, WidthsNameEveryIeeeLikeFormatByItsPrecision) {
  for (int e = 2; e <= 8; ++e) {
    for (int p = 2; p <= 24; ++p) {
      const FloatFormat format = FloatFormat::ieee(e, p);
      EXPECT_EQ(format_from_name("e" + std::to_string(e) + "p" + std::to_string(p)), format);
      EXPECT_EQ(format_from_name(format_name(format)), format);
    }
  }
  EXPECT_EQ(format_name(format_from_name("e5p11")), "fp16");
  EXPECT_EQ(format_name(format_from_name("e8p8")), "bf16");
  EXPECT_EQ(format_name(FloatFormat::ieee(4, 4)), "e4p4");  // not OCP's e4m3, which has no infinity
  EXPECT_NE(format_from_name("e4p4"), format_from_name("e4m3"));
}

TEST(Names, WidthsOutOfRangeAreRefusedWithTheRange) {
  for (const char* name : {"e1p4", "e9p4", "e4p1", "e4p25", "e0p0", "e99999p2"}) {
    const std::string message = refusal<UnknownName>([&] { format_from_name(name); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
  EXPECT_EQ(
      refusal<UnknownName>([] { format_from_name("e9p4"); }),
      "format 'e9p4': expected e<E>p<P> with 2 to 8 exponent bits E and a precision P of 2 to 24 bits, hidden bit "
      "included");
  for (const char* name : {"e5p", "ep11", "e5p11x", "e5p+11", "", "e"})
    EXPECT_NE(refusal<UnknownName>([&] { format_from_name(name); }).find("unknown format '"), std::string::npos)
        << name;
}

TEST(Names, FixedPointFormatsAreNamedByTheirBits) {
  const FixedFormat f = fixed_format_from_name("q2.14");
  EXPECT_EQ(f.quantum_exponent, -14);
  EXPECT_EQ(f.least, -32768);
  EXPECT_EQ(f.greatest, 32767);
  EXPECT_EQ(name_of(fixed_format_from_name("Q32.0")), "q32.0");
  EXPECT_EQ(fixed_format_from_name("q0.32").least, -2147483648LL);
  EXPECT_EQ(fixed_format_from_name("q1.1").greatest, 1);
  for (int bits = 2; bits <= 32; ++bits)
    for (int fraction = 0; fraction <= bits; ++fraction) {
      const std::string name = "q" + std::to_string(bits - fraction) + "." + std::to_string(fraction);
      const FixedFormat format = fixed_format_from_name(name);
      EXPECT_EQ(name_of(format), name);
      EXPECT_EQ(format.quantum_exponent, -fraction) << name;
      EXPECT_EQ(format.greatest - format.least, (int64_t{1} << bits) - 1) << name;
      EXPECT_EQ(format.greatest + format.least, -1) << name;
    }
}

TEST(Names, OtherWordsAreNoFixedPointFormats) {
  EXPECT_EQ(refusal<UnknownName>([] { fixed_format_from_name("q1.0"); }),
            "fixed-point format 'q1.0': expected q<I>.<F> with I integer bits, the sign among them, and F bits after "
            "the point, 2 to 32 bits together: q2.14");
  for (const char* name : {"q33.0", "q1.32", "q16.-3", "q-1.4", "q+2.14", "q2", "q2.", "q.14", "q2.14x", "q2.1.4", "q",
                           "", "2.14", "fp16", "q99999999999.1", "q2147483647.2147483647"})
    EXPECT_NE(refusal<UnknownName>([&] { fixed_format_from_name(name); }).find("expected q<I>.<F>"), std::string::npos)
        << name;
  EXPECT_THROW(static_cast<void>(name_of(FixedFormat{-4, -7, 7})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(name_of(FixedFormat{1, -8, 7})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(name_of(FixedFormat{-9, -8, 7})), std::invalid_argument);
}

TEST(Names, AnUnknownWordIsNamedWithTheNearestAndTheKnown) {
  EXPECT_EQ(
      refusal<UnknownName>([] { rounding_from_name("nearst"); }),
      "unknown rounding 'nearst'; nearest: nearest; known: nearest (nearest-even, rne, rn, near_even, rnear_even), "
      "nearest-away (rna, near_maxMag, rnear_maxMag), zero (toward-zero, truncate, rz, minMag, rminMag), up (ru, max, "
      "rmax), "
      "down (rd, min, rmin), stochastic (sr), odd (to-odd, ro, rodd)");
  const std::string format = refusal<UnknownName>([] { format_from_name("fp61"); });
  EXPECT_EQ(format.rfind("unknown format 'fp61'; nearest: fp16; known: fp16 (float16, half, f16, binary16), bf16", 0),
            0u)
      << format;
  EXPECT_NE(refusal<UnknownName>([] { format_from_name("flaot16"); }).find("nearest: float16;"), std::string::npos);
  EXPECT_NE(refusal<UnknownName>([] {
              variant_from_name("cary");
            }).find("nearest: carry; known: carry (srff), half (srf), rne (src), odd"),
            std::string::npos);
  EXPECT_NE(refusal<UnknownName>([] {
              overflow_from_name("saturat");
            }).find("nearest: saturate; known: infinity (inf), saturate, nan"),
            std::string::npos);
  EXPECT_NE(refusal<UnknownName>([] {
              engine_from_name("philox8");
            }).find("unknown random engine 'philox8'; nearest: philox"),
            std::string::npos);
  EXPECT_NE(refusal<UnknownName>([] { preset_from_name("ipv"); }).find("nearest: ipu; known: ieee, ipu"),
            std::string::npos);
}

TEST(Names, EveryEnumeratorComesBackFromItsName) {
  for (int i = 0; i <= static_cast<int>(RoundingMode::kOdd); ++i) {
    const auto mode = static_cast<RoundingMode>(i);
    EXPECT_EQ(rounding_from_name(name_of(mode)), mode);
  }
  for (int i = 0; i <= static_cast<int>(StochasticVariant::kOdd); ++i) {
    const auto variant = static_cast<StochasticVariant>(i);
    EXPECT_EQ(variant_from_name(name_of(variant)), variant);
  }
  for (int i = 0; i <= static_cast<int>(Overflow::kNan); ++i) {
    const auto overflow = static_cast<Overflow>(i);
    EXPECT_EQ(overflow_from_name(name_of(overflow)), overflow);
  }
  for (int i = 0; i <= static_cast<int>(RandomEngine::kXoroshiro128aox); ++i) {
    const auto engine = static_cast<RandomEngine>(i);
    EXPECT_EQ(engine_from_name(name_of(engine)), engine);
  }
  for (const Tininess t : {Tininess::kAfterRounding, Tininess::kBeforeRounding})
    EXPECT_EQ(tininess_from_name(name_of(t)), t);
  for (int i = 0; i < kAccumulators; ++i) {
    const auto accumulator = static_cast<Accumulator>(i);
    EXPECT_EQ(accumulator_from_name(name_of(accumulator)), accumulator);
  }
  for (int i = 0; i < kCastProfiles; ++i) {
    const auto cast = static_cast<CastProfile>(i);
    EXPECT_EQ(cast_from_name(name_of(cast)), cast);
  }
  for (const Preset preset : {Preset::kIeee, Preset::kIpu}) EXPECT_EQ(preset_from_name(name_of(preset)), preset);
}

TEST(Names, TheWordsOfTheCommandLine) {
  EXPECT_EQ(rounding_from_name("nearest"), RoundingMode::kNearestEven);
  EXPECT_EQ(rounding_from_name("nearest-away"), RoundingMode::kNearestAway);
  EXPECT_EQ(rounding_from_name("zero"), RoundingMode::kTowardZero);
  EXPECT_EQ(rounding_from_name("up"), RoundingMode::kUp);
  EXPECT_EQ(rounding_from_name("down"), RoundingMode::kDown);
  EXPECT_EQ(rounding_from_name("stochastic"), RoundingMode::kStochastic);
  EXPECT_EQ(variant_from_name("rne"), StochasticVariant::kRne);
  EXPECT_EQ(overflow_from_name("nan"), Overflow::kNan);
  EXPECT_EQ(engine_from_name("philox7"), RandomEngine::kPhilox7);
}

/// Every row of the one list, by every name, in any case, with either dash.
template <class Row, class Read>
void expect_all_names(const Row& rows, const Read& read) {
  for (const auto& row : rows)
    for (std::string name : name_rows::words_of(row.names)) {
      EXPECT_EQ(read(name), row.value) << name;
      for (char& c : name) c = c == '-' ? '_' : c == '_' ? '-' : static_cast<char>(std::toupper(c));
      EXPECT_EQ(read(name), row.value) << name;
    }
}
TEST(Names, EveryNameOfTheList) {
  expect_all_names(name_rows::kFormats, format_from_name);
  expect_all_names(name_rows::kModes, rounding_from_name);
  expect_all_names(name_rows::kVariants, variant_from_name);
  expect_all_names(name_rows::kOverflows, overflow_from_name);
  expect_all_names(name_rows::kCasts, cast_from_name);
  expect_all_names(name_rows::kTininess, tininess_from_name);
  expect_all_names(name_rows::kEngines, engine_from_name);
  expect_all_names(name_rows::kPresets, preset_from_name);
  expect_all_names(name_rows::kChips, chip_from_name);
  expect_all_names(name_rows::kAccumulators, accumulator_from_name);
  expect_all_names(name_rows::kOtherDTypes, [](const std::string& name) { return parse_dtype(name).value(); });
}

/// Dtypes are formats, by the same names and TensorFlow's; their own names are among them.
TEST(Names, DTypesAreReadFromTheSameRows) {
  for (const name_rows::FormatRow& row : name_rows::kFormats) {
    for (const std::string& name : name_rows::words_of(row.names)) EXPECT_EQ(parse_dtype(name), row.dtype) << name;
    if (!row.graph_def.empty()) {
      EXPECT_EQ(parse_dtype(row.graph_def), row.dtype);
    }
    if (row.dtype) {
      EXPECT_EQ(format_of(*row.dtype), row.value);
    }
  }
  for (int i = 0; i <= static_cast<int>(DType::kString); ++i)
    EXPECT_EQ(parse_dtype(name_of(static_cast<DType>(i))), static_cast<DType>(i));
  for (const char* name : {"", "float8", "complex64", "e5p11", "DT_INVALID"}) EXPECT_FALSE(parse_dtype(name)) << name;
}

/// No word names two things of a kind.
TEST(Names, NoNameTwice) {
  const auto expect_once = [](const auto& rows) {
    std::vector<std::string> all;
    for (const auto& row : rows)
      for (const std::string& name : name_rows::words_of(row.names)) {
        EXPECT_EQ(std::find(all.begin(), all.end(), name), all.end()) << name;
        all.push_back(name);
      }
  };
  expect_once(name_rows::kFormats);
  expect_once(name_rows::kModes);
  expect_once(name_rows::kVariants);
  expect_once(name_rows::kOverflows);
  expect_once(name_rows::kEngines);
  expect_once(name_rows::kChips);
  expect_once(name_rows::kAccumulators);
  expect_once(name_rows::kOtherDTypes);
}

TEST(Names, Flags) {
  EXPECT_EQ(flag_names(0), "none");
  EXPECT_EQ(flag_names(kInexact), "inexact");
  EXPECT_EQ(flag_names(kOverflow | kInexact), "overflow, inexact");
  EXPECT_EQ(flag_names(kAllFlags), "invalid, divide-by-zero, overflow, underflow, inexact");
}

}  // namespace
}  // namespace softamp
