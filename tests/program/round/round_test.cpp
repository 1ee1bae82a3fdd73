// `softamp round`: what it writes against the scalar conversion, what it refuses, and that no file is left half
// written.
#include "tests/program/process.h"

#include "softamp/data/npy.h"
#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <chrono>
#include <thread>

using namespace softamp;
using softamp::test::Outcome;
using softamp::test::read_text;
using softamp::test::run_softamp;
using softamp::test::TemporaryFolder;
using softamp::test::write_text;

namespace {

template <typename T>
void save(const std::string& path, npy::ElementType type, const std::vector<T>& data,
          std::vector<uint64_t> shape = {}) {
  if (shape.empty()) shape = {data.size()};
  npy::Writer writer(path, type, shape);
  writer.write(data.data(), data.size());
  writer.commit();
}
void save_floats(const std::string& path, const std::vector<float>& data) {
  save(path, npy::ElementType::kFloat32, data);
}

struct Loaded {
  npy::ElementType type;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> bits;  ///< each element's bit pattern
};

Loaded load(const std::string& path) {
  npy::Reader reader(path);
  const size_t size = npy::size_of(reader.header().type);
  std::vector<unsigned char> bytes(reader.header().elements * size);
  EXPECT_EQ(reader.read(bytes.data(), bytes.size()), reader.header().elements);
  Loaded loaded{reader.header().type, reader.header().shape, {}};
  for (size_t i = 0; i < reader.header().elements; ++i) {
    uint64_t word = 0;
    for (size_t b = size; b-- > 0;) word = word << 8 | bytes[i * size + b];
    loaded.bits.push_back(word);
  }
  return loaded;
}

/// Floats of every kind: each exponent, both signs, zeros, infinities, NaN, and neighbours of fp16's overflow
/// threshold.
std::vector<float> samples() {
  std::vector<float> v = {0.0F, -0.0F, 65504.0F, 65519.996F, 65520.0F, -65520.0F, 1e38F, 0.1F};
  for (const uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u, 0x00000001u})
    v.push_back(std::bit_cast<float>(bits));
  for (uint32_t i = 0; i < 1000; ++i) v.push_back(std::bit_cast<float>(i * 4294967u));
  return v;
}

Rounded expected(const FloatFormat& to, float x, const Semantics& s, uint32_t random = 0) {
  return fp::convert(kFp32, to, std::bit_cast<uint32_t>(x), s, random);
}

}  // namespace

TEST(Round, EveryFormatAndMode) {
  const TemporaryFolder folder;
  const std::vector<float> in = samples();
  save_floats(folder.file("in.npy"), in);
  const struct {
    const char* format;
    npy::ElementType type;
  } formats[] = {{"fp16", npy::ElementType::kFloat16}, {"bf16", npy::ElementType::kUint16},
                 {"tf32", npy::ElementType::kUint32},  {"fp32", npy::ElementType::kUint32},
                 {"e4m3", npy::ElementType::kUint8},   {"e5m2", npy::ElementType::kUint8},
                 {"f143", npy::ElementType::kUint8},   {"f152", npy::ElementType::kUint8},
                 {"e6p9", npy::ElementType::kUint16},  {"e2m1", npy::ElementType::kUint8},
                 {"e3m2", npy::ElementType::kUint8},   {"fp6_e2m3", npy::ElementType::kUint8}};
  for (const auto& f : formats)
    for (const char* mode : {"nearest", "nearest-away", "zero", "up", "down"})
      for (const char* overflow : {"infinity", "saturate", "nan"}) {
        RoundingPolicy policy = RoundingPolicy::ieee(rounding_from_name(mode));
        policy.overflow = overflow_from_name(overflow);
        const Outcome o = run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") + " --format " +
                                      f.format + " --rounding " + mode + " --overflow " + overflow);
        ASSERT_EQ(o.code, 0) << o.err;
        EXPECT_EQ(o.out, "");
        const Loaded out = load(folder.file("out.npy"));
        EXPECT_EQ(out.type, f.type) << f.format;
        ASSERT_EQ(out.shape, (std::vector<uint64_t>{in.size()}));
        const FloatFormat to = format_from_name(f.format);
        for (size_t i = 0; i < in.size(); ++i)
          ASSERT_EQ(out.bits[i], expected(to, in[i], Semantics::ieee(policy)).code)
              << f.format << ' ' << mode << ' ' << in[i];
      }
}

TEST(Round, DoublesAreRoundedOnce) {
  const TemporaryFolder folder;
  // Just above the midpoint of 1 and 1 + 2^-10; by way of fp32 it would be the midpoint, and go to even.
  save(folder.file("in.npy"), npy::ElementType::kFloat64, std::vector<double>{1 + 0x1p-11 + 0x1p-40, -0.0, 1e300});
  ASSERT_EQ(run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") + " --format half").code, 0);
  EXPECT_EQ(load(folder.file("out.npy")).bits, (std::vector<uint64_t>{0x3c01, 0x8000, 0x7c00}));
}

TEST(Round, StochasticElementsAreAddressedByTheirIndex) {
  const TemporaryFolder folder;
  const std::vector<float> in = samples();
  save_floats(folder.file("in.npy"), in);
  const RandomBits ten{0xfeedfacecafef00d}, seven{0xfeedfacecafef00d, 7};
  for (const int bits : {1, 13, 16, 20, 32})
    for (const char* variant : {"carry", "half", "rne", "odd"})
      for (const bool fewer_rounds : {false, true}) {
        RoundingPolicy policy = RoundingPolicy::stochastic_carry(bits);
        policy.variant = variant_from_name(variant);
        const Outcome o =
            run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") +
                        " --format fp16 --rounding stochastic --seed 0xfeedfacecafef00d --bits " +
                        std::to_string(bits) + " --variant " + variant + (fewer_rounds ? " --random philox7" : ""));
        ASSERT_EQ(o.code, 0) << o.err;
        const Loaded out = load(folder.file("out.npy"));
        for (size_t i = 0; i < in.size(); ++i)
          ASSERT_EQ(
              out.bits[i],
              expected(kFp16, in[i], Semantics::ieee(policy), (fewer_rounds ? seven : ten).bits(0, 0, i, bits)).code)
              << i << ' ' << bits << ' ' << variant;
      }
}

// Beyond the program's block of 2^22 elements the random index and the reported index go on.
TEST(Round, IndicesContinueAcrossBlocks) {
  const TemporaryFolder folder;
  constexpr size_t kCount = (size_t{1} << 22) + 1000, kBig = (size_t{1} << 22) + 500;
  std::vector<float> in(kCount, 1 + 0x1p-12F);
  in[kBig] = 1e6F;
  save_floats(folder.file("in.npy"), in);
  const Outcome o = run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") +
                                " --format fp16 --rounding stochastic --json --threads 2");
  ASSERT_EQ(o.code, 0) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json["flags"]["overflow"]["first_index"], kBig);
  EXPECT_EQ(json["flags"]["inexact"]["first_index"], 0);
  const Loaded out = load(folder.file("out.npy"));
  for (size_t i = kCount - 1000; i < kCount; ++i)
    ASSERT_EQ(out.bits[i], expected(kFp16, in[i], Semantics::ieee(RoundingPolicy::stochastic_carry(13)),
                                    RandomBits{}.bits(0, 0, i, 13))
                               .code);
}

TEST(Round, RandomBitsFromAFile) {
  const TemporaryFolder folder;
  // Rule vectors of one stochastic rounding with 13 bits, x and R, worked out from the definition (carry).
  const struct {
    uint32_t x, random;
    uint16_t code;
  } rows[] = {{0x3f800000, 0x1fff, 0x3c00}, {0x3f800001, 0x1fff, 0x3c01}, {0x3f801000, 0x0fff, 0x3c00},
              {0x3f801000, 0x1000, 0x3c01}, {0xbf801000, 0x1000, 0xbc01}, {0x477fe000, 0x1fff, 0x7bff},
              {0x477fe001, 0x1fff, 0x7c00}, {0x477fffff, 0x0000, 0x7bff}, {0x477fffff, 0x0001, 0x7c00},
              {0x33800000, 0x1fff, 0x0001}, {0x33000000, 0x0fff, 0x0000}, {0x33000000, 0x1000, 0x0001},
              {0x387fffff, 0x0001, 0x0400}, {0x00000001, 0x1fff, 0x0000}, {0x80000000, 0x1fff, 0x8000}};
  std::vector<float> in;
  std::vector<uint16_t> words;
  std::vector<uint64_t> codes;
  for (const auto& row : rows) {
    in.push_back(std::bit_cast<float>(row.x));
    words.push_back(static_cast<uint16_t>(row.random | 0x2000));  // the bit above the 13 is not read
    codes.push_back(row.code);
  }
  save_floats(folder.file("in.npy"), in);
  save(folder.file("r2.npy"), npy::ElementType::kUint16, words);
  save(folder.file("r4.npy"), npy::ElementType::kUint32, std::vector<uint32_t>(words.begin(), words.end()));
  for (const char* r : {"r2.npy", "r4.npy"}) {
    const Outcome o = run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") +
                                  " --format fp16 --rounding stochastic --random-words " + folder.file(r));
    ASSERT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(load(folder.file("out.npy")).bits, codes) << r;
    EXPECT_NE(o.err.find(" bits from "), std::string::npos);
  }
  // Eight bits from bytes: 1 + 2^-11 goes up from R = 128 on.
  save_floats(folder.file("in.npy"), {1 + 0x1p-11F, 1 + 0x1p-11F});
  save(folder.file("r1.npy"), npy::ElementType::kUint8, std::vector<uint8_t>{127, 128});
  ASSERT_EQ(run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") +
                        " --format fp16 --rounding stochastic --bits 8 --random-words " + folder.file("r1.npy"))
                .code,
            0);
  EXPECT_EQ(load(folder.file("out.npy")).bits, (std::vector<uint64_t>{0x3c00, 0x3c01}));
}

TEST(Round, ValuesAndPresetIpu) {
  const TemporaryFolder folder;
  const std::vector<float> in = samples();
  save_floats(folder.file("in.npy"), in);
  for (const char* format : {"fp16", "bf16", "e4m3", "f143", "tf32"}) {
    ASSERT_EQ(
        run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") + " --values --format " + format)
            .code,
        0);
    const Loaded out = load(folder.file("out.npy"));
    EXPECT_EQ(out.type, npy::ElementType::kFloat32);
    const FloatFormat to = format_from_name(format);
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out.bits[i], std::bit_cast<uint32_t>(fp::to_float(to, expected(to, in[i], Semantics::ieee()).code)))
          << format;
  }
  for (const bool nanoo : {false, true}) {
    const Outcome o = run_softamp("round " + folder.file("in.npy") + " " + folder.file("out.npy") +
                                  " --format fp16 --preset ipu" + (nanoo ? " --overflow nan" : ""));
    ASSERT_EQ(o.code, 0) << o.err;
    const Loaded out = load(folder.file("out.npy"));
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out.bits[i], expected(kFp16, in[i], Semantics::ipu({false, false, false, false, nanoo})).code) << in[i];
    EXPECT_NE(o.err.find("overflow (first at element 4)"), std::string::npos) << o.err;
  }
}

TEST(Round, ShapesEmptyArraysScalarsAndInPlace) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.npy");
  const auto round_in_place = [&] { return run_softamp("round " + file + " " + file + " --format fp16 --json"); };
  save(file, npy::ElementType::kFloat32, std::vector<float>(6, 1.5F), {1, 2, 3});
  const Outcome o = round_in_place();
  ASSERT_EQ(o.code, 0) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json["shape"], (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(json["elements"], 6);
  EXPECT_EQ(json["output_type"], "<f2");
  EXPECT_EQ(json["settings"]["format"], "fp16");
  EXPECT_TRUE(json["flags"].empty());
  EXPECT_EQ(load(file).shape, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(load(file).bits, std::vector<uint64_t>(6, 0x3e00));

  npy::Writer(file, npy::ElementType::kFloat32, std::vector<uint64_t>{0, 4}).commit();
  ASSERT_EQ(round_in_place().code, 0);
  EXPECT_EQ(load(file).shape, (std::vector<uint64_t>{0, 4}));

  const float one = 1;
  npy::Writer scalar(file, npy::ElementType::kFloat32, {});
  scalar.write(&one, 1);
  scalar.commit();
  ASSERT_EQ(round_in_place().code, 0);
  EXPECT_EQ(load(file).shape, (std::vector<uint64_t>{}));
  EXPECT_EQ(load(file).bits, (std::vector<uint64_t>{0x3c00}));
}

TEST(Round, RefusesAndLeavesNoFile) {
  const TemporaryFolder folder;
  save_floats(folder.file("in.npy"), {1, 2});
  save(folder.file("half.npy"), npy::ElementType::kFloat16, std::vector<uint16_t>{1, 2});
  save(folder.file("r3.npy"), npy::ElementType::kUint16, std::vector<uint16_t>{1, 2, 3});
  write_text(folder.file("text.npy"), "not an array");
  write_text(folder.file("cut.npy"), read_text(folder.file("in.npy")).substr(0, 133));
  const std::string in = folder.file("in.npy"), out = folder.file("out.npy"),
                    sr = " --format fp16 --rounding stochastic";
  const size_t files = folder.entries();
  const struct {
    std::string arguments, message;
  } rows[] = {
      {folder.file("none.npy") + " " + out + " --format fp16", "none.npy: cannot open: No such file"},
      {folder.file("text.npy") + " " + out + " --format fp16", "text.npy: byte 0: not a .npy file"},
      {folder.file("cut.npy") + " " + out + " --format fp16", "cut.npy: byte 133: the data are cut off"},
      {folder.file("half.npy") + " " + out + " --format fp16", "half.npy: type '<f2'; expected '<f4' or '<f8'"},
      {in + " " + folder.file("no/out.npy") + " --format fp16", "no/out.npy' cannot be written: No such file"},
      {in + " " + folder.path().string() + " --format fp16", "is a folder; expected the name of a file"},
      {in + " " + out, "--format is required"},
      {in + " " + out + " --format fp61", "unknown format 'fp61'; nearest: fp16"},
      {in + " " + out + " --format fp64", "--format: 'fp64'"},
      {in + " " + out + " --format fp16 --rounding sideways", "unknown rounding 'sideways'"},
      {in + " " + out + " --format fp16 --overflow wrap", "unknown overflow rule 'wrap'"},
      {in + " " + out + " --format fp16 --bits 0", "--bits: '0': expected a whole number in 1..32"},
      {in + " " + out + " --format fp16 --threads -1", "--threads: '-1'"},
      {in + " " + out + " --format fp16 --roundings up", "unknown option '--roundings'; nearest: --rounding"},
      {in + " " + out + " --format fp16 --preset ipu --rounding up",
       "expected nearest or stochastic with --preset ipu"},
      {in + " " + out + " --format fp32 --preset ipu --rounding stochastic",
       "expected nearest for fp32 with --preset ipu"},
      {in + " " + out + sr + " --random xoroshiro128aox", "expected philox or philox7"},
      {in + " " + out + " --format fp16 --random-words " + folder.file("r3.npy"),
       "--random-words: no rounding is stochastic; expected --rounding stochastic or --chip"},
      {in + " " + out + sr + " --random-words " + folder.file("r3.npy"),
       "r3.npy: shape (3,); expected one number per element, shape (2,)"},
      {in + " " + out + sr + " --random-words " + folder.file("half.npy"),
       "half.npy: type '<f2'; expected unsigned numbers"},
      {in + " " + out + sr + " --random-words " + folder.file("r3.npy") + " --seed 1",
       "--seed: random bits come from --random-words, not from a generator; expected no --random-words"},
  };
  for (const auto& row : rows) {
    const Outcome o = run_softamp("round " + row.arguments);
    EXPECT_EQ(o.code, 2) << row.arguments;
    EXPECT_NE(o.err.find(row.message), std::string::npos) << row.arguments << ": " << o.err;
    EXPECT_EQ(folder.entries(), files) << row.arguments;
  }
}

TEST(Round, AnInterruptLeavesNoFile) {
  const TemporaryFolder folder;
  // 2^30 floats that take no room on the disk; rounding them takes far longer than it takes to press a key.
  const std::vector<uint64_t> shape = {uint64_t{1} << 30};
  const std::string header = npy::make_header(npy::ElementType::kFloat32, shape), in = folder.file("in.npy");
  write_text(in, header);
  std::filesystem::resize_file(in, header.size() + 4 * shape[0]);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string out = folder.file("out.npy");
    const pid_t child = fork();
    if (child == 0) {
      execl(SOFTAMP_PROGRAM, "softamp", "round", in.c_str(), out.c_str(), "--format", "e4m3", nullptr);
      _exit(127);
    }
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto begun = [&] { return std::filesystem::exists(folder.file(".out.npy.part")); };
    while (!begun() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(begun()) << "the temporary file";
    kill(child, signal);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(folder.entries(), 1u);
  }
}
