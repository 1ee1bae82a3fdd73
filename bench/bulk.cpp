// Bulk rounding and arithmetic against memcpy, against each other, and between instruction sets.
// Wanted figures, those of the prototypes, commands and results: RESULTS.md.
#include <cmath>
#include <random>

#include "bench/measure.h"
#include "bench/normal_values.h"
#include "bench/sets.h"
#include "softamp/tensor/bulk.h"

namespace {

using namespace softamp;
using namespace softamp::bench;
using bulk::InstructionSet;

struct Data {
  explicit Data(size_t n) : values(n), quarter_subnormal(n), rounded(n), out(n), a(n), b(n), c(n) {
    fill_normal<float>(values);
    std::mt19937_64 generator(2);
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

std::string suffix(InstructionSet set) {
  return set == InstructionSet::kAuto ? std::string() : std::string(" ") + bulk::name(set);
}
std::string name_of(const Job& j) {
  std::string name = j.n == kInCache ? "16Ki/" : "64Mi/";
  name += std::to_string(j.threads) + (j.threads == 1 ? " thread/" : " threads/") + kNames[static_cast<int>(j.kind)];
  name += j.bits ? " stochastic " + std::to_string(j.bits) : " nearest";
  if (j.engine == RandomEngine::kPhilox7) name += " philox7";
  if (j.values) name += " to values";
  if (j.subnormal) name += " quarter subnormal";
  if (j.status) name += " with flags";
  return name + suffix(j.isa);
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
/// To nearest even.
const Preset kNearest[] = {
    {"bf16", kBf16, 0}, {"e4m3", kE4m3, 0}, {"e5m2", kE5m2, 0}, {"e6p9", FloatFormat::ieee(6, 9), 0}};

void preset_against_memcpy(const Preset& preset, size_t n, int threads, InstructionSet set, double least) {
  RoundingPolicy p = preset.bits ? RoundingPolicy::stochastic_carry(preset.bits) : RoundingPolicy{};
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
  o.isa = set;
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
          "/round " + preset.name + (preset.bits ? " " + std::to_string(preset.bits) : " nearest") + suffix(set),
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

/// Wanted of the two kinds of vectors: x memcpy, or relative to another row.
struct Wanted {
  double avx512 = 0, avx2 = 0;
};

void register_set(InstructionSet set, bool avx2) {
  constexpr Kind kArithmetic[] = {Kind::kAdd, Kind::kMul, Kind::kDiv, Kind::kFma};
  const auto least = [avx2](const Wanted& w) { return avx2 ? w.avx2 : w.avx512; };
  Job small;
  small.isa = set;
  Job large = small;
  large.n = kPastCache;
  large.threads = 2;
  const auto flags = [](Job j) {
    j.status = true;
    return j;
  };
  const auto values = [](Job j) {
    j.values = true;
    return j;
  };

  // Conversion to fp16.
  const Job nearest = with(small, Kind::kRound, 0), conversion13 = with(small, Kind::kRound, 13);
  against_memcpy(nearest, least({1.6, 0.75}), "1.75");
  against_memcpy(values(nearest), least({0.7, 0.45}));
  if (avx2)
    against_memcpy(flags(nearest), 0.5);
  else
    against(flags(nearest), nearest, 0.9);
  against_memcpy(conversion13, least({0.45, 0.25}), "0.41");
  against_memcpy(values(conversion13), least({0.35, 0.2}));
  against(flags(conversion13), conversion13, 0.87);
  Job subnormal = conversion13;
  subnormal.subnormal = true;
  against(subnormal, conversion13, 0.75);
  against(with(small, Kind::kRound, 16), conversion13, 0.95);

  // Past the cache.
  against_memcpy(with(large, Kind::kRound, 0), least({1.3, 1.0}), "1.33");
  against_memcpy(with(large, Kind::kRound, 13), 1.0, "0.92");
  for (const int bits : {0, 13}) against(flags(with(large, Kind::kRound, bits)), with(large, Kind::kRound, bits), 0.95);

  // Every format.
  for (const Preset& format : kNearest) {
    const Wanted wanted = format.to == kBf16              ? Wanted{1.0, 0.7}
                          : format.to.storage_bits() <= 8 ? Wanted{0.6, 0.3}
                                                          : Wanted{0.4, 0.2};
    preset_against_memcpy(format, kInCache, 1, set, least(wanted));
  }
  for (const Preset& preset : kPresets) {
    preset_against_memcpy(preset, kInCache, 1, set, least(preset.bits <= 16 ? Wanted{0.33, 0.2} : Wanted{0.20, 0.12}));
    preset_against_memcpy(preset, kPastCache, 2, set, 0);
  }

  // Arithmetic.
  const Wanted of_conversion[] = {{0.8, 0.75}, {0.8, 0.8}, {0.65, 0.6}, {0.5, 0.5}};
  for (size_t k = 0; k < 4; ++k) {
    const Kind kind = kArithmetic[k];
    against_memcpy(with(small, kind, 0));
    against(with(small, kind, 13), conversion13, least(of_conversion[k]));
    against(with(small, kind, 16), with(small, Kind::kRound, 16), avx2 ? 0 : of_conversion[k].avx512);
  }
  for (const int bits : {0, 13}) against(flags(with(small, Kind::kAdd, bits)), with(small, Kind::kAdd, bits), 0.87);
}

void register_all() {
  constexpr Kind kAll[] = {Kind::kRound, Kind::kAdd, Kind::kMul, Kind::kDiv, Kind::kFma};
  const InstructionSet best = bulk::best_instruction_set();
  for (const InstructionSet set : bench::shown_sets())
    register_set(set, (set == InstructionSet::kAuto ? best : set) == InstructionSet::kAvx2);

  const Job small;
  Job large = small;
  large.n = kPastCache;
  large.threads = 2;
  Job philox7 = with(small, Kind::kRound, 13);
  philox7.engine = RandomEngine::kPhilox7;
  against_memcpy(philox7);
  for (const int bits : {0, 13}) {
    Job large1 = with(large, Kind::kRound, bits);
    large1.threads = 1;
    against_memcpy(large1);
  }
  for (const Kind kind : kAll) {
    if (kind == Kind::kRound) continue;
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
  }
  for (const int bits : {0, 13}) {
    Job flags = with(large, Kind::kAdd, bits);
    flags.status = true;
    against(flags, with(large, Kind::kAdd, bits), 0.95);
  }

  for (const InstructionSet set : bulk::instruction_sets()) {
    if (set == best || set == InstructionSet::kAvx2) continue;
    for (const Kind kind : kAll)
      for (const int bits : {0, 13}) {
        Job other = with(small, kind, bits);
        other.isa = set;
        against(other, with(small, kind, bits), set == InstructionSet::kPortable ? 0.08 : 0);
      }
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  return softamp::bench::run(argc, argv);
}
