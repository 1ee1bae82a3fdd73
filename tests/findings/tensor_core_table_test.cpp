// The list of tensor cores' instructions: complete, and as the models have them.
#include "softamp/chips/tensor_core_table.h"

#include <gtest/gtest.h>

#include "softamp/numerics/format.h"

namespace softamp::tensor_core_table {
namespace {

TEST(TensorCoreTable, EveryInstructionOnce) {
  int results = 0;
  for (const TensorCoreParts& parts : tensor_core_parts()) {
    const std::vector<TensorCoreRow> rows = tensor_core_rows(parts.accumulator);
    const bool mma = parts.accumulator >= Accumulator::kTensorCoreHopperMma;
    for (const FloatFormat& f : {kFp16, kBf16, kTf32, kE4m3, kE5m2})
      for (const bool halves : {false, true}) {
        size_t found = 0;
        for (const TensorCoreRow& r : rows) found += r.operand == f && r.halves == halves;
        const bool listed = tensor_core(parts.accumulator, f, halves).exists() && (!mma || f.storage_bits() == 8);
        EXPECT_EQ(found, listed ? 1u : 0u) << name_of(parts.accumulator) << " " << f.precision << halves;
      }
    for (const TensorCoreRow& r : rows) {
      EXPECT_EQ(r.model, tensor_core(r.accumulator, r.operand, r.halves));
      const bool verified = r.evidence == TensorCoreEvidence::kVerified;
      EXPECT_EQ(r.results > 0, verified);
      EXPECT_EQ(r.gpus.empty(), !verified);
      EXPECT_TRUE(verified || !r.why.empty());
      EXPECT_FALSE(r.instruction.empty());
      results += r.results;
    }
  }
  EXPECT_EQ(tensor_core_parts().size(), static_cast<size_t>(kAccumulators) - 2);
  EXPECT_EQ(results, 100000) << "24 sets, less three under a second name, and one whose results are another's";
  EXPECT_TRUE(tensor_core_rows(Accumulator::kIpuModelA).empty());
  EXPECT_TRUE(tensor_core_rows(Accumulator::kFp32Chain).empty());
  EXPECT_STREQ(name_of(TensorCoreEvidence::kVerified), "verified");
  EXPECT_STREQ(name_of(TensorCoreEvidence::kInferred), "inferred");
  EXPECT_STREQ(name_of(TensorCoreEvidence::kAssumed), "assumed");
}

}  // namespace
}  // namespace softamp::tensor_core_table
