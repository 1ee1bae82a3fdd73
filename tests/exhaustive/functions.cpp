// Every fp32 operand of every elementary function: the worst error, its operand, and the share of results that are not
// the correctly rounded ones: the table of docs/NUMERICS.md. A result beyond its row's bound is a mismatch.
//
// The judge is the C library's binary64 function, whose error is far below one part in 2^kDoubt; where a rounding to
// fp32 hangs on less than that, and at the worst operand found, MPFR decides.
#include <cmath>

#include "emu/functions/functions.h"
#include "tests/exhaustive/proof.h"
#include "tests/oracle/math_oracle.h"

namespace {

using namespace oracle;
using softamp::emu::FunctionTable;

constexpr uint32_t kBlock = 1 << 12;

/// What one function's operands have shown, of one thread or of all.
struct Found {
  double worst = 0;
  float at = 0;
  uint64_t cases = 0, not_nearest = 0, by_mpfr = 0;

  void merge(const Found& other) {
    if (other.worst > worst) {
      worst = other.worst;
      at = other.at;
    }
    cases += other.cases;
    not_nearest += other.not_nearest;
    by_mpfr += other.by_mpfr;
  }
};

class Prover {
 public:
  Prover(const PromisedFunction& f, proof::Tally& tally, Found& all, std::mutex& mutex)
      : row_(&f.row),
        exact_(f.value),
        judge_(softamp::test::judged<double>(f.row.function).value),
        tally_(&tally),
        all_(&all),
        mutex_(&mutex) {}
  Prover(Prover&&) = default;
  ~Prover() {
    const std::lock_guard lock(*mutex_);
    all_->merge(found_);
  }

  void operator()(uint64_t block) {
    static const FunctionTable& table = softamp::emu::functions_of(softamp::bulk::InstructionSet::kAuto);
    for (uint32_t i = 0; i < kBlock; ++i) in_[i] = __builtin_bit_cast(float, static_cast<uint32_t>(block) * kBlock + i);
    table[row_->function](in_, out_, kBlock);
    uint64_t cases = 0;
    for (uint32_t i = 0; i < kBlock; ++i) {
      if (!(in_[i] > row_->least && in_[i] < row_->most)) continue;
      ++cases;
      check(in_[i], out_[i]);
    }
    found_.cases += cases;
    tally_->add_cases(cases);
  }

 private:
  void check(float x, float y) {
    const double exact = judge_(x);
    if (!(std::fabs(exact) >= row_->smallest)) return;
    const float nearest = static_cast<float>(exact);
    // Whether a value within the judge's doubt would round otherwise.
    const double margin = std::isinf(exact) ? 0 : exact * row_->doubt;
    if (static_cast<float>(exact - margin) != static_cast<float>(exact + margin)) {
      ++found_.by_mpfr;
      found_.not_nearest += exact_(x).rounded() != y;
    } else {
      found_.not_nearest += nearest != y;
    }
    if (nearest == y) return;                    // the error is half an ulp or hardly more
    if (std::isinf(nearest) || std::isinf(y)) {  // one of the two beyond the range: judged by the largest number's ulp
      if (std::fabs(std::fabs(exact) - 0x1.ffffffp+127) > 0x1p+105 || std::isnan(y)) mismatch(x, y, exact, INFINITY);
      return;
    }
    const double error = std::fabs(y - exact) / ulp32(exact);
    if (!(error <= row_->ulps)) mismatch(x, y, exact, error);
    if (error > found_.worst) {
      found_.worst = error;
      found_.at = x;
    }
  }
  void mismatch(float x, float y, double exact, double error) {
    char text[160];
    std::snprintf(text, sizeof text, "%s(%a = 0x%08x) got %a exact %.17g error %.4f ulp", row_->name(),
                  static_cast<double>(x), __builtin_bit_cast(uint32_t, x), static_cast<double>(y), exact, error);
    tally_->mismatch(text);
  }

  const FunctionRow* row_;
  MpfrNumber (*exact_)(MpfrNumber);
  double (*judge_)(double);
  proof::Tally* tally_;
  Found* all_;
  std::mutex* mutex_;
  Found found_;
  alignas(64) float in_[kBlock], out_[kBlock];
};

void prove(const PromisedFunction& f, const proof::Options& o, proof::Tally& tally) {
  const FunctionRow& row = f.row;
  Found all;
  std::mutex mutex;
  {
    const proof::Section section(row.name(), tally);
    proof::for_each_in_slice(o, (uint64_t{1} << 32) / kBlock, [&] { return Prover(f, tally, all, mutex); });
  }
  const double worst = error_of(softamp::kernel::function_of(row.function, all.at), f.value(all.at));
  std::printf("  %-10s worst %.4f ulp at %a (0x%08x); not correctly rounded %.5f %% (%llu), %llu by MPFR\n", row.name(),
              worst, static_cast<double>(all.at), __builtin_bit_cast(uint32_t, all.at),
              100.0 * static_cast<double>(all.not_nearest) / static_cast<double>(all.cases),
              static_cast<unsigned long long>(all.not_nearest), static_cast<unsigned long long>(all.by_mpfr));
  std::fflush(stdout);
}

}  // namespace

/// SOFTAMP_FUNCTION (a name of the table) [=all] restricts the proof to one function.
int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 128);
  const char* only = std::getenv("SOFTAMP_FUNCTION");
  proof::Tally tally;
  bool known = false;
  for (const PromisedFunction& f : promised_functions()) {
    if (only && std::strcmp(only, f.row.name()) != 0) continue;
    known = true;
    prove(f, o, tally);
  }
  if (!known) {
    std::fprintf(stderr, "SOFTAMP_FUNCTION is '%s'; expected one of", only);
    for (const PromisedFunction& f : promised_functions()) std::fprintf(stderr, " %s", f.row.name());
    std::fprintf(stderr, "\n");
    return 2;
  }
  return proof::verdict("functions", o, tally);
}
