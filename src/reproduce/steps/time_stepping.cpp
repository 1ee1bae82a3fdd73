#include "src/reproduce/steps/time_stepping.h"

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"

#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace softamp::reproduce::stepping {
namespace {

/// Leaves a job whose run was interrupted.
struct Stopped {};

template <class Operation>
void each(const FloatFormat& f, const Semantics& s, uint64_t seed, std::span<const uint32_t> a,
          std::span<const uint32_t> b, std::span<uint32_t> out, const Paths::Site& site, Operation operation) {
  if (a.size() != b.size() || a.size() != out.size()) throw std::invalid_argument("paths: lengths differ");
  const RandomBits random{seed};
  const int r = s.rounding(f).random_bits;
  const bool draws = s.draws(f);
  for (size_t i = 0; i < a.size(); ++i) {
    const uint32_t word = draws ? random.bits(site.step, site.operation, site.first_path + i, r) : 0;
    out[i] = static_cast<uint32_t>(operation(f, a[i], b[i], s, word).code);
  }
}

}  // namespace

void JobProgress::add(double work) {
  if (stop_.load(std::memory_order_relaxed)) throw Stopped();
  done_.fetch_add(work, std::memory_order_relaxed);
}

void run_jobs(size_t jobs, double total, Watch& watch, const std::function<void(size_t, JobProgress&)>& job) {
  JobProgress progress;
  std::mutex mutex;
  std::condition_variable ended;
  bool finished = false;
  std::exception_ptr failure;
  std::atomic<size_t> next{0};
  std::thread worker([&] {
    try {
      // A range deals its places out in halves; the counter makes the order that of the jobs.
      tbb::parallel_for(
          size_t{0}, jobs, [&](size_t) { job(next.fetch_add(1), progress); }, tbb::simple_partitioner());
    } catch (const Stopped&) {
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    finished = true;
    ended.notify_one();
  });
  try {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return finished; }))
      watch.at(std::min(progress.done_.load(), total), total);
  } catch (...) {
    progress.stop_ = true;
    worker.join();
    throw;
  }
  worker.join();
  if (failure) std::rethrow_exception(failure);
  watch.at(total, total);
}

void WidePaths::add(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> out,
                    const Paths::Site& site) const {
  each(format_, semantics_, seed_, a, b, out, site,
       [](const FloatFormat& f, uint64_t x, uint64_t y, const Semantics& s, uint32_t w) {
         return fp::add(f, x, y, s, w);
       });
}
void WidePaths::sub(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> out,
                    const Paths::Site& site) const {
  each(format_, semantics_, seed_, a, b, out, site,
       [](const FloatFormat& f, uint64_t x, uint64_t y, const Semantics& s, uint32_t w) {
         return fp::sub(f, x, y, s, w);
       });
}
void WidePaths::mul(std::span<const uint32_t> a, std::span<const uint32_t> b, std::span<uint32_t> out,
                    const Paths::Site& site) const {
  each(format_, semantics_, seed_, a, b, out, site,
       [](const FloatFormat& f, uint64_t x, uint64_t y, const Semantics& s, uint32_t w) {
         return fp::mul(f, x, y, s, w);
       });
}

std::vector<RoundingMode> roundings_of(const Request& request, const std::string& experiment) {
  const std::vector<RoundingMode>& asked = request.roundings;
  if (asked.empty()) return {RoundingMode::kNearestEven, RoundingMode::kStochastic};
  const bool draws = std::find(asked.begin(), asked.end(), RoundingMode::kStochastic) != asked.end();
  const auto refuse_without = [&](bool given, const char* option) {
    if (given && !draws)
      throw std::invalid_argument(experiment + ": " + option + " without stochastic among --rounding, where it does " +
                                  "nothing: expected --rounding stochastic as well, or no " + option);
  };
  refuse_without(request.bits.has_value(), "--bits");
  refuse_without(request.samples.has_value(), "--samples");
  return asked;
}

Json names_of(const std::vector<RoundingMode>& modes) {
  Json names = Json::array();
  for (const RoundingMode mode : modes) names.push_back(name_of(mode));
  return names;
}

void add_curves(Plot& plot, const FloatFormat& format, int place, const std::vector<RoundingMode>& modes,
                const std::function<void(RoundingMode, Curve&)>& fill) {
  for (const RoundingMode mode : modes) {
    Curve curve{format_name(format) + ", " + name_of(mode), CurveStyle::kBold, {}, {}, place % 8 + 1,
                mode == RoundingMode::kStochastic};
    fill(mode, curve);
    plot.curves.push_back(std::move(curve));
  }
}

uint32_t paths_of(const Request& request, const std::string& experiment, uint32_t usual, uint32_t most) {
  const uint64_t paths = request.samples.value_or(usual);
  if (paths < 1 || paths > most)
    throw std::invalid_argument(experiment + ": " + std::to_string(paths) + " stochastic paths: expected 1.." +
                                std::to_string(most));
  return static_cast<uint32_t>(paths);
}

std::string own_paths(const std::string& paths, int bits) {
  return "Stochastic paths and random bits are chosen here, instead of taken from the publication: " + paths + " and " +
         std::to_string(bits) +
         " bits for each rounding. Each path rounds its own step length h stochastically, like everything else.";
}

Exact quotient(uint64_t numerator, uint64_t denominator, int exponent) {
  assert(denominator > 0 && denominator < uint64_t{1} << 63);
  if (numerator == 0) return {false, 0, 0};
  // 63 or more bits of the quotient, and a jam for the rest.
  uint64_t bits = numerator / denominator, rest = numerator % denominator;
  while (bits < uint64_t{1} << 62) {
    rest <<= 1;
    bits = bits << 1 | static_cast<uint64_t>(rest >= denominator);
    if (rest >= denominator) rest -= denominator;
    --exponent;
  }
  return {false, exponent, bits | static_cast<uint64_t>(rest != 0)};
}

uint32_t site_of(const FloatFormat& format, uint32_t run, uint32_t kind) {
  assert(run < 1024 && kind < 8 && format.exponent_bits <= 8 && format.precision <= 24);
  const uint32_t shape =
      static_cast<uint32_t>(format.exponent_bits - 1) * 24 + static_cast<uint32_t>(format.precision - 1);
  const uint32_t kept = shape * 3 + static_cast<uint32_t>(format.specials);  // below 576
  return (kept << 10 | run) << 3 | kind;
}

}  // namespace softamp::reproduce::stepping
