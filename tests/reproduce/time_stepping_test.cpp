// What the experiments that step in time share: jobs on all cores, quotients, rounding sites, and what they refuse
// alike.
#include "src/reproduce/steps/time_stepping.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <boost/multiprecision/cpp_int.hpp>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "softamp/numerics/format.h"
#include "tests/refusal.h"

namespace softamp::reproduce::stepping {
namespace {

TEST(RunJobs, RunsEachOnceAndTellsTheEnd) {
  std::vector<double> heard;
  Watch watch([&heard](double share) { heard.push_back(share); });
  std::vector<std::atomic<int>> runs(37);
  run_jobs(runs.size(), 74, watch, [&](size_t job, JobProgress& progress) {
    ++runs[job];
    progress.add(2);
  });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back(), 1);
}

TEST(RunJobs, BeginsThemInTheirOrder) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  std::vector<size_t> begun;
  Watch watch;
  run_jobs(9, 9, watch, [&](size_t job, JobProgress&) { begun.push_back(job); });
  EXPECT_EQ(begun, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(RunJobs, ThrowsWhatAJobThrows) {
  Watch watch;
  EXPECT_EQ(softamp::test::refusal<std::runtime_error>([&] {
              run_jobs(3, 3, watch, [](size_t job, JobProgress&) {
                if (job == 1) throw std::runtime_error("no memory");
              });
            }),
            "no memory");
}

/// The jobs are told to stop where they next report, and what was done by then is what the watch hears.
TEST(RunJobs, StopsWhereTheWatchSaysSo) {
  std::vector<double> heard;
  Watch watch([&heard](double share) { heard.push_back(share); }, [&heard] { return heard.size() == 2; });
  std::atomic<int> reports = 0;
  EXPECT_THROW(run_jobs(2, 1e6, watch,
                        [&](size_t, JobProgress& progress) {
                          for (int i = 0; i < 100'000; ++i) {
                            progress.add(1);
                            ++reports;
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          }
                        }),
               Interrupted);
  EXPECT_LT(reports, 100'000);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_GT(heard[0], 0);
  EXPECT_GT(heard[1], heard[0]);
  EXPECT_LT(heard[1], 0.1);
}

/// value * 2^exponent: the quotient to 62 bits or more, with a jam of what is left.
TEST(Quotient, IsExactAsFarAsARoundingReads) {
  for (const uint64_t numerator : {1ull, 3ull, 7ull, 1000003ull, 1ull << 62})
    for (const uint64_t denominator : {1ull, 3ull, 20ull, 65537ull, (1ull << 63) - 25}) {
      const Exact q = quotient(numerator, denominator, 5);
      EXPECT_FALSE(q.negative);
      EXPECT_GE(q.significand, uint64_t{1} << 62);
      // numerator 2^shift = quotient denominator + rest, the rest told by the last bit.
      const int shift = 5 - q.exponent;
      const boost::multiprecision::cpp_int scaled = boost::multiprecision::cpp_int(numerator) << shift;
      const bool exact = scaled % denominator == 0;
      EXPECT_EQ(q.significand, static_cast<uint64_t>(scaled / denominator) | static_cast<uint64_t>(!exact));
    }
  EXPECT_EQ(quotient(0, 3, 5).significand, 0u);
}

TEST(SiteOf, IsOfOneFormatRunAndKind) {
  std::set<uint32_t> sites;
  size_t all = 0;
  for (const FloatFormat& f : {kFp16, kBf16, kFp32, kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(4, 4)})
    for (const uint32_t run : {0u, 1u, 513u, 1023u})
      for (uint32_t kind = 0; kind < 8; ++kind, ++all) {
        const uint32_t site = site_of(f, run, kind);
        EXPECT_LT(site, 1u << 23);
        sites.insert(site);
      }
  EXPECT_EQ(sites.size(), all);
}

TEST(PathsOf, WithinTheirRange) {
  Request request;
  EXPECT_EQ(paths_of(request, "e", 100, 1000), 100u);
  for (const uint64_t good : {1, 1000}) {
    request.samples = good;
    EXPECT_EQ(paths_of(request, "e", 100, 1000), good);
  }
  for (const uint64_t bad : {0, 1001}) {
    request.samples = bad;
    EXPECT_EQ(softamp::test::refusal<std::invalid_argument>([&] { paths_of(request, "e", 100, 1000); }),
              "e: " + std::to_string(bad) + " stochastic paths: expected 1..1000");
  }
}

TEST(WidePaths, RefuseOtherLengths) {
  const WidePaths paths(kFp32, {}, 0);
  const std::vector<uint32_t> three(3), four(4);
  std::vector<uint32_t> out(3), longer(4);
  EXPECT_THROW(paths.add(three, four, out, {}), std::invalid_argument);
  EXPECT_THROW(paths.mul(three, three, longer, {}), std::invalid_argument);
  paths.sub(three, three, out, {});
  EXPECT_EQ(out, three);
}

}  // namespace
}  // namespace softamp::reproduce::stepping
