// Matrix products: rates in multiply-adds a second, as ratios to OpenBLAS's sgemm of the same shape (where there is
// one) and to our own product with float partials. Every round runs all of them in turn, and medians of the rounds'
// ratios are reported, so that a machine that changes its speed meanwhile does so for all.
//
//   bench_product [extent, default 1024] [rounds, default 9] [threads 1 or 2, default both]
#include <functional>
#include <memory>

#include "bench/arguments.h"
#include "bench/measure.h"
#include "emu/products/product.h"
#if defined(SOFTAMP_HAS_OPENBLAS)
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

namespace {

using namespace softamp;
using emu::ProductPlan;
using kernel::PartialsType;
using kernel::ProductRules;

/// What a row of the table must reach: a share of sgemm, of our float partials, or nothing.
struct Target {
  double least = 0;
  enum { kNone, kSgemm, kFloat } of = kNone;
};

struct Subject {
  std::string name;
  ProductRules rules;
  Semantics semantics;
  size_t block;
  bulk::InstructionSet isa;
  Target one, two;  ///< with one thread, with two
};

Semantics stochastic(int bits) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.esr = true;
  IpuSwitches w;
  w.sr_bits = bits;
  return Semantics::ipu(b, w);
}

std::vector<Subject> subjects() {
  using bulk::InstructionSet;
  ProductRules floats, wide, halves, each;
  wide.a = wide.b = wide.output = kFp32;
  halves.partials = each.partials = PartialsType::kHalf;
  each.exact_each = true;
  const Semantics nearest = Semantics::ipu(), sr13 = stochastic(13), sr16 = stochastic(16);
  const InstructionSet best = InstructionSet::kAuto, no_halves = InstructionSet::kAvx512;
  const Target sgemm{0.85, Target::kSgemm}, half{0.65, Target::kFloat}, none{};
  return {{"float partials, fp16", floats, nearest, 16, best, sgemm, sgemm},
          {"float partials, fp32", wide, nearest, 16, best, sgemm, sgemm},
          {"float partials, fp16, result stochastic", floats, sr13, 16, best, none, none},
          {"half partials, block 16, nearest", halves, nearest, 16, best, half, half},
          {"half partials, block 4, nearest", halves, nearest, 4, best, none, none},
          {"half partials, block 16, stochastic 13",
           halves,
           sr13,
           16,
           best,
           {0.40, Target::kFloat},
           {0.36, Target::kFloat}},
          {"half partials, block 16, stochastic 16", halves, sr16, 16, best, none, none},
          {"half partials, block 4, stochastic 13", halves, sr13, 4, best, none, none},
          {"each, nearest, arithmetic on halves", each, nearest, 1, best, none, none},
          {"each, nearest, through fp32", each, nearest, 1, no_halves, none, none},
          {"each, stochastic 13", each, sr13, 1, best, none, none},
          {"each, stochastic 16", each, sr16, 1, best, none, none},
          {"float partials, fp16, AVX2", floats, nearest, 16, InstructionSet::kAvx2, none, none},
          {"half partials, block 16, nearest, AVX2", halves, nearest, 16, InstructionSet::kAvx2, none, none}};
}

/// A product of square matrices, ready to run.
class Job {
 public:
  Job(const Subject& subject, size_t extent, int threads)
      : subject_(subject),
        extent_(extent),
        threads_(threads),
        plan_(subject.rules, subject.semantics, subject.isa),
        schedule_(emu::Schedule::plain(extent, subject.block)),
        a_(extent * extent),
        b_(extent * extent),
        out_(extent * extent) {
    uint32_t state = 1;
    const auto number = [&] {  // sums of uniform numbers, about normal
      int sum = 0;
      for (int i = 0; i < 4; ++i) sum += static_cast<int>((state = state * 1664525u + 1013904223u) >> 20) - 2048;
      return static_cast<float>(sum) / 4096.0f;
    };
    for (size_t i = 0; i < a_.size(); ++i) {
      a_[i] = code(subject.rules.a, number());
      b_[i] = code(subject.rules.b, number() * 0.125f);
    }
    if (subject.rules.a.storage_bits() <= 16) pack(a_), pack(b_);
    environment_.semantics = subject.semantics;
    environment_.random.seed = 1;
  }
  void operator()() {
    const emu::MatMulOperands operands(plan_, a_.data(), false, b_.data(), false, extent_, extent_, extent_);
    emu::run_product(plan_, {extent_, extent_, &schedule_, &operands, out_.data()}, environment_, {threads_, &status_});
  }

 private:
  static uint32_t code(const FloatFormat& f, float x) { return static_cast<uint32_t>(fp::from_float(f, x)); }
  static void pack(std::vector<uint32_t>& codes) {  // to 16 bits each, in place
    auto* const to = reinterpret_cast<char*>(codes.data());
    for (size_t i = 0; i < codes.size(); ++i) std::memmove(to + 2 * i, &codes[i], 2);
  }

  const Subject& subject_;
  size_t extent_;
  int threads_;
  ProductPlan plan_;
  emu::Schedule schedule_;
  std::vector<uint32_t> a_, b_, out_;
  kernel::Environment environment_;
  FpStatus status_;
};

class Sgemm {
 public:
  explicit Sgemm(size_t extent) : n_(static_cast<int>(extent)), a_(extent * extent), b_(a_.size()), c_(a_.size()) {
    for (size_t i = 0; i < a_.size(); ++i)
      a_[i] = static_cast<float>(i % 17) - 8, b_[i] = static_cast<float>(i % 13) - 6;
  }
  void operator()() {
#if defined(SOFTAMP_HAS_OPENBLAS)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n_, n_, n_, 1, a_.data(), n_, b_.data(), n_, 0, c_.data(),
                n_);
#endif
  }

 private:
  int n_;
  std::vector<float> a_, b_, c_;
};

void table(size_t extent, int rounds, int threads) {
  const std::vector<Subject> all = subjects();
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<const Subject*> which;
  for (const Subject& s : all) try {
      jobs.push_back(std::make_unique<Job>(s, extent, threads));
      which.push_back(&s);
    } catch (const std::invalid_argument& e) {
      std::printf("skipped: %s: %s\n", s.name.c_str(), e.what());
    }
  Sgemm sgemm(extent);
#if defined(SOFTAMP_HAS_OPENBLAS)
  openblas_set_num_threads(threads);
  constexpr bool kHasSgemm = true;
#else
  constexpr bool kHasSgemm = false;
#endif
  sgemm();
  for (auto& job : jobs) (*job)();
  std::vector<double> sgemm_rate;
  std::vector<std::vector<double>> rate(jobs.size()), to_sgemm(jobs.size()), to_float(jobs.size());
  const double products = static_cast<double>(extent * extent) * static_cast<double>(extent);
  for (int r = 0; r < rounds; ++r) {
    // The baselines run beside each subject: what disturbs one disturbs the others.
    for (size_t i = 0; i < jobs.size(); ++i) {
      const double base = bench::seconds([&] { sgemm(); }, 1), ours = bench::seconds([&] { (*jobs[0])(); }, 1);
      const double s = i == 0 ? ours : bench::seconds([&] { (*jobs[i])(); }, 1);
      sgemm_rate.push_back(products / base * 1e-9);
      rate[i].push_back(products / s * 1e-9);
      to_sgemm[i].push_back(base / s);
      to_float[i].push_back(ours / s);
    }
  }
  std::printf("\n%zu x %zu x %zu, %d thread%s", extent, extent, extent, threads, threads == 1 ? "" : "s");
  if (kHasSgemm) std::printf("; sgemm %.1f G MAC/s", bench::median(sgemm_rate));
  std::printf("\n\n| what | G MAC/s | x sgemm | x float partials | target | met |\n|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Target& t = threads == 1 ? which[i]->one : which[i]->two;
    const double value = bench::median(t.of == Target::kSgemm ? to_sgemm[i] : to_float[i]);
    char target[48] = "";
    const bool known = t.of == Target::kFloat || (t.of == Target::kSgemm && kHasSgemm);
    if (known)
      std::snprintf(target, sizeof target, ">= %.2f x %s", t.least, t.of == Target::kSgemm ? "sgemm" : "float");
    char against[16] = "";
    if (kHasSgemm) std::snprintf(against, sizeof against, "%.3f", bench::median(to_sgemm[i]));
    std::printf("| %s | %.2f | %s | %.3f | %s | %s |\n", which[i]->name.c_str(), bench::median(rate[i]), against,
                bench::median(to_float[i]), target,
                !known             ? ""
                : value >= t.least ? "yes"
                                   : "no");
    bench::report(
        "product/" + which[i]->name + "/" + std::to_string(extent) + (threads == 1 ? "/1 thread" : "/2 threads"),
        products * 1e-9 / bench::median(rate[i]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBoth = 1 << 20;
  const std::vector<int> given = bench::arguments(argc, argv, {{"EXTENT", 1024}, {"ROUNDS", 9}, {"THREADS", kBoth}});
  for (const int threads : {1, 2})
    if (given[2] == kBoth || given[2] == threads) table(static_cast<size_t>(given[0]), given[1], threads);
  benchmark::RunSpecifiedBenchmarks();
}
