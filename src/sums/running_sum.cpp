#include "softamp/sums/running_sum.h"

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/random.h"
#include "src/numbers/dyadic.h"
#include "src/sums/sum_chunk.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

namespace softamp {
namespace {

constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMaxReplicas = uint64_t{1} << 20;

[[noreturn]] void refuse(const std::string& what, const std::string& value, const std::string& expected) {
  throw std::invalid_argument("running sum: " + what + " " + value + ": expected " + expected);
}

void check(const RunningSumSetup& s) {
  if (!s.format.valid() || s.format == kBinary64)
    refuse("format", std::to_string(s.format.storage_bits()) + " bits wide",
           "2..8 exponent bits and a precision of 2..24");
  if (s.count < 1 || s.count > kMaxCount) refuse("count", std::to_string(s.count), "1.." + std::to_string(kMaxCount));
  if (s.replicas < 1 || s.replicas > kMaxReplicas)
    refuse("replicas", std::to_string(s.replicas), "1.." + std::to_string(kMaxReplicas));
  if (s.operation >= RandomBits::kOperations)
    refuse("operation", std::to_string(s.operation), "0.." + std::to_string(RandomBits::kOperations - 1));
  for (const uint64_t code : {s.addend, s.start})
    if (code > s.format.code_mask() || !s.format.is_finite(code))
      refuse("operand", code_text(s.format, code), "the code of a finite number");
}

/// The numbers of additions at which a trace records the sums: about trace_points, evenly spaced, the start and the end
/// included.
std::vector<uint64_t> trace_additions(const RunningSumSetup& s) {
  if (s.trace_points == 0) return {};
  const uint64_t intervals = std::max<uint64_t>(1, s.trace_points - 1);
  std::vector<uint64_t> at = {0};
  for (uint64_t interval = 1; at.back() < s.count; ++interval) {
    while (interval < intervals && interval * s.count / intervals <= at.back()) ++interval;
    at.push_back(std::min(s.count, interval * s.count / intervals));
  }
  return at;
}

/// Replicas per chunk: small enough for the first-level cache, and so that each thread gets several chunks.
uint64_t chunk_size(const RunningSumSetup& s) {
  constexpr uint64_t kLeast = 256, kMost = 4096, kPerThread = 2;
  if (s.engine == RandomEngine::kXoroshiro128aox) return s.replicas;  // its numbers come in sequence
  const uint64_t threads = static_cast<uint64_t>(tbb::this_task_arena::max_concurrency());
  if (threads == 1) return std::min(kMost, s.replicas);
  const uint64_t fair = (s.replicas / (threads * kPerThread) + 63) / 64 * 64;
  return std::clamp(fair, kLeast, kMost);
}

/// Reports the additions done to running_sum's caller: on the caller's thread, in ascending order.
class Reporter {
 public:
  Reporter(const std::function<void(uint64_t)>& progress, uint64_t chunks)
      : progress_(progress), chunks_(chunks), caller_(std::this_thread::get_id()) {}

  /// `more` additions of a chunk. Throws Stop if another thread has failed.
  void add(uint64_t more) {
    const uint64_t total = (total_ += more) / chunks_;
    if (stopped_) throw Stop{};
    if (!progress_ || std::this_thread::get_id() != caller_ || total <= told_) return;
    told_ = total;
    try {
      progress_(total);
    } catch (...) {
      stopped_ = true;
      throw;
    }
  }
  struct Stop {};

 private:
  const std::function<void(uint64_t)>& progress_;
  uint64_t chunks_;
  std::thread::id caller_;
  std::atomic<uint64_t> total_ = 0;
  uint64_t told_ = 0;
  std::atomic<bool> stopped_ = false;
};

void add_all(const RunningSumSetup& s, const std::function<void(uint64_t)>& progress, RunningSum& sum) {
  using detail::FirstFlags;
  const uint64_t size = chunk_size(s), chunks = (s.replicas + size - 1) / size;
  std::vector<FirstFlags> found(chunks);
  Reporter reporter(progress, chunks);
  const auto run = [&](uint64_t c) {
    const engine::DefaultRegisters guard;  // of a worker's thread
    detail::SumChunk chunk;
    chunk.first = c * size;
    const uint64_t count = std::min(size, s.replicas - chunk.first);
    chunk.codes = std::span(sum.codes).subspan(chunk.first, count);
    chunk.last_change = std::span(sum.last_change).subspan(chunk.first, count);
    if (chunk.first < sum.traces.size())
      chunk.traces =
          std::span(sum.traces).subspan(chunk.first, std::min<uint64_t>(count, sum.traces.size() - chunk.first));
    chunk.trace_at = &sum.trace_additions;
    uint64_t told = 0;
    const auto done = [&](uint64_t additions) {
      reporter.add(additions - told);
      told = additions;
    };
    try {
      found[c] = detail::run_sum_chunk(s, chunk, done);
      if (chunks > 1) done(s.count);
    } catch (const Reporter::Stop&) {
    }
  };
  if (chunks == 1)
    run(0);
  else
    tbb::parallel_for(uint64_t{0}, chunks, run, tbb::simple_partitioner{});
  FirstFlags all;
  for (const FirstFlags& f : found) all.merge(f);
  sum.flags = all.flags;
  std::copy(std::begin(all.first_addition), std::end(all.first_addition), sum.first_addition);
}

}  // namespace

RunningSum running_sum(const RunningSumSetup& setup, const std::function<void(uint64_t done)>& progress) {
  const engine::DefaultEnvironment guard;
  check(setup);
  using detail::Dyadic;
  const Dyadic exact =
      Dyadic::of(setup.format, setup.start) + Dyadic::of(setup.format, setup.addend).times(setup.count);
  RunningSum sum;
  sum.exact = exact.to_double();
  sum.exact_text = exact.decimal();
  sum.trace_additions = trace_additions(setup);
  // Deterministic sums are all equal: only one is run.
  RunningSumSetup run = setup;
  if (!setup.semantics.draws(setup.format)) run.replicas = 1;
  const uint64_t traced = setup.trace_points == 0 ? 0 : std::min(setup.replicas, setup.trace_replicas);
  sum.codes.resize(run.replicas);
  sum.last_change.resize(run.replicas);
  sum.traces.assign(std::min(run.replicas, traced), std::vector<double>(sum.trace_additions.size()));
  add_all(run, progress, sum);
  if (run.replicas != setup.replicas) {
    sum.codes.assign(setup.replicas, sum.codes[0]);
    sum.last_change.assign(setup.replicas, sum.last_change[0]);
    if (traced != 0) sum.traces.assign(traced, std::vector<double>(sum.traces[0]));
  }
  return sum;
}

MeanAndDeviation mean_and_deviation(std::span<const double> values) {
  return engine::in_default_environment([&]() -> MeanAndDeviation {
    const double n = static_cast<double>(values.size());
    double total = 0, squares = 0;
    for (const double value : values) total += value;
    const double mean = total / n;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1)) : std::numeric_limits<double>::quiet_NaN()};
  });
}

}  // namespace softamp
