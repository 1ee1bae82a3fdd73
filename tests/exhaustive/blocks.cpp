// Arrays in blocks against the functions for one block, bit for bit, on every instruction set:
//   elements    all 2^32 inputs without scales, to nearest even: each element's codes and values
//   magnitudes  all 2^31 magnitudes of fp32 as the greatest of their block, which they are alone in: the scales of
//   every
//               rule in lanes, and the element under its own scale
//   pairs       the 2^16 upper halves of fp32 with mixed lower halves, beside the number that makes each scale of MX
#include <cstring>
#include <memory>

#include "softamp/tensor/block_bulk.h"
#include "tests/exhaustive/proof.h"

namespace {

using namespace softamp;
using block::BlockFormat;

constexpr size_t kBlock = size_t{1} << 16;

struct Named {
  std::string name;
  BlockFormat format;
};

const block::Element kElements[] = {block::Element(kE4m3), block::Element(kE5m2), block::Element(kE3m2),
                                    block::Element(kE2m3), block::Element(kE2m1), block::Element::int8(),
                                    block::Element(kF143), block::Element(kF152)};

std::string name_of(const block::Element& e) {
  return e.integer ? "int8"
                   : "e" + std::to_string(e.format.exponent_bits) + "m" + std::to_string(e.format.mantissa_bits());
}

/// Formats whose blocks are of one size, with every rule of a scale that the kernels compute.
std::vector<Named> scaled_formats(int size) {
  std::vector<Named> all;
  const char* const rules[] = {"floor", "ceil", "even", "rceil", "microxcaling"};
  for (const block::Element& e : {kElements[0], kElements[1], kElements[4], block::Element::int8()})
    for (int rule = 0; rule < (e.integer ? 5 : 4); ++rule) {
      BlockFormat f = BlockFormat::of_mx(e);
      f.mx.scale = static_cast<block::ScaleRule>(rule);
      all.push_back({name_of(e) + " " + rules[rule], f});
    }
  for (int rule = 0; rule < 3; ++rule) {
    BlockFormat f = BlockFormat::of_nvfp4();
    f.nvfp4.rule = static_cast<block::Nvfp4Rule>(rule);
    all.push_back({"nvfp4 rule " + std::to_string(rule), f});
    for (const bool powers : {false, true}) {
      BlockFormat g = BlockFormat::of_fp8(kE4m3, 1, 1);
      g.fp8.rule = static_cast<block::Fp8Rule>(rule);
      g.fp8.powers_of_two = powers;
      all.push_back({"fp8 rule " + std::to_string(rule) + (powers ? " powers" : ""), g});
    }
  }
  for (Named& n : all) n.format.size = size, n.format.rows = 1;
  return all;
}

struct Buffers {
  std::vector<uint32_t> in = std::vector<uint32_t>(kBlock);
  std::vector<float> x = std::vector<float>(kBlock), values = x, got_values = x;
  std::vector<uint8_t> codes = std::vector<uint8_t>(kBlock), got_codes = codes;
  std::vector<uint32_t> scales = std::vector<uint32_t>(kBlock);
  std::vector<uint8_t> got_scales;
};

/// Block b of `size` elements by the functions for one.
void expect(Buffers& w, const BlockFormat& f, uint32_t amax, size_t b, size_t size) {
  const uint32_t* const x = w.in.data() + b * size;
  uint8_t* const codes = w.codes.data() + b * size;
  const int n = static_cast<int>(size);
  const block::Nvfp4Tensor tensor = block::nvfp4_tensor(amax, f.nvfp4);
  uint32_t scale = 0;
  switch (f.family) {
    case block::BlockFamily::kMx: scale = block::mx_quantize(f.element, x, n, codes, f.mx).scale; break;
    case block::BlockFamily::kNvfp4: scale = block::nvfp4_quantize(tensor, x, n, codes, f.nvfp4).scale; break;
    case block::BlockFamily::kFp8:
      scale = block::fp8_quantize(f.element.format, x, n, codes, f.fp8).scale.decode;
      break;
    default:
      for (size_t i = 0; i < size; ++i)
        codes[i] =
            static_cast<uint8_t>(block::round_fp32(f.element, x[i], 0, false, RoundingPolicy::saturating()).code);
  }
  w.scales[b] = scale;
  for (size_t i = 0; i < size; ++i) {
    uint32_t v;
    switch (f.family) {
      case block::BlockFamily::kMx: v = block::mx_value(f.element, scale, codes[i]); break;
      case block::BlockFamily::kNvfp4:
        v = block::nvfp4_value(block::nvfp4_decode_factor(tensor, scale, f.nvfp4), codes[i]);
        break;
      case block::BlockFamily::kFp8: v = block::fp8_value(f.element.format, scale, codes[i]); break;
      default: v = block::mx_value(f.element, e8m0::kOne, codes[i]);
    }
    w.values[b * size + i] = __builtin_bit_cast(float, v);
  }
}

void compare(proof::Tally& tally, Buffers& w, const Named& named, const std::vector<uint8_t>& scales, size_t size,
             bulk::InstructionSet set) {
  const auto line = [&](const char* what, size_t i, uint64_t got, uint64_t expected) {
    tally.mismatch(std::string(bulk::name(set)) + " " + named.name + " " + what + " of " + proof::hex(w.in[i], 8) +
                   " beside " + proof::hex(w.in[i / size * size], 8) + ": got " + proof::hex(got, 8) + ", reference " +
                   proof::hex(expected, 8));
  };
  tally.add_cases(kBlock);
  const auto bytes = static_cast<size_t>(named.format.scale_bytes());
  for (size_t b = 0; bytes != 0 && b < kBlock / size; ++b) {
    uint32_t got = 0;
    std::memcpy(&got, scales.data() + b * bytes, bytes);
    if (got != w.scales[b]) line("scale", b * size, got, w.scales[b]);
  }
  for (size_t i = 0; i < kBlock; ++i) {
    if (w.got_codes[i] != w.codes[i]) line("code", i, w.got_codes[i], w.codes[i]);
    if (std::memcmp(&w.got_values[i], &w.values[i], 4) != 0)
      line("value", i, __builtin_bit_cast(uint32_t, w.got_values[i]), __builtin_bit_cast(uint32_t, w.values[i]));
  }
}

/// Inputs bits(chunk, i) for all formats, in blocks of `size`.
// tests: N467
void prove(const proof::Options& o, proof::Tally& tally, const char* section, const std::vector<Named>& formats,
           size_t size, uint64_t chunks, const auto& bits) {
  const proof::Section timed(section, tally);
  proof::for_each_in_slice(o, chunks, [&] {
    return [&, w = std::make_shared<Buffers>()](uint64_t chunk) {
      for (size_t i = 0; i < kBlock; ++i) w->in[i] = bits(chunk, i);
      std::memcpy(w->x.data(), w->in.data(), 4 * kBlock);
      for (const Named& named : formats) {
        const BlockFormat& f = named.format;
        const bulk::BlockLayout layout{1, kBlock, 1};
        // NVFP4's tensor is this block of inputs, whatever it has.
        const uint32_t amax = block::greatest_magnitude(w->in.data(), static_cast<int>(kBlock));
        for (size_t b = 0; b < kBlock / size; ++b) expect(*w, f, amax, b, size);
        w->got_scales.resize(bulk::scale_count(layout, f) * static_cast<size_t>(f.scale_bytes()));
        for (const bulk::InstructionSet set : bulk::instruction_sets()) {
          bulk::BulkOptions options;
          options.threads = 1;
          options.isa = set;
          bulk::quantize(w->x, layout, f, w->got_codes, w->got_scales, options, &amax);
          bulk::dequantize(w->got_codes, w->got_scales, layout, f, amax, w->got_values, options);
          compare(tally, *w, named, w->got_scales, size, set);
        }
      }
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 16384);
  proof::Tally tally;
  std::vector<Named> plain;
  for (const block::Element& e : kElements) plain.push_back({name_of(e), BlockFormat::of_plain(e)});
  prove(o, tally, "elements: all inputs", plain, 1, uint64_t{1} << 16,
        [](uint64_t chunk, size_t i) { return static_cast<uint32_t>(chunk << 16 | i); });
  prove(o, tally, "magnitudes: alone in their block", scaled_formats(1), 1, uint64_t{1} << 15,
        [](uint64_t chunk, size_t i) { return static_cast<uint32_t>(chunk << 16 | i); });
  // A chunk has one number that makes the scale: 1, 1 + 2^-23, 1.5 or 1.96875 times a power of two.
  constexpr uint64_t kMakers = 255 * 4;
  prove(o, tally, "pairs: beside each scale", scaled_formats(16), 16, kMakers * 16, [](uint64_t chunk, size_t i) {
    const uint32_t fractions[] = {0, 1, 0x400000, 0x7C0000};
    const uint32_t maker = static_cast<uint32_t>(chunk % kMakers / 4) << 23 | fractions[chunk % 4];
    if (i % 16 == 0) return maker;
    const uint32_t upper = static_cast<uint32_t>(i * 40503 + chunk) << 16;
    const uint32_t mixed = upper | ((static_cast<uint32_t>(i) * 2654435761u + static_cast<uint32_t>(chunk)) >> 16);
    return (mixed & 0x7FFFFFFFu) > maker ? (mixed & 0x80FFFFFFu) | (maker & 0x7F000000u) : mixed;
  });
  return proof::verdict("blocks", o, tally);
}
