// Every mode of a dot product of quantised vectors against exact numbers, on random blocks: zeros, subnormal elements,
// scales at both ends, NaNs, partial last blocks, operands of different formats and block sizes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "softamp/numerics/block/dot.h"
#include "tests/oracle/block_dot.h"

namespace softamp::block {
namespace {

struct Side {
  DotOperand form;
  oracle::DotSide model;
  std::vector<uint8_t> codes, scales;
  std::vector<uint32_t> fp32_scales;

  DotVector vector() const { return {form, codes.data(), scales.data(), fp32_scales.data()}; }
};

/// How wild the scales are.
enum class Scales { kNear, kWide, kAny };

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  Side side(const BlockFormat& format, size_t n, Scales scales) {
    const Element& element = format.element;
    Side s;
    s.form.format = format;
    s.model.element = {element.format, element.integer};
    s.model.size = static_cast<size_t>(format.size);
    s.model.scale = model_of(format.family);
    s.model.three_quarters = s.form.three_quarters();
    const bool specials = scales == Scales::kAny && one_in(4);
    for (size_t k = 0; k < n; ++k) {
      const uint64_t code = element_code(element, specials);
      s.codes.push_back(static_cast<uint8_t>(code));
      s.model.codes.push_back(static_cast<uint32_t>(code));
    }
    const size_t blocks = format.size == 0 ? 1 : (n + s.model.size - 1) / s.model.size;
    for (size_t i = 0; i < blocks; ++i) {
      const uint32_t code = scale_code(format.family, scales, specials);
      s.scales.push_back(static_cast<uint8_t>(code));
      s.fp32_scales.push_back(code);
      s.model.scales.push_back(code);
    }
    if (format.family == BlockFamily::kNvfp4) {
      s.model.nvfp4 = true;
      s.model.transformer_engine = !one_in(3);
      s.form.format.nvfp4.rule = s.model.transformer_engine ? Nvfp4Rule::kTransformerEngine : Nvfp4Rule::kTorchao;
      s.form.amax = scales == Scales::kNear ? 0x3F800000 + below(0x1000000) : 1 + below(0x7F7FFFFF);
      s.model.amax = oracle::block_dot::as_float(s.form.amax);
      s.model.torchao_p = s.model.amax / 2688;
    }
    return s;
  }

  BlockFormat format() {
    const Element elements[] = {Element(kE4m3), Element(kE5m2), Element(kE2m1),
                                Element(kE3m2), Element(kE2m3), Element::int8()};
    const int sizes[] = {32, 32, 16, 64, 128, 8};
    BlockFormat f = BlockFormat::of_mx(elements[below(6)]);
    f.size = sizes[below(6)];
    f.mx.three_quarters = one_in(8);
    if (one_in(4)) f = BlockFormat::of_fp8(elements[below(5)].format, 1, one_in(2) ? 0 : 128);
    if (one_in(4)) f = BlockFormat::of_nvfp4();
    if (one_in(8)) f = BlockFormat::of_plain(elements[below(6)]);
    return f;
  }

 private:
  static oracle::DotScale model_of(BlockFamily family) {
    switch (family) {
      case BlockFamily::kMx: return oracle::DotScale::kE8m0;
      case BlockFamily::kNvfp4: return oracle::DotScale::kE4m3;
      case BlockFamily::kFp8: return oracle::DotScale::kFp32;
      default: return oracle::DotScale::kOne;
    }
  }
  uint64_t element_code(const Element& e, bool specials) {
    uint64_t code = random_() & e.code_mask();
    if (one_in(6)) code &= 7;                                           // small ones: subnormal
    if (one_in(8)) code = e.integer ? 0 : code & e.format.sign_mask();  // zeros of both signs
    if (e.integer) return code == 0x80 ? 0x81 : code;
    return e.format.is_finite(code) || specials ? code : 1;
  }
  uint32_t scale_code(BlockFamily family, Scales scales, bool specials) {
    const bool nan = specials && one_in(3), near = scales == Scales::kNear;
    switch (family) {
      case BlockFamily::kMx:
        return nan ? 0xFF : near ? 120 + below(12) : scales == Scales::kWide ? 64 + below(128) : below(255);
      case BlockFamily::kNvfp4: return nan ? 0x7F : near ? 0x30 + below(16) : below(0x7F) | (one_in(8) ? 0x80u : 0u);
      case BlockFamily::kFp8: return nan ? 0x7FC00000 : near ? 0x3D000000 + below(0x1000000) : below(0x7F800000);
      default: return 0;
    }
  }
  std::mt19937_64 random_;
};

struct ModeCase {
  std::string name;
  DotRules rules;
};
std::vector<ModeCase> modes() {
  std::vector<ModeCase> all;
  for (const auto& [name, mode] : {std::pair{"exact", DotMode::kExact},
                                   {"fp32_chain", DotMode::kFp32Chain},
                                   {"block", DotMode::kBlock},
                                   {"blackwell", DotMode::kBlackwell}})
    all.push_back({name, {mode}});
  for (const int every : {0, 64, 128}) {
    all.push_back({"scales_first", {DotMode::kHopper, Promotion::kScalesFirst, every}});
    all.push_back({"partner_last", {DotMode::kHopper, Promotion::kPartnerLast, every}});
    all.push_back({"unfused", {DotMode::kHopper, Promotion::kUnfused, every}});
  }
  return all;
}

oracle::DotResult expected(const ModeCase& mode, const Side& a, const Side& b, float c) {
  oracle::block_dot::Summing sum(a.model, b.model, c);
  switch (mode.rules.mode) {
    case DotMode::kExact: return sum.exact();
    case DotMode::kFp32Chain: return sum.chain();
    case DotMode::kBlock: return sum.blocks();
    case DotMode::kBlackwell: return sum.blackwell();
    case DotMode::kHopper: break;
  }
  return sum.hopper(mode.name, static_cast<size_t>(mode.rules.promote_every));
}

// tests: N485, N488, N489, N490
TEST(BlockDotOracle, RandomBlocks) {
  Maker make(20);
  size_t judged = 0, nans = 0, infinities = 0;
  std::vector<size_t> of_mode(modes().size());
  for (int round = 0; round < 2000; ++round) {
    const size_t n = 1 + make.below(round % 4 == 0 ? 300 : 70);
    const Scales scales = static_cast<Scales>(round % 3);
    const Side a = make.side(make.format(), n, scales);
    const Side b = make.side(make.one_in(2) ? a.form.format : make.format(), n, scales);
    const uint32_t start = make.one_in(3) ? make.below(0x7F800000) | make.below(2) << 31 : 0;
    const std::vector<ModeCase> all = modes();
    for (size_t m = 0; m < all.size(); ++m) {
      if (refusal_of(all[m].rules, a.form, b.form) != nullptr) continue;
      const Rounded got = dot(all[m].rules, a.vector(), b.vector(), n, Semantics::ieee(), start);
      const oracle::DotResult want = expected(all[m], a, b, oracle::block_dot::as_float(start));
      ++judged;
      ++of_mode[m];
      const bool nan = kFp32.is_nan(want.code);
      nans += nan;
      infinities += kFp32.is_infinity(want.code);
      const std::string where = all[m].name + " of round " + std::to_string(round) + ", n " + std::to_string(n);
      if (nan)
        ASSERT_TRUE(kFp32.is_nan(got.code)) << where;
      else
        ASSERT_EQ(got.code, want.code) << std::hex << where;
      ASSERT_EQ((got.flags & kInvalid) != 0, want.invalid) << where;
      ASSERT_EQ((got.flags & kOverflow) != 0, want.overflow) << where;
    }
  }
  for (size_t m = 0; m < of_mode.size(); ++m) EXPECT_GT(of_mode[m], 300u) << m;
  EXPECT_GT(nans, 100u);
  EXPECT_GT(infinities, 100u);
  EXPECT_GT(judged, 12000u);
}

// The values that a chain multiplies are those of dequantising.
// tests: N486
TEST(BlockDotOracle, DequantisedValues) {
  Maker make(21);
  for (int round = 0; round < 200; ++round) {
    const Side s = make.side(make.format(), 40, static_cast<Scales>(round % 3));
    const BlockFormat& f = s.form.format;
    for (uint64_t k = 0; k < 40; ++k) {
      const uint32_t scale = s.vector().scale_of(k);
      BlockScale made{scale, 0, scale};
      if (f.family == BlockFamily::kNvfp4)
        made.decode = nvfp4_decode_factor(nvfp4_tensor(s.form.amax, f.nvfp4), scale, f.nvfp4);
      const uint32_t want = block_value(f, made, s.codes[k]),
                     got = dequantised(s.form, whole_scale(s.form, scale), s.codes[k]);
      if (kFp32.is_nan(want))
        ASSERT_TRUE(kFp32.is_nan(got));
      else
        ASSERT_EQ(got, want) << round;
    }
  }
}

}  // namespace
}  // namespace softamp::block
