#include "softamp/engine/settings.h"

#include <stdexcept>
#include <string>

namespace softamp::engine {
namespace {

[[noreturn]] void refuse(const char* option, int64_t value, const char* expected) {
  throw std::invalid_argument(std::string(option) + " is " + std::to_string(value) + "; expected " + expected);
}

/// Refuses options that only the IPU's accumulator supports.
void check_accumulator(const ExecutorOptions& o, const EngineSettings& s) {
  if (o.tensor_core_operands != TensorCoreOperands::kOwn && !is_tensor_core(o.accumulator))
    throw std::invalid_argument(std::string("tensor_core_operands ") + name_of(o.tensor_core_operands) +
                                " and accumulator " + name_of(o.accumulator) +
                                " exclude each other; expected a tensor core, tensorcore_ada or later for 8 bits, or "
                                "tensor_core_operands own");
  if (o.accumulator == Accumulator::kIpuModelA) return;
  const auto conflict = [&](const std::string& other, const std::string& expected) {
    throw std::invalid_argument(std::string("accumulator ") + name_of(o.accumulator) + " and " + other +
                                " exclude each other; expected " + expected + ", or accumulator ipu_model_a");
  };
  if (o.amp_inner != AmpInner::kFmaChain)
    conflict(std::string("amp_inner ") + name_of(o.amp_inner), "amp_inner fma_chain");
  if (is_tensor_core(o.accumulator) && o.f32_flush_inner) conflict("f32_flush_inner", "f32_flush_inner off");
  for (const auto& [category, products] : {std::pair{"matmuls", &s.matmuls}, {"convolutions", &s.convolutions}}) {
    const std::string place = std::string(category) + ".poplar_options: ";
    if (products->half_partials && is_tensor_core(o.accumulator)) continue;  // its fp16 accumulator
    if (products->half_partials) conflict(place + "partialsType half", "partialsType float");
    if (products->half_between_blocks) conflict(place + "partialsType.interTile half", "partialsType.interTile float");
  }
}

ProductOptions products_of(const ExecutorOptions& o, const PoplarOptions& options, const char* category) {
  ProductOptions products = product_options(options, category);
  products.block = o.amp_block;
  products.inner = o.amp_inner;
  products.accumulator = o.accumulator;
  products.operands = o.tensor_core_operands;
  products.flush_inner = o.f32_flush_inner;
  return products;
}

}  // namespace

EngineSettings settings_of(const ExecutorOptions& o) {
  o.config.validate();
  if (o.amp_block != 0 && o.amp_block != 1 && o.amp_block != 4 && o.amp_block != 16)
    refuse("amp_block", o.amp_block, "1, 4, 16, or 0 for all of k");
  if (o.threads < 0 || o.threads > 1024) refuse("threads", o.threads, "0..1024");
  if (o.replica >= RandomBits::kReplicas) refuse("replica", o.replica, "0..255");
  const DeviceModel& d = o.device;
  if (d.tiles < 1 || d.tiles > 1 << 20) refuse("device.tiles", d.tiles, "1..1048576");
  constexpr int64_t kMost = Shape::kMaxElements;
  if (d.grain < 4 || d.grain % 4 != 0 || d.grain > kMost) refuse("device.grain", d.grain, "a multiple of 4 up to 2^40");
  if (d.minimum < 1 || d.minimum > kMost) refuse("device.minimum", d.minimum, "1..2^40");
  if (d.memory_per_tile < 0 || d.memory_per_tile > kMost)
    refuse("device.memory_per_tile", d.memory_per_tile, "bytes up to 2^40, or 0 for unlimited");
  if (o.switches.sr_bits < 0 || o.switches.sr_bits > 32) refuse("sr_bits", o.switches.sr_bits, "1..32, or 0");
  if (o.semantics)
    for (const RoundingPolicy* p : {&o.semantics->wide, &o.semantics->narrow})
      if (p->stochastic() && (p->random_bits < 1 || p->random_bits > 32))
        refuse("semantics: random_bits", p->random_bits, "1..32");

  EngineSettings settings;
  settings.environment.semantics = semantics_of(o);
  settings.environment.random = {o.seed, o.random == RandomEngine::kPhilox7 ? 7 : 10, o.replica};
  settings.threads = o.threads;
  settings.isa = o.isa;
  // Bits in the device's order are drawn beforehand and read element by element.
  settings.reference = o.reference || o.random == RandomEngine::kXoroshiro128aox;
  settings.matmuls = products_of(o, o.config.matmuls.poplar_options, "matmuls");
  settings.convolutions = products_of(o, o.config.convolutions.poplar_options, "convolutions");
  check_accumulator(o, settings);
  settings.use_stable_statistics = o.config.norms.use_stable_statistics;
  return settings;
}

}  // namespace softamp::engine
