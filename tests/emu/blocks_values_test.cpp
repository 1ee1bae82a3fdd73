// Every code under every scale of a byte, and under scales of fp32 that no quantisation makes.
#include <functional>

#include "tests/emu/block_check.h"

namespace softamp::test {
namespace {

/// All 256 codes, bits above the format's included, under each scale, on each instruction set.
void check_values(const BlockFormat& f, const std::vector<uint32_t>& scales, uint32_t amax,
                  const std::function<uint32_t(uint32_t scale, uint32_t code)>& value) {
  const size_t n = scales.size() * 256, bytes = static_cast<size_t>(f.scale_bytes());
  std::vector<uint8_t> codes(n), kept(scales.size() * bytes);
  for (size_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(i);
  for (size_t b = 0; b < scales.size(); ++b) std::memcpy(kept.data() + b * bytes, &scales[b], bytes);
  BlockFormat format = f;
  format.size = 256;
  format.rows = 1;
  for (const InstructionSet set : usable_sets()) {
    BulkOptions o;
    o.isa = set;
    std::vector<float> got(n);
    bulk::dequantize(codes, kept, {1, n, 1}, format, amax, got, o);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t expected = value(scales[i / 256], codes[i]);
      ASSERT_EQ(hex(std::bit_cast<uint32_t>(got[i])), hex(expected))
          << bulk::name(set) << " code " << int{codes[i]} << " under " << hex(scales[i / 256]);
    }
  }
}

std::vector<uint32_t> all_bytes() {
  std::vector<uint32_t> bytes(256);
  for (uint32_t b = 0; b < 256; ++b) bytes[b] = b;
  return bytes;
}

// tests: N459
TEST(BulkBlocksValues, EveryCode) {
  for (const block::Element& e : kBlockElements)
    check_values(BlockFormat::of_mx(e), all_bytes(), 0,
                 [&](uint32_t scale, uint32_t code) { return block::mx_value(e, scale, code); });
  for (const block::Element& e : {block::Element(kF143), block::Element(kF152)})
    check_values(BlockFormat::of_mx(e), all_bytes(), 0,
                 [&](uint32_t scale, uint32_t code) { return block::mx_value(e, scale, code); });
}

// tests: N495
TEST(BulkBlocksValues, Nvfp4) {
  for (int rule = 0; rule < 3; ++rule)
    for (const uint32_t amax : {0u, 0x3F800001u, 0x45280000u, 0x7F7FFFFFu, 0x7F800000u, 0x7FC00000u, 1u}) {
      BlockFormat f = BlockFormat::of_nvfp4();
      f.nvfp4.rule = static_cast<block::Nvfp4Rule>(rule);
      const block::Nvfp4Tensor tensor = block::nvfp4_tensor(amax, f.nvfp4);
      check_values(f, all_bytes(), amax, [&](uint32_t scale, uint32_t code) {
        return block::nvfp4_value(block::nvfp4_decode_factor(tensor, scale, f.nvfp4), code);
      });
    }
}

TEST(BulkBlocksValues, Fp8) {
  const std::vector<uint32_t> scales = {0,           0x80000000u, 1,           0x80000001u, 0x3F800000u, 0xBF800001u,
                                        0x7F7FFFFFu, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u, 0xFFC00000u};
  for (const FloatFormat& e : {kE4m3, kE5m2, kF143})
    check_values(BlockFormat::of_fp8(e), scales, 0,
                 [&](uint32_t scale, uint32_t code) { return block::fp8_value(e, scale, code); });
}

}  // namespace
}  // namespace softamp::test
