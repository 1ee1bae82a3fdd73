#include "tests/gpu/bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace softamp::gpu {

Spread spread_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {seconds.front(), seconds[seconds.size() / 2], seconds.back()};
}

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Spread measure(cuda::Device& device, const Sizes& sizes, const std::function<void()>& put) {
  put();
  device.wait();
  std::unique_ptr<cuda::Recording> recording;
  int times = 0;
  const auto turn = [&] {
    return seconds_of([&] {
      device.replay(*recording);
      device.wait();
    });
  };
  // A replay has no gaps for the host; where it takes long enough, its own start and end do not count.
  for (int wanted = 1;; wanted *= 2) {
    device.begin_recording();
    try {
      for (int i = 0; i < wanted; ++i) put();
    } catch (...) {
      device.abandon_recording();
      throw;
    }
    recording = device.end_recording();
    times = wanted;
    turn();
    if (wanted >= 1024 || turn() >= sizes.least) break;
  }
  std::vector<double> rounds;
  for (int i = 0; i < sizes.rounds; ++i) rounds.push_back(turn() / times);
  return spread_of(std::move(rounds));
}

bool Figures::write() const {
  Object all;
  all.add("device", quoted(device))
      .add("error", error.empty() ? "null" : quoted(error))
      .add("missed", quoted(missed))
      .add("figures", json.text());
  if (all.write(file)) return true;
  std::fprintf(stderr, "ERROR %s: cannot be written\n", file.c_str());
  return false;
}

void Figures::add(const std::string& name, double rate, const char* unit, double ratio, const std::string& of,
                  double goal, const Spread& seconds) {
  const bool judged = goal > 0 && ratio == ratio, met = judged && ratio >= goal;
  if (judged && !met) missed += (missed.empty() ? "" : ", ") + name;
  std::printf("%-44s %10.4g %-10s %8.3f x %s (%.4g .. %.4g us)%s\n", name.c_str(), rate, unit, ratio, of.c_str(),
              seconds.least * 1e6, seconds.most * 1e6,
              !judged ? ""
              : met   ? "  (met)"
                      : "  (MISSED)");
  std::fflush(stdout);
  json.add(name, Object()
                     .add("rate", number(rate))
                     .add("unit", quoted(unit))
                     .add("seconds_least", number(seconds.least))
                     .add("seconds_median", number(seconds.median))
                     .add("seconds_most", number(seconds.most))
                     .add("ratio", number(ratio))
                     .add("of", quoted(of))
                     .add("goal", number(goal))
                     .add("met", !judged ? "null"
                                 : met   ? "true"
                                         : "false")
                     .text());
  if (!write()) throw std::runtime_error("no figure is kept");
}

ExecutorOptions options_of(bool stochastic, bool half_partials, int block) {
  ExecutorOptions o;
  o.config.set("floating_point_behaviour.esr", stochastic);
  o.config.set("floating_point_behaviour.nanoo", true);
  if (half_partials) o.config.matmuls.poplar_options["partialsType"] = "half";
  o.amp_block = block;
  o.seed = 7;
  return o;
}

}  // namespace softamp::gpu
