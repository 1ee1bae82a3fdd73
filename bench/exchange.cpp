// What processes that train together exchange: sums of 10^8 floats, of which each rank forms its part in the order of
// the ranks, in buckets: all_to_all of the parts, addition, all_gather of the sums. Beside it, in the same run, memcpy
// of the same bytes by all ranks at once, and MPI_Allreduce, which adds in an order of its own.
//
//   mpirun -n 2 bench_exchange [MILLIONS of floats, =100]    without mpirun: two threads of one process
//
// The rate: of n floats in R ranks each receives (R-1)/R n of parts, and as many of sums. To receive is at least to
// copy once, so memcpy copies that many bytes, 2 (R-1)/R n floats, from a place past the cache to another.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "bench/measure.h"
#include "softamp/tensor/tensor.h"
#include "src/exchange/mpi_exchange.h"

namespace {

using namespace softamp;
using namespace softamp::bench;

constexpr int kRounds = 5;
constexpr size_t kBuckets[] = {size_t{1} << 16, size_t{1} << 17, size_t{1} << 18, size_t{1} << 20, size_t{1} << 22};
constexpr size_t kChosen = 2;  ///< of these, that which the goal is for

/// One rank's buffers and what it does with them.
struct Rank {
  Rank(Exchange& way, size_t n)
      : exchange(way),
        tensors{Tensor::full(DType::kFloat32, {static_cast<int64_t>(n)}, way.rank() + 1),
                Tensor(DType::kFloat32, {static_cast<int64_t>(n)})},
        own(tensors[0].as<float>()),
        sums(tensors[1].as<float>()),
        count(static_cast<size_t>(way.ranks())) {}

  /// Where part `r` of the bucket of `size` floats begins.
  size_t begin(size_t r, size_t size) const { return size * r / count; }

  void sum(size_t bucket, bool add) {
    const auto me = static_cast<size_t>(exchange.rank());
    for (size_t at = 0; at < own.size(); at += bucket) {
      const size_t size = std::min(bucket, own.size() - at);
      const size_t first = begin(me, size), length = begin(me + 1, size) - first;
      if (received.size() < length * count) received.resize(length * count);
      std::vector<Exchange::Bytes> to(count);
      std::vector<Exchange::Room> from(count), all(count);
      for (size_t r = 0; r < count; ++r) {
        const size_t b = begin(r, size), l = begin(r + 1, size) - b;
        all[r] = std::as_writable_bytes(std::span(sums.data() + at + b, l));
        if (r == me) continue;
        to[r] = std::as_bytes(std::span(own.data() + at + b, l));
        from[r] = std::as_writable_bytes(std::span(received.data() + r * length, length));
      }
      exchange.all_to_all(to, from);
      if (add) add_parts(sums.data() + at + first, own.data() + at + first, length, me);
      exchange.all_gather(all[me], all);
    }
  }
  void add_parts(float* out, const float* mine, size_t length, size_t me) const {
    const auto part = [&](size_t r) { return r == me ? mine : received.data() + r * length; };
    const float *a = part(0), *b = part(1);
    for (size_t i = 0; i < length; ++i) out[i] = a[i] + b[i];
    for (size_t r = 2; r < count; ++r) {
      const float* next = part(r);
      for (size_t i = 0; i < length; ++i) out[i] += next[i];
    }
  }
  void copy() {
    const size_t floats = 2 * (count - 1) * own.size() / count;
    for (size_t at = 0; at < floats; at += own.size())
      std::memcpy(sums.data(), own.data(), 4 * std::min(own.size(), floats - at));
    benchmark::ClobberMemory();
  }

  /// Seconds until all ranks are done.
  double time(const std::function<void()>& work) {
    exchange.barrier();
    return seconds(
        [&] {
          work();
          exchange.barrier();
        },
        1);
  }

  Exchange& exchange;
  Tensor tensors[2];
  std::span<float> own, sums;
  std::vector<float> received;
  size_t count;
};

struct Results {
  std::vector<double> copy, all_reduce;
  std::vector<std::vector<double>> with, without;  ///< addition, by bucket
};

Results measure(Exchange& exchange, size_t n) {
  Rank rank(exchange, n);
  Results results;
  results.with.resize(std::size(kBuckets)), results.without.resize(std::size(kBuckets));
  auto* const mpi = dynamic_cast<MpiExchange*>(&exchange);
  for (int round = -1; round < kRounds; ++round) {
    const auto keep = [&](std::vector<double>& all, double s) {
      if (round >= 0) all.push_back(s);  // the first is for the pages
    };
    for (size_t b = 0; b < std::size(kBuckets); ++b) {
      keep(results.copy, rank.time([&] { rank.copy(); }));
      keep(results.with[b], rank.time([&] { rank.sum(kBuckets[b], true); }));
      if (rank.sums.back() != static_cast<float>(rank.count * (rank.count + 1)) / 2) std::abort();
      keep(results.without[b], rank.time([&] { rank.sum(kBuckets[b], false); }));
    }
    if (!mpi) continue;
    std::fill(rank.sums.begin(), rank.sums.end(), 1.0f);
    keep(results.all_reduce, rank.time([&] { mpi->all_reduce(rank.sums); }));
  }
  return results;
}

std::string bucket_name(size_t bucket, size_t n) {
  if (bucket >= n) return "in one";
  return bucket < (1u << 20) ? std::to_string(bucket >> 10) + " Ki" : std::to_string(bucket >> 20) + " Mi";
}

void add_rows(const std::string& title, size_t n, const Results& results) {
  const double copy = median(results.copy), all_reduce = results.all_reduce.empty() ? 0 : median(results.all_reduce);
  for (size_t b = 0; b < std::size(kBuckets); ++b) {
    const double with = median(results.with[b]), without = median(results.without[b]);
    char measured[160], more[64] = "";
    if (all_reduce > 0) std::snprintf(more, sizeof more, "; %.2f x MPI_Allreduce", all_reduce / with);
    std::snprintf(measured, sizeof measured, "%.2f (%.3f s); without addition %.2f (%.3f s)%s", copy / with, with,
                  copy / without, without, more);
    keep_table_row({title + ", bucket " + bucket_name(kBuckets[b], n),
                    b == kChosen ? ">= 0.50 x memcpy without addition" : "", "", measured, copy / without >= .5});
  }
  char text[192];
  std::snprintf(text, sizeof text, "%s: memcpy %.3f s", title.c_str(), copy);
  if (all_reduce > 0) std::snprintf(text + std::strlen(text), 60, ", MPI_Allreduce %.3f s", all_reduce);
  print_later("%s\n", text);
}

std::vector<double> measure_all(MpiExchange* mpi, size_t n) {
  Results results;
  std::string title;
  if (mpi) {
    results = measure(*mpi, n);
    title = mpi->about() + ", " + std::to_string(mpi->ranks()) + " ranks";
  } else {
    const std::vector<std::unique_ptr<Exchange>> both = exchange_in_process(2);
    std::thread other([&] { measure(*both[1], n); });
    results = measure(*both[0], n);
    other.join();
    title = "in process, 2 threads";
  }
  add_rows("exchange/" + title, n, results);
  std::vector<double> all = {median(results.copy)};
  for (const auto& seconds : results.with) all.push_back(median(seconds));
  for (const auto& seconds : results.without) all.push_back(median(seconds));
  if (mpi) all.push_back(median(results.all_reduce));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t n = static_cast<size_t>(softamp::bench::arguments(argc, argv, {{"MILLIONS", 100}})[0]) * 1'000'000;
  try {
    std::unique_ptr<MpiExchange> mpi;
    if (const auto kind = mpi_launcher()) mpi = open_mpi_exchange(*kind, SOFTAMP_BINARY_DIR);
    if (mpi && mpi->ranks() == 1) mpi.reset();
    // All ranks measure; one prints.
    if (mpi && mpi->rank() > 0 && !std::freopen("/dev/null", "w", stdout)) return 1;
    std::vector<std::string> names = {"exchange/memcpy"};
    for (const size_t bucket : kBuckets) names.push_back("exchange/sums/bucket " + bucket_name(bucket, n));
    for (const size_t bucket : kBuckets) names.push_back("exchange/transfer alone/bucket " + bucket_name(bucket, n));
    if (mpi) names.push_back("exchange/MPI_Allreduce");
    add_table(names, [&] { return measure_all(mpi.get(), n); });
    return finish();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
  }
}
