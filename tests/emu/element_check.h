// What the tests of element-wise kernels share: data of every dtype, one run of a kernel, and the comparison of all
// instruction sets and thread counts with the bodies in kernel/, values, flags and lowest indices bit for bit.
#pragma once

#include <cstring>
#include <memory>

#include "emu/op_kernel.h"
#include "softamp/numerics/chips.h"
#include "tests/emu/bulk_check.h"

namespace softamp::test {

inline const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> kAll = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                          DType::kFloat64, DType::kInt32,    DType::kBool};
  return kAll;
}

/// kTame: nothing special; kMixed: one element in a few hundred is special; kWild: any code.
enum class Field { kTame, kMixed, kWild };

inline uint64_t element_code(Mixer& mix, DType t, Field field) {
  if (t == DType::kBool) return mix() & 1;
  if (t == DType::kInt32) {
    if (field == Field::kTame || mix() % 4) return static_cast<uint32_t>(mix() % 2001) - 1000u;
    const uint32_t edges[] = {0x80000000u, 0x7FFFFFFFu, 0, 1, 0xFFFFFFFFu, 0x80000001u};
    return mix() & 1 ? edges[mix() % 6] : static_cast<uint32_t>(mix());
  }
  const FloatFormat f = format_of(t);
  const uint64_t sign = mix() & 1 ? f.sign_mask() : 0;
  const uint64_t choice = field == Field::kWild ? 15 + mix() % 50 : field == Field::kTame ? 900 : mix() % 900;
  if (choice >= 15 && choice < 24) {
    const uint64_t specials[] = {
        f.infinity_code(),      f.infinity_code() | f.quiet_bit(), f.infinity_code() + 1,  f.max_finite_code(),
        f.min_normal_code(),    f.min_normal_code() - 1,           f.min_subnormal_code(), 0,
        f.max_finite_code() - 1};
    return sign | specials[choice - 15];
  }
  if (choice < 40) return sign | mix() % f.min_normal_code();
  if (choice < 65) return mix() & f.code_mask();
  // Magnitudes of 2^-6 to 2^5, in fp16 with no zero.
  const uint64_t exponent = static_cast<uint64_t>(f.bias) - 6 + mix() % 11;
  return sign | exponent << f.mantissa_bits() | (mix() & f.mantissa_mask());
}

inline Tensor random_tensor(DType t, const Shape& shape, Field field, uint64_t seed) {
  Tensor tensor(t, shape);
  Mixer mix(seed);
  char* const data = static_cast<char*>(tensor.data());
  const size_t bytes = size_of(t);
  for (size_t i = 0; i < static_cast<size_t>(tensor.elements()); ++i) {
    const uint64_t code = element_code(mix, t, field);
    std::memcpy(data + i * bytes, &code, bytes);
  }
  return tensor;
}

/// A policy by name.
struct Named {
  std::string name;
  Semantics semantics;
};
inline std::vector<Named> usual_policies() {
  FloatingPointBehaviour esr = FloatingPointBehaviour::all_off(), nanoo = esr;
  esr.esr = true;
  nanoo.nanoo = true;
  return {{"ipu", Semantics::ipu()},
          {"ipu esr", Semantics::ipu(esr)},
          {"ipu nanoo", Semantics::ipu(nanoo)},
          {"ieee", Semantics::ieee()}};
}
inline std::vector<Named> unusual_policies() {
  std::vector<Named> all;
  const auto ieee = [&](const char* name, RoundingPolicy p) { all.push_back({name, Semantics::ieee(p)}); };
  ieee("ieee carry 13", RoundingPolicy::stochastic_carry(13));
  ieee("ieee carry 20", RoundingPolicy::stochastic_carry(20));
  RoundingPolicy p;
  for (const RoundingMode mode :
       {RoundingMode::kTowardZero, RoundingMode::kDown, RoundingMode::kNearestAway, RoundingMode::kOdd}) {
    p.mode = mode;
    ieee(describe(p).c_str(), p);
  }
  p = RoundingPolicy::stochastic_carry(30);
  p.variant = StochasticVariant::kRne;
  ieee("ieee rne 30", p);
  p.alignment = RandomAlignment::kAsIfNormal;
  for (const int bits : {3, 26}) {  // of the latter binary64 has just enough for fp32
    p.random_bits = bits;
    ieee(("ieee as if normal, rne " + std::to_string(bits)).c_str(), p);
  }
  p = {};
  p.overflow_rule = OverflowRule::kHalfway;
  p.nan = NanPattern::kPropagate;
  p.overflow = Overflow::kSaturate;
  ieee("ieee halfway saturate propagate", p);
  p = {};
  p.tininess = Tininess::kBeforeRounding;
  ieee("ieee tiny before", p);
  p = {};
  p.subnormals = Subnormals::kFlush;
  ieee("ieee flush", p);
  FloatingPointBehaviour on;
  IpuSwitches w;
  w.half_inf_operand = InfinityOperand::kMaxFinite;
  w.f32_flush_sign = FlushSign::kPositive;
  w.sr_bits = 16;
  all.push_back({"ipu all on, infinities are 65504, flush to +0, 16 bits", Semantics::ipu(on, w)});
  w.half_inf_operand = InfinityOperand::kNan;
  w.nan_pattern = NanPattern::kAllOnes;
  w.pole_flag = PoleFlag::kInvalid;
  all.push_back({"ipu infinities are NaN", Semantics::ipu(FloatingPointBehaviour::all_off(), w)});
  all.push_back({"Intel fp16", chip_semantics(Chip::kIntelXe, kFp16)});
  all.push_back({"Tenstorrent bf16", chip_semantics(Chip::kTenstorrentWh, kBf16)});
  all.push_back({"Tenstorrent tf32", chip_semantics(Chip::kTenstorrentWh, kTf32)});
  return all;
}

/// A node with its inputs.
struct ElementCase {
  std::string op;
  std::vector<const Tensor*> inputs;
  TensorType output;
  Attributes attributes = {};
};

struct ElementResult {
  Tensor out;
  FpStatus status;
};

struct RunOptions {
  Semantics semantics;
  InstructionSet isa = InstructionSet::kAuto;
  int threads = 1;
  bool reference = false, flags = true, in_place = false;
  kernel::WordTable table{};
};

inline ElementResult run_case(const ElementCase& c, const RunOptions& o) {
  emu::EngineSettings settings;
  settings.environment.semantics = o.semantics;
  settings.environment.random.seed = 0x123456789ABCDEFu;
  settings.environment.random.replica = 3;
  settings.environment.step = 5;
  settings.environment.operation = 77;
  settings.environment.table[0] = settings.environment.table[1] = o.table;
  settings.threads = o.threads;
  settings.isa = o.isa;
  settings.reference = o.reference;
  Node node{"node", c.op, {}, c.attributes, {c.output}, 77};
  std::vector<TensorType> types;
  std::vector<const void*> in;
  std::vector<BareBytes> operands;
  for (const Tensor* t : c.inputs) types.push_back(t->type()), operands.emplace_back(*t);
  for (BareBytes& operand : operands) in.push_back(operand.data());
  std::vector<std::string> warnings;
  const emu::KernelFactory make = emu::find_kernel(c.op);
  EXPECT_NE(make, nullptr) << c.op;
  const std::unique_ptr<emu::OpKernel> kernel = make({node, types, settings, warnings});
  ElementResult r{Tensor(c.output), {}};
  BareBytes result(r.out);
  if (o.in_place && kernel->in_place()) {
    std::memcpy(result.data(), c.inputs[0]->data(), c.inputs[0]->bytes());
    in[0] = result.data();
  }
  void* out[1] = {result.data()};
  const emu::OpCall call{in.data(), out, nullptr, settings.environment, o.flags ? &r.status : nullptr};
  kernel->run(call);
  result.copy_back();
  return r;
}

/// What the bodies give.
inline ElementResult body_of(const ElementCase& c, RunOptions o) {
  o.reference = true;
  return run_case(c, o);
}

/// One kernel against the bodies, in one of the ways in which it can be run.
inline void expect_same(const ElementCase& c, const ElementResult& expected, const RunOptions& o,
                        const std::string& what) {
  const ElementResult got = run_case(c, o);
  const std::string place = what + " " + c.op + " " + c.output.shape.text() + " " + name_of(c.output.dtype) + " of " +
                            (c.inputs.empty() ? "" : name_of(c.inputs[0]->dtype())) + " on " + bulk::name(o.isa) +
                            ", threads " + std::to_string(o.threads) + (o.in_place ? ", in place" : "");
  if (o.flags) {
    EXPECT_EQ(got.status, expected.status) << place << ": " << show(got.status) << ", body " << show(expected.status);
  }
  for (int64_t i = 0; i < c.output.shape.elements(); ++i)
    if (got.out.code(i) != expected.out.code(i)) {
      std::string operands;
      for (const Tensor* t : c.inputs) operands += " " + hex(t->code(t->elements() == got.out.elements() ? i : 0));
      ADD_FAILURE() << place << ": element " << i << " of" << operands << ": got " << hex(got.out.code(i)) << ", body "
                    << hex(expected.out.code(i));
      return;
    }
}

inline const std::vector<InstructionSet>& machine_sets() {
  static const std::vector<InstructionSet> kSets = usable_sets();
  return kSets;
}

/// Every instruction set, with and without flags, in place and by several threads, against the bodies.
inline void expect_body(const ElementCase& c, const Named& policy) {
  RunOptions o;
  o.semantics = policy.semantics;
  const ElementResult expected = body_of(c, o);
  for (const InstructionSet isa : machine_sets()) {
    o.isa = isa;
    o.flags = true;
    expect_same(c, expected, o, policy.name);
    o.in_place = true;
    expect_same(c, expected, o, policy.name);
    o.flags = false;
    o.in_place = false;
    expect_same(c, expected, o, policy.name);
  }
}

}  // namespace softamp::test
