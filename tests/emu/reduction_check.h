// What the tests of reductions, softmax and norms share: one operation run through its kernel, operands dense in edge
// cases, and the sweep of presets, instruction sets and threads against the bodies.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "emu/op_kernel.h"
#include "softamp/graph/graph.h"
#include "softamp/numerics/chips.h"
#include "tests/emu/bulk_check.h"

namespace softamp::test {

struct OpRun {
  std::vector<Tensor> outputs;
  FpStatus status;
};

/// Runs one operation on `inputs` as step 3 of a graph.
inline OpRun run_op(const std::string& op, const Attributes& attributes, const std::vector<const Tensor*>& inputs,
                    emu::EngineSettings settings, bool with_status = true) {
  GraphBuilder builder;
  std::vector<Port> ports;
  for (size_t i = 0; i < inputs.size(); ++i)
    ports.push_back(builder.placeholder("x" + std::to_string(i), inputs[i]->dtype(), inputs[i]->shape()));
  const Port port = builder.add(op, ports, attributes, "op");
  const Graph graph = builder.build();
  const Node& node = graph.node(port.node);
  std::vector<TensorType> types;
  for (const Tensor* t : inputs) types.push_back(t->type());
  std::vector<std::string> warnings;
  const emu::OpContext context{node, types, settings, warnings};
  const std::unique_ptr<emu::OpKernel> kernel = emu::find_kernel(context)(context);

  OpRun run;
  std::vector<BareBytes> operands, results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor* t : inputs) operands.emplace_back(*t);
  for (BareBytes& operand : operands) in.push_back(operand.data());
  for (const TensorType& t : node.outputs) {
    run.outputs.emplace_back(t);
    results.emplace_back(run.outputs.back());
    std::memset(results.back().data(), 0xA5, t.bytes());
    out.push_back(results.back().data());
  }
  const Tensor scratch(DType::kFloat32, Shape{static_cast<int64_t>(kernel->scratch_bytes() / 4 + 16)});
  settings.environment.step = 3;
  settings.environment.operation = node.operation_id;
  const emu::OpCall call{in.data(), out.data(), const_cast<void*>(scratch.data()), settings.environment,
                         with_status ? &run.status : nullptr};
  kernel->run(call);
  for (const BareBytes& result : results) result.copy_back();
  return run;
}

inline emu::EngineSettings settings_for(const Semantics& s, bool reference = false) {
  emu::EngineSettings settings;
  settings.environment.semantics = s;
  settings.environment.random.seed = 77;
  settings.reference = reference;
  settings.threads = 1;
  return settings;
}

struct NamedSemantics {
  const char* name;
  Semantics semantics;
};
inline const std::vector<NamedSemantics>& presets() {
  FloatingPointBehaviour esr = FloatingPointBehaviour::all_off(), nanoo = esr;
  esr.esr = true;
  nanoo.nanoo = true;
  IpuSwitches odd;
  odd.f32_flush_sign = FlushSign::kPositive;
  odd.half_inf_operand = InfinityOperand::kMaxFinite;
  RoundingPolicy payloads;
  payloads.nan = NanPattern::kPropagate;
  static const std::vector<NamedSemantics> kPresets = {
      {"ieee", Semantics::ieee()},
      {"ieee stochastic 13", Semantics::ieee(RoundingPolicy::stochastic_carry(13))},
      {"ieee stochastic 20", Semantics::ieee(RoundingPolicy::stochastic_carry(20))},
      {"ieee toward zero", Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kTowardZero))},
      {"ieee payloads", Semantics::ieee(payloads)},
      {"ipu", Semantics::ipu()},
      {"ipu esr", Semantics::ipu(esr)},
      {"ipu nanoo", Semantics::ipu(nanoo)},
      {"ipu odd switches", Semantics::ipu(FloatingPointBehaviour::all_off(), odd)},
      {"Intel fp16", chip_semantics(Chip::kIntelXe, kFp16)},
      {"Tenstorrent bf16", chip_semantics(Chip::kTenstorrentWh, kBf16)},
      {"ieee to odd", Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kOdd))},
  };
  return kPresets;
}

/// plain: moderate numbers; edge: also zeros of both signs, subnormals, infinities, NaNs and huge numbers.
enum class Data { kPlain, kEdge, kHuge };

inline Tensor random_tensor(DType type, const Shape& shape, Mixer& mix, Data kind, double scale = 1) {
  Tensor t(type, shape);
  const FloatFormat f = format_of(type);
  const int64_t n = shape.elements();
  for (int64_t i = 0; i < n; ++i) {
    uint64_t code = 0;
    const double u = static_cast<double>(static_cast<int64_t>(mix())) * 0x1p-63;
    if (type == DType::kInt32 || type == DType::kBool) {
      code = mix() & (type == DType::kBool ? 1 : 0xFFFFFFFFu);
    } else {
      code = fp::from_double(f, scale * u);
      const uint64_t choice = mix();
      if (kind == Data::kEdge && choice % 61 == 0) {
        code = mix() & f.code_mask();
        if (choice >> 32 & 1) code = (mix() & f.sign_mask()) | (mix() & f.mantissa_mask());  // zero, subnormal
      } else if (kind == Data::kEdge && choice % 16 == 1) {
        code = mix() & f.sign_mask();
      } else if (kind == Data::kHuge && choice % 3 == 0) {
        code = (code & f.sign_mask()) | (f.max_finite_code() - mix() % (f.mantissa_mask() + 1));
      }
    }
    std::memcpy(static_cast<char*>(t.data()) + i * static_cast<int64_t>(size_of(type)), &code, size_of(type));
  }
  return t;
}

inline void expect_same(const OpRun& expected, const OpRun& got, const std::string& what, bool with_status = true) {
  ASSERT_EQ(expected.outputs.size(), got.outputs.size());
  for (size_t p = 0; p < got.outputs.size(); ++p) {
    const Tensor &a = expected.outputs[p], &b = got.outputs[p];
    if (a.same_bits(b)) continue;
    int64_t i = 0;
    while (a.code(i) == b.code(i)) ++i;
    ADD_FAILURE() << what << ": output " << p << " element " << i << " of " << a.elements() << ": got "
                  << hex(b.code(i)) << " = " << b.value(i) << ", body " << hex(a.code(i)) << " = " << a.value(i);
    return;
  }
  if (with_status && !(expected.status == got.status))
    ADD_FAILURE() << what << ": got " << show(got.status) << ", body " << show(expected.status);
}

/// Every instruction set, 1 and 3 threads, with status and without, against the bodies, under the preset.
inline void expect_as_body(const std::string& op, const Attributes& attributes,
                           const std::vector<const Tensor*>& inputs, const NamedSemantics& preset,
                           bool stable_statistics = false) {
  std::string what = op + " " + preset.name;
  for (const Tensor* t : inputs) what += std::string(" ") + name_of(t->dtype()) + t->shape().text();
  for (const auto& [name, value] : attributes)
    if (const auto* axes = std::get_if<std::vector<int64_t>>(&value))
      for (const int64_t a : *axes) what += " axis " + std::to_string(a);
  emu::EngineSettings body = settings_for(preset.semantics, true);
  body.use_stable_statistics = stable_statistics;
  const OpRun expected = run_op(op, attributes, inputs, body);
  static const std::vector<InstructionSet> kSets = usable_sets();
  for (const InstructionSet isa : kSets)
    for (const int threads : {1, 3}) {
      if (threads == 3 && isa != kSets.back()) continue;
      emu::EngineSettings settings = body;
      settings.reference = false;
      settings.isa = isa;
      settings.threads = threads;
      const std::string how = what + " " + bulk::name(isa) + " threads " + std::to_string(threads);
      expect_same(expected, run_op(op, attributes, inputs, settings), how);
      if (isa == kSets.back()) expect_same(expected, run_op(op, attributes, inputs, settings, false), how, false);
      if (::testing::Test::HasFailure()) return;
    }
}

/// N140 by lists: a value and the index of its first element.
struct Part {
  float value;
  size_t first;
};
struct Plus {
  size_t left, right;  // first elements of the operands
};
/// The sum, with every `+` in the order in which it was made.
inline float sum_by_lists(const std::vector<float>& x, std::vector<Plus>* additions = nullptr) {
  const auto add = [&](Part a, Part b) {
    if (additions) additions->push_back({a.first, b.first});
    return Part{a.value + b.value, a.first};
  };
  std::vector<Part> blocks;
  for (size_t start = 0; start < x.size(); start += 1024) {
    std::vector<std::vector<Part>> lanes(32);
    for (size_t i = start; i < std::min(x.size(), start + 1024); ++i) lanes[(i - start) % 32].push_back({x[i], i});
    std::vector<Part> sums;  // lanes that are there are the first ones
    for (const auto& lane : lanes) {
      if (lane.empty()) continue;
      Part sum = lane[0];
      for (size_t k = 1; k < lane.size(); ++k) sum = add(sum, lane[k]);
      sums.push_back(sum);
    }
    for (const size_t stride : {16, 8, 4, 2, 1}) {
      const size_t there = sums.size();
      for (size_t l = 0; l < stride && l + stride < there; ++l) sums[l] = add(sums[l], sums[l + stride]);
      sums.resize(std::min(there, stride));
    }
    blocks.push_back(sums[0]);
  }
  while (blocks.size() > 1) {
    std::vector<Part> next;
    for (size_t b = 0; b < blocks.size(); b += 2)
      next.push_back(b + 1 < blocks.size() ? add(blocks[b], blocks[b + 1]) : blocks[b]);
    blocks = next;
  }
  return blocks.empty() ? 0.0f : blocks[0].value;
}

}  // namespace softamp::test
