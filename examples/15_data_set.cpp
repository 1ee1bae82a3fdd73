// A data set drawn by distributions of Boost, by one thread and by four, forwards and backwards: the same bytes.
//
// Distributions draw as many numbers as they need, and that differs from sample to sample. So each sample has a
// generator of its own, whose place is (seed, sample): no sample depends on how many numbers another one took. Boost's
// distributions are the same source everywhere; those of the standard library differ from one library to the next.
#include <softamp/softamp.h>

#include <boost/random/bernoulli_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdio>
#include <thread>
#include <vector>

using namespace softamp;

namespace {

constexpr uint64_t kSeed = 2026;
constexpr uint32_t kSamples = 4000, kClasses = 3;

struct Sample {
  float x = 0, y = 0;
  uint32_t label = 0;

  bool operator==(const Sample&) const = default;
};

/// A point beside the middle of its class; one label in twenty is wrong.
Sample draw(uint32_t number) {
  // The sample's number stands where a step's number stands in roundings; the data's seed is not that of the roundings.
  PhiloxGenerator generator(RandomBits{kSeed}, number);
  boost::random::normal_distribution<float> noise(0.0f, 0.5f);
  boost::random::uniform_int_distribution<uint32_t> any_class(0, kClasses - 1);
  boost::random::bernoulli_distribution<> mistake(0.05);
  Sample s;
  s.label = any_class(generator);
  s.x = static_cast<float>(s.label) * 2 + noise(generator);
  s.y = (s.label == 1 ? 2.0f : 0.0f) + noise(generator);
  if (mistake(generator)) s.label = any_class(generator);
  return s;
}

std::vector<Sample> drawn_by(uint32_t threads, bool backwards) {
  std::vector<Sample> all(kSamples);
  std::vector<std::thread> running;
  for (uint32_t t = 0; t < threads; ++t)
    running.emplace_back([&all, t, threads, backwards] {
      for (uint32_t i = t; i < kSamples; i += threads) {
        const uint32_t number = backwards ? kSamples - 1 - i : i;
        all[number] = draw(number);
      }
    });
  for (std::thread& thread : running) thread.join();
  return all;
}

}  // namespace

int main() {
  const std::vector<Sample> data = drawn_by(1, false);
  std::printf("4 threads: %s\n", drawn_by(4, false) == data ? "the same data" : "DIFFERS");
  std::printf("4 threads, backwards: %s\n", drawn_by(4, true) == data ? "the same data" : "DIFFERS");

  for (const uint32_t number : {0u, 1u, kSamples - 1})
    std::printf("sample %4u: (%.6f, %.6f), class %u\n", number, static_cast<double>(data[number].x),
                static_cast<double>(data[number].y), data[number].label);
  for (uint32_t label = 0; label < kClasses; ++label) {
    double count = 0, x = 0, y = 0;
    for (const Sample& s : data)
      if (s.label == label) ++count, x += static_cast<double>(s.x), y += static_cast<double>(s.y);
    std::printf("class %u: %4.0f samples around (%.2f, %.2f)\n", label, count, x / count, y / count);
  }

  // The roundings draw from their own seed: adding a sample changes none of them.
  std::vector<float> x;
  for (const Sample& s : data) x.push_back(s.x);
  std::vector<uint16_t> codes(x.size());
  bulk::round(x, kFp16, codes, Semantics::ieee(RoundingPolicy::stochastic_carry(13)));
  double before = 0, after = 0;
  for (size_t i = 0; i < x.size(); ++i) before += static_cast<double>(x[i]), after += value_of(kFp16, codes[i]);
  std::printf("mean of x: %.6f, in fp16 with stochastic rounding %.6f\n", before / kSamples, after / kSamples);
}
