// Bulk rounding and arithmetic against memcpy, against each other, and between instruction sets.
// Wanted figures, those of the prototypes, commands and results: RESULTS.md.
#include <cmath>
#include <random>

#include "bench/measure.h"
#include "softamp/tensor/bulk.h"

namespace {

using namespace softamp;
using namespace softamp::bench;
using bulk::InstructionSet;

struct Data {
  explicit Data(size_t n) : values(n), quarter_subnormal(n), rounded(n), out(n), a(n), b(n), c(n) {
    std::mt19937_64 generator(1);
    std::normal_distribution<float> normal;
    const size_t period = size_t{1} << 20;
    for (size_t i = 0; i < n; ++i) values[i] = i < period ? normal(generator) : values[i - period];
    for (size_t i = 0; i < n; ++i) quarter_subnormal[i] = generator() % 4 == 0 ? values[i] * 0x1p-17f : values[i];
    bulk::round(values, kFp16, std::span<uint16_t>(a), Semantics::ieee());
    for (size_t i = 0; i < n; ++i) b[i] = a[(i * 7 + 3) % n], c[i] = a[(i * 5 + 1) % n];
  }
  Array<float> values, quarter_subnormal, rounded;
  Array<uint16_t> out, a, b, c;
};

Data& data(size_t n) {
  static Data small(kInCache);
  if (n == kInCache) return small;
  static Data large(kPastCache);
  return large;
}

enum class Kind { kRound, kAdd, kMul, kDiv, kFma };
constexpr const char* kNames[] = {"round", "add", "mul", "div", "fma"};

struct Job {
  Kind kind = Kind::kRound;
  int bits = 0;  // of stochastic rounding; 0: nearest even
  size_t n = kInCache;
  int threads = 1;
  InstructionSet isa = InstructionSet::kAuto;
  bool status = false, subnormal = false, values = false;
  RandomEngine engine = RandomEngine::kPhilox;
};

std::string name_of(const Job& j) {
  std::string name = j.n == kInCache ? "16Ki/" : "64Mi/";
  name += std::to_string(j.threads) + (j.threads == 1 ? " thread/" : " threads/") + kNames[static_cast<int>(j.kind)];
  name += j.bits ? " stochastic " + std::to_string(j.bits) : " nearest";
  if (j.engine == RandomEngine::kPhilox7) name += " philox7";
  if (j.values) name += " to values";
  if (j.subnormal) name += " quarter subnormal";
  if (j.status) name += " with flags";
  if (j.isa != InstructionSet::kAuto) name += std::string(" ") + bulk::name(j.isa);
  return name;
}

std::function<void()> call(const Job& j) {
  const Semantics s = j.bits ? Semantics::ieee(RoundingPolicy::stochastic_carry(j.bits)) : Semantics::ieee();
  bulk::BulkOptions options;
  options.threads = j.threads;
  options.isa = j.isa;
  options.random.engine = j.engine;
  return [=] {
    Data& d = data(j.n);
    FpStatus status;
    bulk::BulkOptions o = options;
    if (j.status) o.status = &status;
    switch (j.kind) {
      case Kind::kRound:
        if (j.values) {
          static Array<float> out(kInCache);
          bulk::round_values(d.values, kFp16, out, s, o);
        } else {
          bulk::round(j.subnormal ? d.quarter_subnormal : d.values, kFp16, std::span<uint16_t>(d.out), s, o);
        }
        break;
      case Kind::kAdd: bulk::add(d.a, d.b, d.out, s, o); break;
      case Kind::kMul: bulk::mul(d.a, d.b, d.out, s, o); break;
      case Kind::kDiv: bulk::div(d.a, d.b, d.out, s, o); break;
      case Kind::kFma: bulk::fma(d.a, d.b, d.c, d.out, s, o); break;
    }
    benchmark::ClobberMemory();
  };
}

/// Roundings of other chips, each with its format (docs/CHIPS.md).
struct Preset {
  const char* name;
  FloatFormat to;
  int bits;
  StochasticVariant variant = StochasticVariant::kCarry;
  RandomAlignment alignment = RandomAlignment::kTopOfDiscarded;
};
const Preset kPresets[] = {
    {"nvidia bf16", kBf16, 16},
    {"nvidia e4m3", kE4m3, 8},
    {"nvidia e5m2", kE5m2, 8},
    {"amd e4m3", kE4m3, 20},
    {"amd e5m2", kE5m2, 21},
    {"intel fp16", kFp16, 13, StochasticVariant::kCarry, RandomAlignment::kAsIfNormal},
    {"intel e5m2", kE5m2, 8, StochasticVariant::kCarry, RandomAlignment::kAsIfNormal},
    {"tenstorrent bf16", kBf16, 23, StochasticVariant::kAtLeast},
    {"tenstorrent tf32", kTf32, 23, StochasticVariant::kAtLeast},
    {"p3109_fast fp16", kFp16, 13, StochasticVariant::kHalf},
    {"p3109_rne fp16", kFp16, 13, StochasticVariant::kRne},
    {"p3109_odd e4m3", kE4m3, 13, StochasticVariant::kOdd},
};
void preset_against_memcpy(const Preset& preset, size_t n, int threads, double least) {
  RoundingPolicy p = RoundingPolicy::stochastic_carry(preset.bits);
  p.variant = preset.variant;
  p.alignment = preset.alignment;
  if (preset.variant == StochasticVariant::kAtLeast) {
    p.subnormals = Subnormals::kFlushToPositive;
    p.nan = NanPattern::kInfinity;
    p.signed_zeros = false;
  }
  const Semantics s = Semantics::ieee(p);
  bulk::BulkOptions o;
  o.threads = threads;
  const FloatFormat to = preset.to;
  const auto round = [=] {
    Data& d = data(n);
    if (to.storage_bits() <= 8) {
      bulk::round(d.values, to, std::span(reinterpret_cast<uint8_t*>(d.out.data()), n), s, o);
    } else if (to.storage_bits() <= 16) {
      bulk::round(d.values, to, std::span<uint16_t>(d.out), s, o);
    } else {
      bulk::round_values(d.values, to, d.rounded, s, o);
    }
    benchmark::ClobberMemory();
  };
  add((n == kInCache ? "16Ki/" : "64Mi/") + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
          "/round " + preset.name + " " + std::to_string(preset.bits),
      n, threads, round, {}, {least, false, ""});
}

void against_memcpy(const Job& j, double least = 0, const char* prototype = "") {
  add(name_of(j), j.n, j.threads, call(j), {}, {least, false, prototype});
}
/// Rate relative to another job's.
void against(const Job& j, const Job& baseline, double least, const char* prototype = "") {
  add(name_of(j) + " / " + name_of(baseline), j.n, j.threads, call(j), call(baseline), {least, true, prototype});
}

Job with(Job j, Kind kind, int bits) {
  j.kind = kind;
  j.bits = bits;
  return j;
}

void register_all() {
  constexpr Kind kArithmetic[] = {Kind::kAdd, Kind::kMul, Kind::kDiv, Kind::kFma};
  const Job small;
  Job large;
  large.n = kPastCache;
  large.threads = 2;
  Job large1 = large;
  large1.threads = 1;

  against_memcpy(with(large, Kind::kRound, 0), 1.15, "1.33");
  against_memcpy(with(large, Kind::kRound, 13), 0.80, "0.92");
  against_memcpy(with(large1, Kind::kRound, 0));
  against_memcpy(with(large1, Kind::kRound, 13));
  against_memcpy(with(small, Kind::kRound, 0), 1.5, "1.75");
  against_memcpy(with(small, Kind::kRound, 13), 0.33, "0.41");
  Job subnormal = with(small, Kind::kRound, 13);
  subnormal.subnormal = true;
  against(subnormal, with(small, Kind::kRound, 13), 0.75);
  Job philox7 = with(small, Kind::kRound, 13);
  philox7.engine = RandomEngine::kPhilox7;
  against_memcpy(philox7);
  for (const int bits : {0, 13}) {
    Job values = with(small, Kind::kRound, bits);
    values.values = true;
    against_memcpy(values);
  }

  for (const Kind kind : kArithmetic) {
    const bool add_or_mul = kind == Kind::kAdd || kind == Kind::kMul;
    against_memcpy(with(large, kind, 0),
                   kind == Kind::kFma ? 0
                   : add_or_mul       ? 1.15
                                      : 0.75,
                   add_or_mul ? "1.43" : "0.82");
    against_memcpy(with(large, kind, 13), kind == Kind::kFma ? 0 : 0.60,
                   kind == Kind::kAdd   ? "0.75"
                   : kind == Kind::kMul ? "0.61"
                                        : "0.59");
    against_memcpy(with(small, kind, 0));
  }
  // 2.7, 2.6 and 2.5 where conversion reaches 4.3.
  const Job conversion13 = with(small, Kind::kRound, 13), conversion16 = with(small, Kind::kRound, 16);
  against(with(small, Kind::kAdd, 13), conversion13, 2.7 / 4.3, "0.72");
  against(with(small, Kind::kMul, 13), conversion13, 2.6 / 4.3, "0.67");
  against(with(small, Kind::kDiv, 13), conversion13, 2.5 / 4.3, "0.65");
  against(with(small, Kind::kFma, 13), conversion13, 0);
  against(conversion16, conversion13, 0.95);
  for (const Kind kind : kArithmetic)
    against(with(small, kind, 16), with(small, kind, 13), kind == Kind::kMul ? 0.95 : 0.5);

  // At most 15 % more time.
  for (const Job& size : {large, small})
    for (const Kind kind : {Kind::kRound, Kind::kAdd})
      for (const int bits : {0, 13}) {
        Job flags = with(size, kind, bits);
        flags.status = true;
        against(flags, with(size, kind, bits), 1 / 1.15);
      }

  for (const Preset& preset : kPresets) {
    preset_against_memcpy(preset, kInCache, 1, preset.bits <= 16 ? 0.12 : 0.09);
    preset_against_memcpy(preset, kPastCache, 2, 0);
  }

  const InstructionSet best = bulk::best_instruction_set();
  for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kPortable}) {
    if (set >= best) continue;
    const double least = set == InstructionSet::kAvx2 ? 0.35 : set == InstructionSet::kPortable ? 0.05 : 0;
    for (const Kind kind : {Kind::kRound, Kind::kAdd, Kind::kMul, Kind::kDiv, Kind::kFma})
      for (const int bits : {0, 13}) {
        Job other = with(small, kind, bits);
        other.isa = set;
        against(other, with(small, kind, bits), least);
      }
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  return softamp::bench::run(argc, argv);
}
