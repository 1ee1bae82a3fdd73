// Updates whose weight is rounded otherwise than the policy says, and the compensated addition: vectors against the
// body in kernel/optimizers.h, bit for bit, flags included, on every instruction set.
#include "softamp/kernel/optimizers.h"
#include "tests/backend/update_rules.h"
#include "tests/emu/reduction_check.h"

namespace softamp::test::weight_update {
namespace {

constexpr DType kH = DType::kFloat16, kB = DType::kBFloat16, kF = DType::kFloat32;
constexpr int64_t kCounts[] = {0, 1, 63, 64, 65, 700, 1500};

Tensor one_value(DType type, double value) { return Tensor::full(type, Shape{}, value); }

/// Every fifth delta is about as large as what the compensation holds, or as half the spacing of its weight.
std::vector<Tensor> compensated_inputs(DType type, int64_t n, Data kind, Mixer& mix) {
  std::vector<Tensor> in;
  in.push_back(random_tensor(type, Shape{n}, mix, kind));
  in.push_back(random_tensor(type, Shape{n}, mix, kind, 0x1p-9));
  in.push_back(random_tensor(type, Shape{n}, mix, kind, 0x1p-8));
  const FloatFormat f = format_of(type);
  for (int64_t i = 0; i < n; i += 5) {
    const double w = fp::to_double(f, in[0].code(i)), c = fp::to_double(f, in[1].code(i));
    const double spacing = std::ldexp(w, -f.precision - static_cast<int>(mix() % 2));
    kernel::put_code(in[2].data(), f, static_cast<uint64_t>(i), fp::from_double(f, mix() & 1 ? c : spacing));
  }
  in.push_back(one_value(DType::kBool, 1));
  return in;
}

std::vector<const Tensor*> pointers(const std::vector<Tensor>& all) {
  std::vector<const Tensor*> to;
  for (const Tensor& t : all) to.push_back(&t);
  return to;
}

// tests: N246
TEST(WeightUpdate, CompensatedVectorsGiveTheBodysBits) {
  Mixer mix(21);
  for (const NamedSemantics& preset : presets())
    for (const DType type : {kH, kB, kF})
      for (const Data kind : {Data::kPlain, Data::kEdge, Data::kHuge})
        for (const int64_t n : kCounts) {
          const std::vector<Tensor> in = compensated_inputs(type, n, kind, mix);
          expect_as_body("ApplyCompensated", {}, pointers(in), preset);
          if (HasFailure()) return;
        }
}

/// Several pieces, and tensors so large that stores pass the caches by.
TEST(WeightUpdate, CompensatedPiecesGiveTheBodysBits) {
  Mixer mix(22);
  for (const DType type : {kH, kB, kF}) {
    const std::vector<Tensor> in =
        compensated_inputs(type, type == kH ? (int64_t{1} << 21) + 77 : 70001, Data::kPlain, mix);
    emu::EngineSettings settings = settings_for(presets()[6].semantics, true);
    const OpRun expected = run_op("ApplyCompensated", {}, pointers(in), settings);
    settings.reference = false;
    for (const int threads : {1, 2, 3}) {
      settings.threads = threads;
      expect_same(expected, run_op("ApplyCompensated", {}, pointers(in), settings), std::to_string(threads));
    }
  }
}

TEST(WeightUpdate, ASkippedUpdateIsACopy) {
  Mixer mix(23);
  std::vector<Tensor> in = compensated_inputs(kB, 100, Data::kEdge, mix);
  in[3] = one_value(DType::kBool, 0);
  const OpRun run = run_op("ApplyCompensated", {}, pointers(in), settings_for(Semantics::ieee()));
  EXPECT_TRUE(run.outputs[0].same_bits(in[0]));
  EXPECT_TRUE(run.outputs[1].same_bits(in[1]));
  EXPECT_EQ(run.status, FpStatus{});
}

/// Where the policy is what a word says, the word changes nothing; slots never notice it.
// tests: N246
TEST(WeightUpdate, WordsChangeTheWeightAlone) {
  Mixer mix(24);
  FloatingPointBehaviour on = FloatingPointBehaviour::all_off();
  on.esr = true;
  const int64_t n = 3000;
  for (const UpdateRule& u : update_rules()) {
    if (u.attributes.contains("weight_update") || !u.has_rates()) continue;
    std::vector<Tensor> in;
    for (size_t k = 0; k <= u.slots; ++k) {
      in.push_back(random_tensor(kH, Shape{n}, mix, Data::kPlain));
      for (int64_t i = 0; i < n && k > 0; ++i)  // roots of mean squares
        kernel::put_code(in.back().data(), kFp16, static_cast<uint64_t>(i), in.back().code(i) & 0x7FFFu);
    }
    in.push_back(one_value(kF, 0.05));
    if (std::string(u.op) == "ApplyAdam") in.push_back(one_value(kF, 0.01));
    in.push_back(random_tensor(kH, Shape{n}, mix, Data::kPlain));
    in.push_back(one_value(DType::kBool, 1));
    const auto outputs = [&](const char* word, bool esr) {
      Attributes a = u.attributes;
      a["weight_update"] = std::string(word);
      return run_op(u.op, a, pointers(in), settings_for(Semantics::ipu(esr ? on : FloatingPointBehaviour::all_off())))
          .outputs;
    };
    for (const bool esr : {false, true}) {
      const std::vector<Tensor> plain = outputs("default", esr), same = outputs(esr ? "stochastic" : "nearest", esr),
                                other = outputs(esr ? "nearest" : "stochastic", esr), step = outputs("step", esr);
      EXPECT_TRUE(plain[0].same_bits(same[0])) << u.op;
      EXPECT_FALSE(plain[0].same_bits(other[0])) << u.op;
      for (size_t k = 1; k < plain.size(); ++k)
        EXPECT_TRUE(plain[k].same_bits(same[k]) && plain[k].same_bits(other[k]) && plain[k].same_bits(step[k])) << u.op;
    }
    // The weight alone draws: at the addresses of the stochastic run, where the slots, if any, are the same.
    if (u.slots == 0) {
      EXPECT_TRUE(outputs("stochastic", false)[0].same_bits(outputs("default", true)[0]));
    }
  }
}

}  // namespace
}  // namespace softamp::test::weight_update
