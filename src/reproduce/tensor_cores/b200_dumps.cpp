// Two dumps of an NVIDIA B200, regenerated and compared by their SHA-256.
//
// Set-up (N343 and N344): for A = 33000000, 33000001, ..., 34800000 the instruction
// cvt.rs.satfinite.{f16x2, bf16x2}.f32 with B = deadbeef and the random bits 1fff1fff; each 32-bit result
// little-endian, no header, A ascending: 25,165,825 results, 100,663,300 bytes a file.
#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "softamp/chips/chip_table.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/cvt_rs.h"
#include "softamp/tensor/chip_round.h"
#include "src/files/sha256.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"

namespace softamp::reproduce::b200_dumps {
namespace {

constexpr uint32_t kFirst = 0x33000000, kLast = 0x34800000, kB = 0xDEADBEEF, kRandom = 0x1FFF1FFF;
constexpr uint64_t kValues = uint64_t{kLast} - kFirst + 1;
constexpr size_t kChunk = size_t{1} << 18;
/// Results per second of both dumps together on two cores, including the hash, which takes nearly all the time.
constexpr double kRate = 5e7;

/// Results that the publication does not print, from two independent programs that reproduced both digests.
struct Checkpoint {
  uint32_t a, f16x2, bf16x2;
};
constexpr Checkpoint kCheckpoints[] = {{0x33000000, 0x0001FBFF, 0x3300DEAD}, {0x337FFFFF, 0x0001FBFF, 0x3380DEAD},
                                       {0x338003FF, 0x0001FBFF, 0x3380DEAD}, {0x33800400, 0x0002FBFF, 0x3380DEAD},
                                       {0x33FFFFFF, 0x0002FBFF, 0x3400DEAD}, {0x34800000, 0x0004FBFF, 0x3480DEAD}};
struct Single {
  uint32_t a, b, random;
  bool relu;
  uint32_t result;
};
constexpr Single kSingles[] = {{0x33C00001, 0x33C00000, 0x00001FFF, false, 0x00010002},
                               {0x33C00001, 0x33C00000, 0x1FFF1FFF, false, 0x00020002},
                               {0x338003FF, 0x33800400, 0x1FFF1FFF, false, 0x00010002},
                               {0x38761FFF, 0x00021002, 0x00000FFE, true, 0x03D80000}};

/// One file, made piece by piece; only the current piece is kept.
class Dump {
 public:
  Dump(CvtRsType type, const char* name, const char* published)
      : name_(name),
        published_(published),
        conversion_{Chip::kNvidiaSm100, CvtRs{type}.format(), ChipOverflow::kSaturating} {}

  /// The results of A = first, ..., first + count - 1.
  void add(uint32_t first, size_t count) {
    // A is the first operand: it lands in the high half.
    for (size_t i = 0; i < count; ++i) operands_[2 * i + 1] = std::bit_cast<float>(first + static_cast<uint32_t>(i));
    bulk::BulkOptions options;
    options.random.words = words_.data();
    options.threads = 1;
    bulk::round_as(conversion_, std::span<const float>(operands_.data(), 2 * count),
                   std::span<uint16_t>(codes_.data(), 2 * count), options);
    static_assert(std::endian::native == std::endian::little, "the file's order of bytes is the memory's");
    hash_.add(codes_.data(), 4 * count);
  }
  void finish() { digest_ = hash_.hex(); }

  const char* name() const { return name_; }
  const std::string& digest() const { return digest_; }
  const char* published() const { return published_; }

 private:
  const char* name_;
  const char* published_;
  bulk::ChipConversion conversion_;
  Sha256 hash_;
  std::string digest_;
  std::vector<uint32_t> words_ = std::vector<uint32_t>(kChunk, kRandom);
  std::vector<float> operands_ = std::vector<float>(2 * kChunk, std::bit_cast<float>(kB));
  std::vector<uint16_t> codes_ = std::vector<uint16_t>(2 * kChunk);
};

std::string word_text(uint32_t word) { return code_text(kFp32, word); }

uint32_t b200(CvtRsType type, uint32_t a, uint32_t b, uint32_t random, bool relu = false) {
  const uint32_t sources[2] = {a, b};
  return cvt_rs(Chip::kNvidiaSm100, {type, true, relu}, sources, random);
}

Check all_equal(const std::string& what, Against against, size_t equal, size_t all) {
  const std::string of_all = " of " + std::to_string(all) + " equal";
  return reproduce::equal(what, against, std::to_string(equal) + of_all, std::to_string(all) + of_all);
}

void compare_checkpoints(Outcome& o) {
  Table t{"checkpoints",
          "Single results of the dumps: ours, and those found apart, which are not printed by the publisher",
          {"A", "f16x2", "expected", "bf16x2", "expected"},
          {}};
  size_t equal = 0;
  for (const Checkpoint& c : kCheckpoints) {
    const uint32_t f16 = b200(CvtRsType::kF16x2, c.a, kB, kRandom), bf16 = b200(CvtRsType::kBf16x2, c.a, kB, kRandom);
    equal += size_t{f16 == c.f16x2} + size_t{bf16 == c.bf16x2};
    t.rows.push_back({word_text(c.a), word_text(f16), word_text(c.f16x2), word_text(bf16), word_text(c.bf16x2)});
  }
  o.tables.push_back(t);
  o.checks.push_back(all_equal("checkpoints of both dumps", Against::kBound, equal, 2 * std::size(kCheckpoints)));
}

void compare_singles(Outcome& o) {
  Table t{"singles",
          "Other results of cvt.rs{.relu}.satfinite.f16x2.f32 that were published",
          {"A", "B", "random bits", "relu", "ours", "published"},
          {}};
  size_t equal = 0;
  for (const Single& s : kSingles) {
    const uint32_t found = b200(CvtRsType::kF16x2, s.a, s.b, s.random, s.relu);
    equal += size_t{found == s.result};
    t.rows.push_back({word_text(s.a), word_text(s.b), word_text(s.random), s.relu ? "yes" : "no", word_text(found),
                      word_text(s.result)});
  }
  o.tables.push_back(t);
  o.checks.push_back(all_equal("other single results", Against::kFigure, equal, std::size(kSingles)));
}

Plot labelled(const char* title, const char* subtitle, const char* x, const char* y) {
  Plot plot;
  plot.title = title;
  plot.subtitle = subtitle;
  plot.x_label = x;
  plot.y_label = y;
  return plot;
}

/// What the dumps show: results against A, both in units of the least fp16 number.
Figure staircase() {
  constexpr int kPoints = 1400;
  Curve f16{"fp16, all 13 random bits one", CurveStyle::kBold, {}, {}};
  for (int i = 0; i <= kPoints; ++i) {
    const auto a = static_cast<uint32_t>(kFirst + (kValues - 1) * static_cast<uint64_t>(i) / kPoints);
    const uint64_t code = b200(CvtRsType::kF16x2, a, kB, kRandom) >> 16;
    f16.x.push_back(std::ldexp(double{std::bit_cast<float>(a)}, 24));
    f16.y.push_back(std::ldexp(value_of(kFp16, code), 24));
  }
  Plot plot = labelled("What the dump of f16x2 holds", "A from 2^-25 to 2^-22: every result is subnormal in fp16",
                       "A / 2^-24", "result / 2^-24");
  plot.curves = {f16, {"A itself", CurveStyle::kReference, {0.5, 4}, {0.5, 4}}};
  return {"dump", plot,
          "With the greatest random number nearly every A goes up to the next multiple of 2^-24: the grid of subnormal "
          "numbers, which the chip keeps."};
}

/// Where the documents differ: the share of all 2^13 random numbers that round up, between two neighbours in fp16.
Figure shares() {
  constexpr int kSteps = 64;
  const struct {
    Chip chip;
    int below;  ///< binades below the smallest normal number
    const char* title;
  } kCurves[] = {{Chip::kNvidiaSm100, 1, "NVIDIA and AMD, wherever"},
                 {Chip::kIntelXe, 1, "Intel, one binade below the normal numbers"},
                 {Chip::kIntelXe, 2, "Intel, two binades below"}};
  Plot plot = labelled("How often a subnormal fp16 result goes up", "counted over all 8192 random numbers of 13 bits",
                       "position between two neighbours", "share rounded up");
  for (const auto& c : kCurves) {
    Curve curve{c.title, CurveStyle::kBold, {}, {}};
    const Semantics s = chip_semantics(c.chip, kFp16);
    const double lower = std::ldexp(1.0, -14 - c.below);
    for (int i = 0; i < kSteps; ++i) {
      const double d = static_cast<double>(i) / kSteps;
      const auto x = std::bit_cast<uint32_t>(static_cast<float>(lower + d * std::ldexp(1.0, -24)));
      int up = 0;
      for (uint32_t random = 0; random < 8192; ++random)
        up += value_of(kFp16, fp::convert(kFp32, kFp16, x, s, random).code) > lower;
      curve.x.push_back(d);
      curve.y.push_back(up / 8192.0);
    }
    plot.curves.push_back(curve);
  }
  return {
      "shares", plot,
      "NVIDIA aligns the random bits to the top of what is cut off, wherever that begins: the share is the position. "
      "Intel, by its document, adds them at the bottom of the source: what is cut off above them must make up for it."};
}

std::vector<Dump> dumps_of(const Request& request) {
  for (const FloatFormat& f : request.formats)
    if (f != kFp16 && f != kBf16)
      throw std::invalid_argument("b200: format " + format_name(f) +
                                  ": expected fp16 or bf16, of which there are dumps");
  const auto wanted = [&request](const FloatFormat& f) {
    return request.formats.empty() ||
           std::find(request.formats.begin(), request.formats.end(), f) != request.formats.end();
  };
  std::vector<Dump> dumps;
  if (wanted(kFp16))
    dumps.emplace_back(CvtRsType::kF16x2, "f16x2", "225d47353206381d2b38c2dfabd1f51538b0473f193866e09a16ad13464fba44");
  if (wanted(kBf16))
    dumps.emplace_back(CvtRsType::kBf16x2, "bf16x2",
                       "93c6e6c45b3333ed85c0e69648ccaeae80e28000c5706485fcf0279f89506126");
  return dumps;
}

Outcome run(const Request& request, Watch& watch) {
  std::vector<Dump> dumps = dumps_of(request);
  for (uint64_t done = 0; done < kValues; done += kChunk) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(kChunk, kValues - done));
    const auto first = static_cast<uint32_t>(kFirst + done);
    if (dumps.size() == 2)
      tbb::parallel_invoke([&] { dumps[0].add(first, count); }, [&] { dumps[1].add(first, count); });
    else
      dumps[0].add(first, count);
    watch.at(static_cast<double>(done + count), static_cast<double>(kValues));
  }

  Outcome o;
  o.settings["chip"] = name_of(Chip::kNvidiaSm100);
  o.settings["instruction"] = "cvt.rs.satfinite.{f16x2, bf16x2}.f32";
  o.settings["a"] = {word_text(kFirst), word_text(kLast)};
  o.settings["b"] = word_text(kB);
  o.settings["random_bits"] = word_text(kRandom);
  o.settings["values"] = kValues;
  Table t{"dumps", "Digests of the dumps", {"form", "results", "bytes", "SHA-256, ours", "SHA-256, published"}, {}};
  for (Dump& dump : dumps) {
    dump.finish();
    t.rows.push_back({dump.name(), kValues, 4 * kValues, dump.digest(), dump.published()});
    o.checks.push_back(equal(std::string(dump.name()) + ": SHA-256 of " + std::to_string(4 * kValues) + " bytes",
                             Against::kFigure, dump.digest(), dump.published()));
  }
  o.tables.push_back(t);
  compare_checkpoints(o);
  compare_singles(o);
  o.figures = {staircase(), shares()};
  o.seen =
      "An NVIDIA B200 rounded 25,165,825 floats to fp16 and as many to bf16, each by its stochastic conversion with "
      "the random bits fixed, and the digests of the two files were published. Our emulation of that conversion makes "
      "the same 201,326,600 bytes: where a digest is equal, so is every bit of every result. Each of those floats is "
      "subnormal in fp16, which shows what the manual leaves open: the chip keeps subnormal numbers, and lays its "
      "random bits on the top of whatever a result cuts off. The second figure shows that this need not be so: "
      "according to its documentation, another chip adds them at the bottom, and its subnormal results go up less "
      "often. Not in the dumps, so not shown by them: other random numbers, normal results in fp16 except the one that "
      "saturates, subnormal ones in bf16, results without saturation, infinities and NaNs.";
  return o;
}

double seconds(const Request& request) {
  return 2 * static_cast<double>(kValues) / kRate / (request.formats.size() == 1 ? 2 : 1);
}

}  // namespace

Experiment experiment() {
  return {
      "b200",
      "Two dumps of an NVIDIA B200's stochastic conversion, made again bit for bit",
      "hibouwu, PTX-Instruction-Accuracy-Test (commit 5961855), B200 stochastic rounding test, GitHub; NVIDIA, PTX ISA "
      "8.7, cvt, 2025",
      kFormat,
      "",
      seconds,
      run};
}

}  // namespace softamp::reproduce::b200_dumps
