// The kernel of bulk::round_on_device (cuda/casts/array_round.h), run on the host, against bulk::round and
// round_values: codes, values and flags.
#include "softamp/tensor/device_round.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "softamp/names/names.h"

#define cuda serial_grid  // as the library of this folder has it
#include "cuda/casts/array_round.h"
#undef cuda
#include "tests/refusal.h"
#include "tests/serial_grid/flags_text.h"

namespace softamp {
namespace {

using bulk::BulkOptions;
using serial_grid::Device;

/// An array in the device's memory, a little behind its beginning, so that nothing is aligned by chance.
template <class T>
class OnDevice {
 public:
  OnDevice(Device& device, const std::vector<T>& values)
      : device_(device), size_(values.size()), memory_(device.allocate((size_ + 1) * sizeof(T))) {
    device_.upload(data(), values.data(), size_ * sizeof(T));
  }
  ~OnDevice() { device_.release(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  T* data() const { return static_cast<T*>(memory_) + 1; }
  std::vector<T> values() const {
    std::vector<T> all(size_);
    device_.download(all.data(), data(), size_ * sizeof(T));
    return all;
  }

 private:
  Device& device_;
  size_t size_;
  void* memory_;
};

/// Bits, so that NaNs are compared.
std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float v : values) bits.push_back(std::bit_cast<uint32_t>(v));
  return bits;
}

template <class Code>
void compare(Device& device, const std::vector<float>& in, const FloatFormat& to, const Semantics& s,
             BulkOptions options) {
  SCOPED_TRACE(format_name(to) + ", " + std::to_string(in.size()) + " from " +
               std::to_string(options.random.first_index));
  const OnDevice<float> from(device, in);
  FpStatus here, there;
  const bool flags = options.random.first_index % 2 == 0;
  std::vector<Code> codes(in.size());
  std::vector<float> values(in.size());
  options.status = flags ? &here : nullptr;
  bulk::round(in, to, std::span(codes), s, options);
  bulk::round_values(in, to, std::span(values), s, options);
  options.status = flags ? &there : nullptr;
  const OnDevice<Code> out(device, std::vector<Code>(in.size()));
  round_array(device, {0, from.data(), in.size(), to, false, out.data()}, s, options);
  EXPECT_EQ(out.values(), codes);
  round_array(device, {0, from.data(), in.size(), to, true, from.data()}, s, options);
  EXPECT_EQ(bits_of(from.values()), bits_of(values));
  EXPECT_EQ(test::flags_text(there), test::flags_text(here));
}

std::vector<Semantics> all_semantics() {
  std::vector<Semantics> all;
  for (const RoundingMode mode : {RoundingMode::kNearestEven, RoundingMode::kTowardZero, RoundingMode::kUp})
    all.push_back(Semantics::ieee(RoundingPolicy::ieee(mode)));
  for (const int bits : {1, 13, 16, 17, 32}) all.push_back(Semantics::ieee(RoundingPolicy::stochastic_carry(bits)));
  all.push_back(Semantics::ieee(RoundingPolicy::saturating()));
  all.push_back(Semantics::ipu(FloatingPointBehaviour{}));
  all.push_back(Semantics::ipu(FloatingPointBehaviour::all_off()));
  return all;
}

TEST(DeviceRound, IsTheCpus) {
  Device device;
  std::mt19937_64 random(1);
  for (const Semantics& s : all_semantics())
    for (const FloatFormat& to : {kFp16, kBf16, kE4m3, kE5m2, kFp32, FloatFormat::ieee(8, 11), FloatFormat::e2m1()})
      for (int turn = 0; turn < 6; ++turn) {
        BulkOptions options;
        options.random = {turn % 2 ? RandomEngine::kPhilox : RandomEngine::kPhilox7, random(), 7, 3};
        options.random.first_index = turn == 0 ? 0 : random() % 40 + (uint64_t{1} << 36);
        options.random.replica = static_cast<uint32_t>(turn % 3);
        std::vector<float> in(turn < 4 ? 1 + random() % 40 : 3000 + random() % 9);
        for (float& x : in) {  // a third are any; the others lie in fp16's range or a little above it
          const auto bits = static_cast<uint32_t>(random());
          x = std::bit_cast<float>(random() % 3 == 0 ? bits
                                                     : (bits & 0x80000000u) | (0x32800000u + bits % (44u << 23)));
        }
        if (to.storage_bits() <= 8)
          compare<uint8_t>(device, in, to, s, options);
        else if (to.storage_bits() <= 16)
          compare<uint16_t>(device, in, to, s, options);
        else
          compare<uint32_t>(device, in, to, s, options);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(DeviceRound, RefusesWhatCannotBe) {
  const Semantics s = Semantics::ieee();
  alignas(8) float in[4] = {};
  uint16_t out[4] = {};
  const auto why = [&](const bulk::DeviceRounding& r, const BulkOptions& options = {}) {
    return test::refusal<std::invalid_argument>([&] { bulk::round_on_device(r, s, options); });
  };
  EXPECT_NE(why({0, nullptr, 4, kFp16, false, out}).find("an array's address is null"), std::string::npos);
  EXPECT_NE(why({0, in, 4, kFp16, false, reinterpret_cast<char*>(out) + 1}).find("not aligned"), std::string::npos);
  EXPECT_NE(why({0, in, 4, kFp16, false, in}).find("the output of 8 bytes overlaps the input of 16 bytes"),
            std::string::npos);
  EXPECT_NE(why({0, in, 3, kFp16, true, in + 1}).find("the output of 12 bytes overlaps the input of 12 bytes"),
            std::string::npos);
  BulkOptions words;
  const uint32_t word = 0;
  words.random.words = &word;
  EXPECT_NE(why({0, in, 4, kFp16, false, out}, words).find("random.words and random.slice"), std::string::npos);
}

}  // namespace
}  // namespace softamp
