// Facts about each chip, with their sources: the texts for the literals of numerics/chips.h.
#include "softamp/chips/chip_table.h"

#include "src/names/name_rows.h"

namespace softamp {
namespace {

constexpr auto kHash = Evidence::kHashVerified, kDocument = Evidence::kVendorDocument, kModel = Evidence::kVendorModel,
               kThird = Evidence::kThirdParty, kDefined = Evidence::kDefinition, kOurs = Evidence::kAssumed;

const char* const kPtx = "PTX ISA 8.7 to 9.1, cvt";
const char* const kDumps = "hibouwu/PTX-Instruction-Accuracy-Test @5961855, digests of two dumps of a B200";
const char* const kSingles = "hibouwu/PTX-Instruction-Accuracy-Test @5961855, its accuracy report";
const char* const kQuack = "Dao-AILab/quack @c8ec317, quack/rounding.py, probed on B200 and B300";
const char* const kRocm = "ROCm clr, amd_hip_ocp_host.hpp";
const char* const kGfloat = "graphcore-research/gfloat @b142762, round.py";

/// Four examples for a preset that rounds to any format.
std::vector<FloatFormat> examples() { return {kFp16, kBf16, kE4m3, kE5m2}; }

ChipFacts ipu() {
  return {Chip::kIpu,
          {},
          "Graphcore IPU",
          "fp16 results of f16v4add and its like and of f32tof16 with ESR on",
          {kFp16, kF143, kF152},
          {"The whole arithmetic of this chip is emulated, not its conversions alone: preset `ipu` of every verb.",
           "A 64-bit draw serves four lanes, lane i by bits 16i to 16i + 15.",
           "nanoo decides between NaN and the largest number for a result too large; infinities do not occur.",
           "From fp32 to a normal fp16, 13 of the 16 bits are seen; a subnormal result reads all 16."},
          {{kDocument, "random bits are added below the kept ones, the carry decides, signs kept apart",
            "Graphcore, US patent 11,169,778"},
           {kDocument, "ESR, NANOO and the four seed registers", "IPU instruction set documents, poplibs"},
           {kOurs, "16 random bits, form carry, lane map (switches sr_bits, sr_form, sr_lane_map)",
            "not public: our defaults"},
           {kOurs, "stochastic rounding of fp8 results (switch fp8_sr)", "not public: our default"}}};
}

ChipFacts nvidia(bool sm103) {
  ChipFacts f{sm103 ? Chip::kNvidiaSm103 : Chip::kNvidiaSm100,
              {},
              sm103 ? "NVIDIA B300 (sm_103a)" : "NVIDIA B200 (sm_100a)",
              "cvt.rs{.relu}{.satfinite}.{f16x2, bf16x2, e4m3x4, e5m2x4}.f32",
              {kFp16, kBf16, kE4m3, kE5m2},
              {"Of a packed result the first operand lands highest; swapping two operands swaps the halves.",
               "f16x2: 13 bits of each half of the random word; the three above are ignored. bf16x2: all 16.",
               "Without .satfinite overflow is not spelled out by the manual: modelled as infinity.",
               "e2m1x4, e2m3x4 and e3m2x4 exist; no model here: formats without NaN and infinity."},
              {}};
  if (sm103) {
    f.notes.push_back("e4m3x4, e5m2x4: values 0, 1, 2, 3 take bytes 1, 0, 3, 2 of the word, odd values bit-reversed.");
    f.evidence = {{kThird, "f16x2 and bf16x2 as sm_100a", kQuack},
                  {kThird, "order of the bytes, and which are reversed", kQuack},
                  {kDocument, "number of bits, carry, .satfinite, .relu, the halves' order", kPtx}};
  } else {
    f.notes.push_back("e4m3x4, e5m2x4: value i takes byte i of the word.");
    f.evidence = {
        {kHash, "with .satfinite, one random number: 50,331,650 results, subnormal fp16 and normal bf16", kDumps},
        {kThird, "four single results of f16x2 beside them, two of them under other random words, one with .relu",
         kSingles},
        {kDocument, "not in the dumps: other random numbers, normal fp16 below the limit, infinity, NaN", kPtx},
        {kOurs, "not in the dumps: subnormal bf16, overflow without .satfinite", "the manual is silent"},
        {kThird, "e4m3x4 and e5m2x4: byte i, subnormal results, NaN 0x7f", kQuack},
        {kDocument, "number of bits, carry, .satfinite, .relu, the halves' order", kPtx}};
  }
  return f;
}

ChipFacts amd_cdna3() {
  return {
      Chip::kAmdCdna3,
      {},
      "AMD CDNA3 (gfx942)",
      "v_cvt_sr_fp8_f32, v_cvt_sr_bf8_f32",
      {kF143, kF152},
      {"fp8 and bf8 of this generation are the FNUZ formats, here f143 and f152: one NaN, no infinity, no -0.",
       "FP16_OVFL = 1 is the saturating form. The host model makes NaN of an infinite operand in either case.",
       "The host model of amd_hip_fp8.h adds the low 20 (21) bits of the seed; the instruction reads the top ones."},
      {{kDocument, "top 23 - m bits of the seed, add, truncate; subnormal: shift right, drop, then add",
        "AMD CDNA ISA documents"},
       {kModel, "special values", "ROCm amd_hip_fp8.h"}}};
}

ChipFacts amd_cdna4() {
  return {Chip::kAmdCdna4,
          {},
          "AMD CDNA4 (gfx950)",
          "v_cvt_sr_{fp8,bf8,f16,bf16}_f32, v_cvt_scalef32_sr_*",
          {kFp16, kBf16, kE4m3, kE5m2},
          {"fp8 and bf8 are OCP's e4m3 and e5m2. Scale 1; the packed forms re-seed themselves, which is not modelled.",
           "FP16_OVFL = 1 is the saturating form; of bf16 nothing is said about it, so bf16 has only infinity.",
           "With it, the host model gives 0x7f for a saturated e4m3, which is NaN; we give 0x7e, 448, as the ISA says.",
           "A NaN's sign, which the host model keeps, is not kept here: a format's NaN is always one code."},
          {{kDocument, "e4m3 by 20 bits, e5m2 by 21: the top ones; add, truncate", "AMD CDNA4 ISA"},
           {kModel, "special values, subnormal results", kRocm},
           {kThird, "f16 by the top 13 bits, bf16 by the top 16", "LLVM PR 116310 and the same formula"}}};
}

ChipFacts intel_xe() {
  return {Chip::kIntelXe,
          {},
          "Intel Xe (Xe2 on, Data Center GPU Max)",
          "srnd",
          {kFp16, kE5m2},
          {"R lies on the source's mantissa, bit 0 on bit 0: a subnormal fp16 result, which drops more bits, hardly "
           "ever rounds up.",
           "e5m2 (bf8) is made from fp16, not from fp32.",
           "srnd.sat of newer parts is left out: what it makes of infinities is not said."},
          {{kDocument, "13 bits to fp16, 8 to bf8; alignment; NaN and infinity as IEEE 754, denormals kept",
            "intel-graphics-compiler, SRND.md"},
           {kOurs, "a NaN becomes the quiet one without payload", "its bits are not said"}}};
}

ChipFacts tenstorrent_wh() {
  return {Chip::kTenstorrentWh,
          {},
          "Tenstorrent Wormhole B0",
          "SFPSTOCHRND (FP32_TO_FP16A, FP32_TO_FP16B)",
          {kTf32, kBf16},
          {"Results are floats with 10 or 7 mantissa bits left: tf32 and bf16. A later SFPSTORE to fp16 only narrows "
           "the range; its formats have no infinity, so it is not modelled.",
           "up where the discarded bits, shifted to 23, are >= R: one chance in 2^23 too many; R = 0 moves exact "
           "values. The document calls it a bug of the hardware.",
           "Denormals and zeros of either sign become +0, NaNs the infinity of their sign."},
          {{kThird, "a functional model of the instruction", "tt-isa-documentation, SFPSTOCHRND_FloatFloat.md"}}};
}

ChipFacts p3109(Chip chip, const char* mode, const char* rule) {
  return {chip,
          {},
          std::string("IEEE P3109's stochastic rounding, gfloat's ") + mode,
          "no chip",
          examples(),
          {std::string("Rounds away from zero where ") + rule + ", d = the discarded part of a quantum.",
           "The number of bits r is free [=8]; the format any of ours.", "Saturating: infinite operands, too."},
          {{kThird, "the rule", kGfloat}}};
}

ChipFacts exact() {
  return {Chip::kExact,
          {},
          "no chip: 23 random bits, carry",
          "no chip",
          examples(),
          {"A float discards at most 23 bits on the way to a normal result: each is seen, and the bias is 0."},
          {{kDefined, "23 random bits on the top of what is discarded, the carry decides", "our definition"}}};
}

/// The names are those of the one list.
std::vector<ChipFacts> with_names(std::vector<ChipFacts> all) {
  for (ChipFacts& facts : all)
    for (const auto& row : name_rows::kChips)
      if (row.value == facts.chip) facts.name = row.names.front();
  return all;
}

}  // namespace

// implements: N389
const std::vector<ChipFacts>& chip_facts() {
  static const std::vector<ChipFacts> kFacts = with_names({
      ipu(),
      nvidia(false),
      nvidia(true),
      amd_cdna3(),
      amd_cdna4(),
      intel_xe(),
      tenstorrent_wh(),
      p3109(Chip::kP3109Fastest, "StochasticFastest", "floor(d 2^r) + R >= 2^r"),
      p3109(Chip::kP3109Fast, "StochasticFast", "floor(d 2^(r+1)) + 2R + 1 >= 2^(r+1)"),
      p3109(Chip::kP3109Rne, "Stochastic", "d 2^r to the nearest integer, ties to even, + R >= 2^r"),
      p3109(Chip::kP3109Odd, "StochasticOdd", "d 2^r to the nearest integer, ties to odd, + R >= 2^r"),
      exact(),
  });
  return kFacts;
}

}  // namespace softamp
