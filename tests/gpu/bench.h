// What gpu_bench measures: sizes, the clock, and figures with their goals. bench.cpp runs the parts one after the
// other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "softamp/graph/executor.h"
#include "tests/gpu/json_file.h"

namespace softamp::gpu {

struct Sizes {
  /// Of tensors, ascending; goals are for the last.
  std::vector<int64_t> elements{int64_t{1} << 20, int64_t{1} << 24, int64_t{1} << 28};
  int64_t product = 4096, copy = int64_t{1} << 30;
  int64_t batch = 128;
  int rounds = 5, steps = 10;
  double least = 0.02;  ///< seconds to a round
  const char* network = "resnet20";

  /// For a host that runs the kernels serially.
  static Sizes small() { return {{3000}, 40, 4096, 2, 3, 1, 0, "small_cnn"}; }
};

/// Seconds of one piece of work in several rounds.
struct Spread {
  double least = 0, median = 0, most = 0;
};
Spread spread_of(std::vector<double> seconds);

double seconds_of(const std::function<void()>& work);

/// Seconds of one `put` on the device: as many as take `least` seconds are recorded, and each round is one replay.
Spread measure(cuda::Device& device, const Sizes& sizes, const std::function<void()>& put);

/// Written anew after every figure, so that a stop loses none.
struct Figures {
  std::string device, file, error;
  Object json;
  std::string missed;  ///< names of the figures that missed their goals, separated by ", "

  bool write() const;

  /// `ratio` to what `of` says, at least `goal` (0: no goal). `seconds`: of what was measured.
  void add(const std::string& name, double rate, const char* unit, double ratio, const std::string& of, double goal,
           const Spread& seconds);
};

ExecutorOptions options_of(bool stochastic, bool half_partials, int block);

/// Bytes read and written a second by a copy within the device's memory.
double copy_rate(cuda::Device& device, const Sizes& sizes, Figures& figures);

void bench_operations(cuda::Device& device, const Sizes& sizes, double copied, Figures& figures);
void bench_products(cuda::Device& device, const Sizes& sizes, Figures& figures);
void bench_training(const Sizes& sizes, Figures& figures);

}  // namespace softamp::gpu
