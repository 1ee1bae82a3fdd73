// Running sums of many stochastic replicas: additions a second, as a ratio to bulk addition in cache in the same run.
// A million sums of 10,000 halves at 13 bits, 10^10 additions, shall take less than 6 seconds on two cores.
#include "bench/measure.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/sums/running_sum.h"
#include "softamp/tensor/bulk.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr size_t kReplicas = 8192, kCount = 512, kAdditions = kReplicas * kCount;

Semantics stochastic(int bits) { return Semantics::ieee(RoundingPolicy::stochastic_carry(bits)); }

/// As many additions of halves, 4096 at a time, by one thread.
void bulk_additions(int bits) {
  constexpr size_t kChunk = 4096;
  static Array<uint16_t> a(kChunk, 0x3800), b(kChunk, 0x068e), out(kChunk);
  bulk::BulkOptions options;
  options.threads = 1;
  for (size_t n = 0; n < kAdditions; n += kChunk) {
    options.random.step = static_cast<uint32_t>(n / kChunk);
    bulk::add(a, b, out, stochastic(bits), options);
  }
}

void sums(const FloatFormat& format, uint64_t addend, int bits, int threads) {
  RunningSumSetup setup;
  setup.format = format;
  setup.semantics = stochastic(bits);
  setup.addend = addend;
  setup.count = kCount;
  setup.replicas = kReplicas;
  oneapi::tbb::task_arena arena(threads);
  arena.execute([&] { benchmark::DoNotOptimize(running_sum(setup).codes.data()); });
}

void add_sums(const char* name, const FloatFormat& format, uint64_t addend, int bits, int threads, double least) {
  std::string label = std::string("sums/") + name + " stochastic " + std::to_string(bits) + "/";
  label += std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  add(
      label, kAdditions, threads, [=] { sums(format, addend, bits, threads); }, [=] { bulk_additions(bits); },
      {least, true, ""});
}

/// Few replicas, as a ratio to the same additions by fp::add and addressed bits, one after another.
void add_few(const FloatFormat& format, const char* name, uint64_t addend, size_t replicas) {
  RunningSumSetup setup;
  setup.format = format;
  setup.semantics = stochastic(13);
  setup.addend = addend;
  setup.count = 100000;
  setup.replicas = replicas;
  add(
      std::string("sums/") + name + " stochastic 13/" + std::to_string(replicas) + (replicas == 1 ? " sum" : " sums"),
      static_cast<size_t>(setup.count) * replicas, 1,
      [=] { benchmark::DoNotOptimize(running_sum(setup).codes.data()); },
      [=] {
        const RandomBits random{setup.seed};
        for (uint64_t replica = 0; replica < setup.replicas; ++replica) {
          uint64_t sum = 0;
          for (uint32_t n = 0; n < setup.count; ++n)
            sum = fp::add(setup.format, sum, setup.addend, setup.semantics, random.bits(n, 0, replica, 13)).code;
          benchmark::DoNotOptimize(sum);
        }
      },
      {0, true, ""});
}

}  // namespace

int main(int argc, char** argv) {
  add_sums("fp16", kFp16, 0x068e, 13, 1, .8);
  add_sums("fp16", kFp16, 0x068e, 13, 2, 1.6);
  add_sums("fp16", kFp16, 0x068e, 16, 1, 0);
  add_sums("bf16", kBf16, 0x38d2, 13, 1, 0);
  add_sums("bf16", kBf16, 0x38d2, 16, 1, 0);
  for (const size_t replicas : {size_t{1}, size_t{16}, size_t{64}}) {
    add_few(kFp16, "fp16", 0x068e, replicas);
    add_few(kFp32, "fp32", 0x38d1b717, replicas);
  }
  return softamp::bench::run(argc, argv);
}
