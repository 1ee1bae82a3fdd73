// Matrix products: rates in multiply-adds a second, as ratios to OpenBLAS's sgemm of the same shape (where there is
// one) and to our own product with float partials and the same instructions. Every round runs all of them in turn, and
// medians of the rounds' ratios are reported, so that a machine that changes its speed meanwhile does so for all.
//
//   bench_product [extent, default 1024] [rounds, default 9] [threads 1 or 2, default both]
#include <functional>
#include <memory>

#include "bench/measure.h"
#include "bench/normal_values.h"
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

/// What a row of the table must reach: a share of sgemm, of our float partials with the same instructions, a rate a
/// core, or nothing.
struct Target {
  double least = 0;
  enum { kNone, kSgemm, kFloat, kRate } of = kNone;
};

struct Subject {
  std::string name;
  ProductRules rules;
  Semantics semantics;
  size_t block;
  bulk::InstructionSet isa;
  Target target;
  size_t k = 0;          ///< products a sum (0: the extent)
  bool is_base = false;  ///< those that follow are compared with it
};

Semantics stochastic(int bits) {
  FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
  b.esr = true;
  IpuSwitches w;
  w.sr_bits = bits;
  return Semantics::ipu(b, w);
}

/// What `isa` is measured with.
void add_subjects(std::vector<Subject>& all, bulk::InstructionSet isa) {
  const bool narrow = isa == bulk::InstructionSet::kAvx2;
  const std::string after = narrow ? ", AVX2" : "";
  ProductRules floats, wide, halves, each;
  wide.a = wide.b = wide.output = kFp32;
  halves.partials = each.partials = PartialsType::kHalf;
  each.exact_each = true;
  const Semantics nearest = Semantics::ipu(), sr13 = stochastic(13), sr16 = stochastic(16);
  const auto add = [&](const std::string& name, const ProductRules& rules, const Semantics& semantics, size_t block,
                       Target target = {}, size_t k = 0) {
    all.push_back({name + after, rules, semantics, block, isa, target, k, false});
  };
  const Target sgemm{0.85, Target::kSgemm};
  const auto of_float = [&](double avx2, double avx512) { return Target{narrow ? avx2 : avx512, Target::kFloat}; };
  const auto rate = [&](double avx2, double avx512) { return Target{narrow ? avx2 : avx512, Target::kRate}; };
  add("float partials, fp16", floats, nearest, 16, narrow ? Target{} : sgemm);
  all.back().is_base = true;
  if (!narrow) add("float partials, fp32", wide, nearest, 16, sgemm);
  add("float partials, fp16, result stochastic", floats, sr13, 16, of_float(0.9, 0.9));
  add("half partials, block 16, nearest", halves, nearest, 16, of_float(0.85, 0.93));
  add("half partials, block 4, nearest", halves, nearest, 4);
  add("half partials, block 16, stochastic 13", halves, sr13, 16, of_float(0.45, 0.65));
  add("half partials, block 16, stochastic 16", halves, sr16, 16);
  add("half partials, block 4, stochastic 13", halves, sr13, 4, of_float(0.2, 0.35));
  if (narrow) {
    add("each, nearest", each, nearest, 1, rate(5, 0));
  } else {
    add("each, nearest, arithmetic on halves", each, nearest, 1);
    add("each, nearest, through fp32", each, nearest, 1, rate(0, 14));
    all.back().isa = bulk::InstructionSet::kAvx512;
  }
  add("each, stochastic 13", each, sr13, 1, rate(2, 6));
  add("each, stochastic 16", each, sr16, 1, rate(1.5, 4.5));
  add("float partials, K = 64, fp16", floats, nearest, 16, {}, 64);
  all.back().is_base = true;
  add("float partials, K = 64, fp16, result stochastic", floats, sr13, 16, of_float(0.5, 0.6), 64);
}

/// Those that this machine can run.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  add_subjects(all, bulk::InstructionSet::kAuto);
  add_subjects(all, bulk::InstructionSet::kAvx2);
  std::erase_if(all, [](const Subject& s) {
    try {
      ProductPlan(s.rules, s.semantics, s.isa);
      return false;
    } catch (const std::invalid_argument& e) {
      std::fprintf(stderr, "skipped: %s: %s\n", s.name.c_str(), e.what());
      return true;
    }
  });
  return all;
}

/// A product of matrices of extent x k and k x extent, ready to run.
class Job {
 public:
  Job(const Subject& subject, size_t extent, int threads)
      : subject_(subject),
        extent_(extent),
        k_(subject.k ? subject.k : extent),
        threads_(threads),
        plan_(subject.rules, subject.semantics, subject.isa),
        schedule_(emu::Schedule::plain(k_, subject.block)),
        a_(extent * k_),
        b_(k_ * extent),
        out_(extent * extent) {
    std::vector<float> normal(2 * a_.size());
    bench::fill_normal<float>(normal);
    for (size_t i = 0; i < a_.size(); ++i) {
      a_[i] = code(subject.rules.a, normal[2 * i]);
      b_[i] = code(subject.rules.b, normal[2 * i + 1] * 0.125f);
    }
    if (subject.rules.a.storage_bits() <= 16) pack(a_), pack(b_);
    environment_.semantics = subject.semantics;
    environment_.random.seed = 1;
  }
  void operator()() {
    const emu::MatMulOperands operands(plan_, a_.data(), false, b_.data(), false, extent_, extent_, k_);
    emu::run_product(plan_, {extent_, extent_, &schedule_, &operands, out_.data()}, environment_, {threads_, &status_});
  }
  double products() const { return static_cast<double>(extent_ * extent_) * static_cast<double>(k_); }

 private:
  static uint32_t code(const FloatFormat& f, float x) { return static_cast<uint32_t>(fp::from_float(f, x)); }
  static void pack(std::vector<uint32_t>& codes) {  // to 16 bits each, in place
    auto* const to = reinterpret_cast<char*>(codes.data());
    for (size_t i = 0; i < codes.size(); ++i) std::memmove(to + 2 * i, &codes[i], 2);
  }

  const Subject& subject_;
  size_t extent_, k_;
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

/// Seconds of each subject.
std::vector<double> table(size_t extent, int rounds, int threads) {
  const std::vector<Subject> all = subjects();
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<const Subject*> which;
  std::vector<size_t> base;  ///< what each is compared with
  for (const Subject& s : all) {
    jobs.push_back(std::make_unique<Job>(s, extent, threads));
    which.push_back(&s);
    base.push_back(s.is_base ? jobs.size() - 1 : base.back());
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
  const double square = static_cast<double>(extent * extent) * static_cast<double>(extent);
  for (int r = 0; r < rounds; ++r) {
    // The baselines run beside each subject: what disturbs one disturbs the others.
    for (size_t i = 0; i < jobs.size(); ++i) {
      Job& other = *jobs[base[i]];
      // Short ones several times: else the caches would hold what the one or the other works on.
      const size_t calls = static_cast<size_t>(square / jobs[i]->products());
      const double reference = bench::seconds([&] { sgemm(); }, 1);
      const double ours = bench::seconds([&] { other(); }, calls) / static_cast<double>(calls);
      const double s = i == base[i] ? ours : bench::seconds([&] { (*jobs[i])(); }, calls) / static_cast<double>(calls);
      sgemm_rate.push_back(square / reference * 1e-9);
      rate[i].push_back(jobs[i]->products() / s * 1e-9);
      to_sgemm[i].push_back(jobs[i]->products() / s / (square / reference));
      to_float[i].push_back(ours / s);
    }
  }
  bench::print_later("\n%zu x %zu x %zu, %d thread%s", extent, extent, extent, threads, threads == 1 ? "" : "s");
  if (kHasSgemm) bench::print_later("; sgemm %.1f G MAC/s", bench::median(sgemm_rate));
  bench::print_later("\n\n| what | G MAC/s | x sgemm | x float partials | target | met |\n|---|---|---|---|---|---|\n");
  std::vector<double> taken;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Target& t = which[i]->target;
    const double mine = bench::median(rate[i]);
    const double value = t.of == Target::kSgemm  ? bench::median(to_sgemm[i])
                         : t.of == Target::kRate ? mine / threads
                                                 : bench::median(to_float[i]);
    char target[48] = "";
    const bool known = t.of == Target::kFloat || t.of == Target::kRate || (t.of == Target::kSgemm && kHasSgemm);
    const char* const unit = t.of == Target::kSgemm ? "x sgemm" : t.of == Target::kRate ? "a core" : "x float";
    if (known) std::snprintf(target, sizeof target, ">= %.4g %s", t.least, unit);
    char against[16] = "";
    if (kHasSgemm) std::snprintf(against, sizeof against, "%.3f", bench::median(to_sgemm[i]));
    bench::print_later("| %s | %.2f | %s | %.3f | %s | %s |\n", which[i]->name.c_str(), mine, against,
                       bench::median(to_float[i]), target,
                       !known             ? ""
                       : value >= t.least ? "yes"
                                          : "no");
    taken.push_back(jobs[i]->products() * 1e-9 / mine);
  }
  return taken;
}

void add_products(size_t extent, int rounds, int threads) {
  std::vector<std::string> names;
  for (const Subject& s : subjects())
    names.push_back("product/" + s.name + "/" + std::to_string(extent) + (threads == 1 ? "/1 thread" : "/2 threads"));
  bench::add_table(names, [=] { return table(extent, rounds, threads); });
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBoth = 1 << 20;
  const std::vector<int> given = bench::arguments(argc, argv, {{"EXTENT", 1024}, {"ROUNDS", 9}, {"THREADS", kBoth}});
  for (const int threads : {1, 2})
    if (given[2] == kBoth || given[2] == threads) add_products(static_cast<size_t>(given[0]), given[1], threads);
  return bench::finish();
}
