// What the tests of convolutions and pooling share: one node, made and run by the engine.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "emu/op_kernel.h"
#include "softamp/numerics/chips.h"
#include "src/graph/node_check.h"
#include "tests/emu/bulk_check.h"

namespace softamp::test {

/// Codes of a tensor, as bytes on a cache line of their own, with a rim behind that must not be written.
class Codes {
 public:
  explicit Codes(const TensorType& type) : type_(type), bytes_(type.bytes() + 128, uint8_t{0xA5}) {}
  Codes(Codes&&) = default;
  Codes& operator=(Codes&&) = default;
  Codes(const Codes& other) : Codes(other.type_) { std::memcpy(data(), other.data(), type_.bytes()); }
  Codes& operator=(const Codes& other) { return *this = Codes(other); }
  const TensorType& type() const { return type_; }
  size_t size() const { return static_cast<size_t>(type_.shape.elements()); }
  void* data() { return aligned(); }
  const void* data() const { return const_cast<Codes*>(this)->aligned(); }
  uint64_t at(size_t i) const {
    uint64_t code = 0;
    std::memcpy(&code, static_cast<const char*>(data()) + i * size_of(type_.dtype), size_of(type_.dtype));
    return code;
  }
  void set(size_t i, uint64_t code) {
    std::memcpy(static_cast<char*>(data()) + i * size_of(type_.dtype), &code, size_of(type_.dtype));
  }
  double value(size_t i) const { return fp::to_double(format_of(type_.dtype), at(i)); }
  void set_value(size_t i, double v) { set(i, fp::from_double(format_of(type_.dtype), v)); }
  bool rim_whole() const {
    const char* rim = static_cast<const char*>(data()) + type_.bytes();
    for (; rim < reinterpret_cast<const char*>(bytes_.data() + bytes_.size()); ++rim)
      if (*rim != static_cast<char>(0xA5)) return false;
    return true;
  }

 private:
  void* aligned() {
    const auto p = reinterpret_cast<uintptr_t>(bytes_.data());
    return reinterpret_cast<void*>((p + 63) / 64 * 64);
  }
  TensorType type_;
  std::vector<uint8_t> bytes_;
};

/// A node with inputs of these types.
inline Node make_node(std::string op, const std::vector<Codes>& inputs, Attributes attributes) {
  Node node;
  node.name = "node";
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  std::vector<TensorType> types;
  for (const Codes& c : inputs) {
    node.inputs.push_back({static_cast<int>(node.inputs.size()), 0});
    types.push_back(c.type());
  }
  node.operation_id = 77;
  graph_detail::complete_node(node, types);
  return node;
}

struct OpResult {
  Codes out;
  FpStatus status;
};

/// Makes the node's kernel and runs it once, in step 5.
inline OpResult run_node(const Node& node, const std::vector<Codes>& inputs, emu::EngineSettings settings,
                         emu::KernelFactory make, bool with_status = true,
                         std::vector<std::string>* warnings = nullptr) {
  std::vector<TensorType> types;
  std::vector<BareBytes> operands;
  std::vector<const void*> in;
  for (const Codes& c : inputs) types.push_back(c.type()), operands.emplace_back(c.data(), c.type().bytes());
  for (BareBytes& operand : operands) in.push_back(operand.data());
  std::vector<std::string> talk;
  settings.environment.step = 5;
  settings.environment.operation = node.operation_id;
  const std::unique_ptr<emu::OpKernel> kernel =
      make(emu::OpContext{node, types, settings, warnings ? *warnings : talk});
  OpResult result{Codes(node.outputs[0]), {}};
  void* out[] = {result.out.data()};
  Codes scratch({DType::kBool, Shape{static_cast<int64_t>(kernel->scratch_bytes())}});
  kernel->run({in.data(), out, scratch.data(), settings.environment, with_status ? &result.status : nullptr});
  EXPECT_TRUE(result.out.rim_whole());
  EXPECT_TRUE(scratch.rim_whole()) << node.op << ": wrote past its scratch";
  return result;
}

inline emu::KernelFactory factory(std::span<const emu::KernelEntry> family, std::string_view op) {
  for (const emu::KernelEntry& e : family)
    if (e.op == op) return e.make;
  return nullptr;
}

/// Bit for bit: values, flags, lowest offending index.
inline void expect_same(const OpResult& is, const OpResult& expected, const std::string& what) {
  size_t different = 0;
  for (size_t i = 0; i < expected.out.size() && different < 3; ++i)
    if (is.out.at(i) != expected.out.at(i)) {
      ++different;
      ADD_FAILURE() << what << "\n  output " << i << " is " << std::hex << is.out.at(i) << ", not "
                    << expected.out.at(i);
    }
  EXPECT_EQ(is.status.flags, expected.status.flags) << what;
  for (int b = 0; b < kFlagCount; ++b)
    EXPECT_EQ(is.status.first_index[b], expected.status.first_index[b]) << what << " flag " << (1 << b);
}

/// Every instruction set, with threads 1, 2, 3, 8 by turns, with status and without, against the bodies.
template <class Run>
void expect_reference(const Run& run, const Node& node, const std::vector<Codes>& operands,
                      emu::EngineSettings settings, int number, const std::string& what) {
  static const std::vector<InstructionSet> sets = usable_sets();
  const int threads[] = {1, 2, 3, 8};
  settings.reference = true;
  const OpResult expected = run(node, operands, settings, true);
  settings.reference = false;
  int turn = number;
  for (const InstructionSet isa : sets) {
    settings.isa = isa;
    settings.threads = threads[turn++ % 4];
    const std::string way = what + " " + bulk::name(isa) + " threads " + std::to_string(settings.threads);
    expect_same(run(node, operands, settings, true), expected, way);
    OpResult silent = run(node, operands, settings, false);
    silent.status = expected.status;
    expect_same(silent, expected, way + " without status");
  }
}

/// What tensors hold: ordinary numbers; large ones, that overflow; some NaNs, infinities, subnormals; any code.
enum class TensorData { kOrdinary, kLarge, kSpecial, kAnything };

inline void fill(Codes& c, Mixer& mix, TensorData data) {
  const FloatFormat f = format_of(c.type().dtype);
  for (size_t i = 0; i < c.size(); ++i) {
    const double ordinary = (static_cast<double>(mix() % 65536) - 32768) / 16384;
    c.set_value(i, mix() % 12 == 0 ? 0.0 : ordinary);
    if (data == TensorData::kLarge && mix() % 8 == 0) c.set_value(i, ordinary * (f == kFp16 ? 512.0 : 0x1p64));
    const uint32_t sign = mix() & 1 ? static_cast<uint32_t>(f.sign_mask()) : 0;
    if (data == TensorData::kSpecial && mix() % 40 == 0) {
      const uint64_t codes[] = {f.infinity_code(),
                                f.infinity_code() | 1,
                                f.infinity_code() | f.quiet_bit() | 2,
                                f.max_finite_code(),
                                1,
                                mix() % f.min_normal_code(),
                                0};
      c.set(i, sign | static_cast<uint32_t>(codes[mix() % 7]));
    }
    if (data == TensorData::kAnything) c.set(i, static_cast<uint32_t>(mix() & f.code_mask()));
  }
}

/// Presets: to nearest, nanoo, stochastic by 13 and 16 bits, stochastic with nanoo, IEEE, other chips.
constexpr int kSemantics = 8;
inline Semantics semantics_of(int which) {
  if (which == 6) return chip_semantics(Chip::kIntelXe, kFp16);
  if (which == 7) return chip_semantics(Chip::kTenstorrentWh, kBf16);
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  IpuSwitches w;
  b.nanoo = which == 1 || which == 4;
  b.esr = which >= 2 && which <= 4;
  if (which == 3) w.sr_bits = 16;
  return which == 5 ? Semantics::ieee() : Semantics::ipu(b, w);
}

/// Fills the operands with one kind of data, and draws the semantics.
inline emu::EngineSettings random_trial(std::vector<Codes>& operands, Mixer& mix, TensorData data) {
  for (Codes& o : operands) fill(o, mix, data);
  emu::EngineSettings settings;
  settings.environment.semantics = semantics_of(static_cast<int>(mix() % kSemantics));
  settings.environment.random.seed = mix();
  return settings;
}

}  // namespace softamp::test
