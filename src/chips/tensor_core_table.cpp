// Which instruction of a tensor core was seen to do what its model says: the evidence for
// numerics/products/tensor_core.h.
//
// The counts are those of `softamp reproduce tensor-core-vectors` over the results that MATLAB-tensor-core publishes
// (commit b12b5a7, one half of its files: 24 sets of 5,000). Three sets under the name of an L40S are the bytes of
// those under that of an Ada part, and are counted once.
#include "softamp/chips/tensor_core_table.h"

namespace softamp {
namespace {

constexpr int kSet = 5000;
constexpr auto kVerified = TensorCoreEvidence::kVerified, kInferred = TensorCoreEvidence::kInferred,
               kAssumed = TensorCoreEvidence::kAssumed;

const char* const kMmaSim = "MMA-Sim (arXiv 2511.10909), found by tests of the chip";
const char* const kOtherResult = "the same sum as with the other accumulator, and MMA-Sim";
const char* const kOtherFormat = "the same sum as of the other 8-bit format";
const char* const kFewBits = "results of fp16 leave F open: 22 to 25 and more give the same";
const char* const kOneSet = "one set of bytes under both names";
const char* const kPairs = "groups, their order and C last; F of 18 and more gives the same";
const char* const kLast = "results settle C last alone; groups and their order are those of ptxas' output";

struct Known {
  Accumulator accumulator;
  FloatFormat operand;
  bool halves;
  TensorCoreEvidence evidence;
  int sets;
  const char* gpus;
  const char* why;
};
constexpr Accumulator kVolta = Accumulator::kTensorCoreVolta, kTuring = Accumulator::kTensorCoreTuring,
                      kAmpere = Accumulator::kTensorCoreAmpere, kAda = Accumulator::kTensorCoreAda,
                      kHopper = Accumulator::kTensorCoreHopper, kBlackwell = Accumulator::kTensorCoreBlackwell,
                      kHopperMma = Accumulator::kTensorCoreHopperMma,
                      kBlackwellMma = Accumulator::kTensorCoreBlackwellMma;

// implements: N475
std::vector<Known> known() {
  return {
      {kVolta, kFp16, false, kVerified, 1, "V100", ""},
      {kVolta, kFp16, true, kInferred, 0, "", kOtherResult},
      {kTuring, kFp16, false, kInferred, 0, "", kMmaSim},
      {kTuring, kFp16, true, kInferred, 0, "", kMmaSim},
      {kAmpere, kFp16, false, kVerified, 1, "A2", ""},
      {kAmpere, kFp16, true, kVerified, 1, "A100", kFewBits},
      {kAmpere, kBf16, false, kVerified, 1, "A100", ""},
      {kAmpere, kTf32, false, kVerified, 1, "A2", ""},
      {kAda, kFp16, false, kInferred, 0, "", kOtherResult},
      {kAda, kFp16, true, kVerified, 1, "Ada, L40S", kFewBits},
      {kAda, kBf16, false, kVerified, 1, "Ada, L40S", kOneSet},
      {kAda, kTf32, false, kInferred, 0, "", "as Ampere's, and MMA-Sim"},
      {kAda, kE4m3, false, kVerified, 1, "Ada, L40S", kOneSet},
      {kAda, kE4m3, true, kInferred, 0, "", kOtherFormat},
      {kAda, kE5m2, false, kInferred, 0, "", kOtherFormat},
      {kAda, kE5m2, true, kVerified, 1, "Ada", ""},
      {kHopper, kFp16, false, kVerified, 1, "H100", ""},
      {kHopper, kFp16, true, kVerified, 1, "H200", kFewBits},
      {kHopper, kBf16, false, kVerified, 1, "H200", ""},
      {kHopper, kTf32, false, kVerified, 1, "H100", "groups half full: 4 products of 8"},
      {kHopper, kE4m3, false, kVerified, 1, "H100, H200",
       "with C = 0, and one set of bytes for both; C as a term is MMA-Sim's"},
      {kHopper, kE4m3, true, kAssumed, 0, "", "wgmma's sum, rounded as Ada's"},
      {kHopper, kE5m2, false, kInferred, 0, "", kOtherFormat},
      {kHopper, kE5m2, true, kAssumed, 0, "", "wgmma's sum, rounded as Ada's"},
      {kBlackwell, kFp16, false, kInferred, 0, "", kOtherResult},
      {kBlackwell, kFp16, true, kVerified, 1, "B200", kFewBits},
      {kBlackwell, kBf16, false, kVerified, 1, "B200", ""},
      {kBlackwell, kTf32, false, kInferred, 0, "", "as Hopper's, and MMA-Sim"},
      {kBlackwell, kE4m3, false, kInferred, 0, "", kMmaSim},
      {kBlackwell, kE4m3, true, kAssumed, 0, "", "tcgen05's sum, rounded to fp16"},
      {kBlackwell, kE5m2, false, kInferred, 0, "", kMmaSim},
      {kBlackwell, kE5m2, true, kAssumed, 0, "", "tcgen05's sum, rounded to fp16"},
      {kHopperMma, kE4m3, false, kInferred, 0, "", "as a B200's, and as with the fp16 accumulator"},
      {kHopperMma, kE4m3, true, kInferred, 0, "", kOtherFormat},
      {kHopperMma, kE5m2, false, kInferred, 0, "", "as a B200's, and as with the fp16 accumulator"},
      {kHopperMma, kE5m2, true, kVerified, 2, "H100, H200", kPairs},
      {kBlackwellMma, kE4m3, false, kVerified, 1, "B200", kLast},
      {kBlackwellMma, kE4m3, true, kInferred, 0, "", kOtherFormat},
      {kBlackwellMma, kE5m2, false, kInferred, 0, "", kOtherFormat},
      {kBlackwellMma, kE5m2, true, kVerified, 1, "B200", kPairs},
  };
}

const char* instruction_of(Accumulator accumulator, const FloatFormat& operand) {
  if (operand.storage_bits() > 8) return "mma";
  if (accumulator == kHopper) return "wgmma";
  return accumulator == kBlackwell ? "tcgen05" : "mma.sync";
}

}  // namespace

const char* name_of(TensorCoreEvidence evidence) {
  return evidence == kVerified ? "verified" : evidence == kInferred ? "inferred" : "assumed";
}

std::vector<TensorCoreRow> tensor_core_rows(Accumulator accumulator) {
  std::vector<TensorCoreRow> rows;
  for (const Known& k : known())
    if (k.accumulator == accumulator)
      rows.push_back({accumulator, k.operand, k.halves, tensor_core(accumulator, k.operand, k.halves), k.evidence,
                      k.sets * kSet, k.gpus, instruction_of(accumulator, k.operand), k.why});
  return rows;
}

// implements: N478
std::vector<TensorCoreParts> tensor_core_parts() {
  return {{kVolta, "V100", "Titan V, Quadro GV100"},
          {kTuring, "", "T4, RTX 20, Quadro RTX"},
          {kAmpere, "A100, A2", "A10, A16, A30, A40, RTX 30"},
          {kAda, "L40S, an Ada part", "L4, L40, RTX 40"},
          {kHopper, "H100, H200", "GH200"},
          {kBlackwell, "B200", "B100, GB200; RTX 50, whose 8-bit mma adds as tcgen05 (MMA-Sim)"},
          {kHopperMma, "H100, H200", "GH200"},
          {kBlackwellMma, "B200", "B100, GB200"}};
}

}  // namespace softamp
