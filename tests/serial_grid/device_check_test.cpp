// Why a device cannot be used, or has failed: one line each, from facts as machines give them (cuda/device_check.h).
#include "cuda/device_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

namespace softamp::cuda {
namespace {

constexpr const char* kEmu = ", or the backend emu, which gives the same bits";
const std::string kOther = std::string("; expected a GPU of compute capability 7.5 or later") + kEmu;
const std::string kFree =
    std::string("; expected a device that no process holds for itself (nvidia-smi shows its compute mode)") + kEmu;
const std::string kDriver = std::string("; expected a driver that fits the system and serves this build's CUDA") + kEmu;

DeviceFacts good() {
  DeviceFacts f;
  f.driver = 13020, f.runtime = 13000;
  f.devices = 2;
  f.ordinal = 1;
  f.name = "NVIDIA H100";
  f.major = 9;
  return f;
}

TEST(DeviceCheck, AGoodDevice) {
  EXPECT_EQ(why_unusable(good()), "");
  DeviceFacts f = good();
  f.major = 7, f.minor = 5;
  EXPECT_EQ(why_unusable(f), "");
  f.mode = ComputeMode::kOneProcess;  // by this one
  EXPECT_EQ(why_unusable(f), "");
}

TEST(DeviceCheck, EachReasonIsOneLineWithWhatWouldWork) {
  const struct {
    std::function<void(DeviceFacts&)> change;
    std::string why;
  } kRows[] = {
      {[](DeviceFacts& f) {
         f.driver = 0, f.devices = 0, f.listing = {"cudaErrorInsufficientDriver", "insufficient"};
       },
       "no NVIDIA driver is loaded" + kOther},
      {[](DeviceFacts& f) {
         f.driver = 12040, f.devices = 0, f.listing = {"cudaErrorInsufficientDriver", "x"};
       },
       std::string("the driver serves CUDA up to 12.4, this build is of CUDA 13.0; expected a newer driver") + kEmu},
      {[](DeviceFacts& f) {
         f.devices = 0, f.listing = {"cudaErrorNoDevice", "no CUDA-capable device is detected"};
       },
       "the driver lists no device" + kOther},
      {[](DeviceFacts& f) { f.devices = 0; }, "the driver lists no device" + kOther},
      {[](DeviceFacts& f) {
         f.devices = 0, f.listing = {"cudaErrorSystemNotReady", "system not yet initialized"};
       },
       "counting the devices: system not yet initialized (cudaErrorSystemNotReady)" + kDriver},
      {[](DeviceFacts& f) { f.ordinal = 2; }, "device 2; expected 0..1"},
      {[](DeviceFacts& f) { f.ordinal = -1; }, "device -1; expected 0..1"},
      {[](DeviceFacts& f) {
         f.asking = {"cudaErrorInvalidDevice", "invalid device ordinal"};
       },
       "device 1: invalid device ordinal (cudaErrorInvalidDevice)"},
      {[](DeviceFacts& f) { f.major = 7, f.minor = 0; }, "device 1, NVIDIA H100, has compute capability 7.0" + kOther},
      {[](DeviceFacts& f) { f.major = 6, f.minor = 9; }, "device 1, NVIDIA H100, has compute capability 6.9" + kOther},
      {[](DeviceFacts& f) { f.mode = ComputeMode::kProhibited; },
       "device 1, NVIDIA H100, is in compute mode Prohibited" + kFree},
      {[](DeviceFacts& f) {
         f.mode = ComputeMode::kOneProcess;
         f.using_it = {"cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"};
       },
       "device 1, NVIDIA H100, is in compute mode Exclusive_Process, and another process holds it" + kFree},
      {[](DeviceFacts& f) {
         f.using_it = {"cudaErrorDevicesUnavailable", "busy or unavailable"};
       },
       "device 1, NVIDIA H100: busy or unavailable (cudaErrorDevicesUnavailable)" + kFree},
      {[](DeviceFacts& f) {
         f.mode = ComputeMode::kOneProcess;
         f.using_it = {"cudaErrorMemoryAllocation", "out of memory"};
       },
       "device 1, NVIDIA H100: out of memory (cudaErrorMemoryAllocation)"},
  };
  for (const auto& row : kRows) {
    DeviceFacts f = good();
    row.change(f);
    EXPECT_EQ(why_unusable(f), row.why);
  }
}

// What forbids the device first is told first: each fault with all that come after it.
TEST(DeviceCheck, TheFirstReasonCounts) {
  DeviceFacts f = good();
  const std::pair<std::function<void()>, std::string> kFaults[] = {
      {[&] {
         f.using_it = {"cudaErrorDevicesUnavailable", "busy"};
       },
       "device 1, NVIDIA H100: busy"},
      {[&] { f.mode = ComputeMode::kProhibited; }, "device 1, NVIDIA H100, is in compute mode"},
      {[&] { f.major = 5; }, "device 1, NVIDIA H100, has compute capability"},
      {[&] {
         f.asking = {"cudaErrorInvalidDevice", "invalid"};
       },
       "device 1: invalid"},
      {[&] { f.ordinal = 7; }, "device 7; expected"},
      {[&] { f.devices = 0; }, "the driver lists no device"},
      {[&] {
         f.listing = {"cudaErrorInsufficientDriver", "x"};
       },
       "the driver serves"},
      {[&] { f.driver = 0; }, "no NVIDIA driver"},
  };
  for (const auto& [spoil, reason] : kFaults) {
    spoil();
    EXPECT_EQ(why_unusable(f).find(reason), 0u) << why_unusable(f);
  }
}

TEST(DeviceCheck, ErrorsSayWhatWouldWork) {
  const struct {
    const char* name;
    std::string expected;
  } kRows[] = {
      {"cudaErrorNoKernelImageForDevice",
       std::string("; expected a build whose CMAKE_CUDA_ARCHITECTURES has this device's compute capability, or a newer "
                   "driver") +
           kEmu},
      {"cudaErrorDeviceUninitialized", kFree},
      {"cudaErrorSystemDriverMismatch", kDriver},
      {"cudaErrorECCUncorrectable",
       std::string("; expected a device whose memory has not failed (nvidia-smi -q -d ECC), after its reset") + kEmu},
      {"cudaErrorIllegalAddress",
       std::string("; expected a new process: this one cannot use the device any more") + kEmu},
      {"cudaErrorLaunchFailure",
       std::string("; expected a new process: this one cannot use the device any more") + kEmu},
      {"cudaErrorInvalidValue", ""},
      {"cudaErrorIllegal", ""},  // no prefix counts
  };
  for (const auto& row : kRows)
    EXPECT_EQ(failure_text("kernel k of MatMul 'y'", {row.name, "the words"}),
              std::string("kernel k of MatMul 'y': the words (") + row.name + ")" + row.expected);
}

TEST(DeviceCheck, MemoryIsTooSmall) {
  EXPECT_EQ(
      memory_text("the graph", (300ull << 20) + 1, "NVIDIA H100", (299ull << 20) + 5, 80ull << 30),
      std::string("the graph needs 301 MiB on NVIDIA H100, 299 of 81920 MiB are free; expected a smaller batch or "
                  "graph") +
          kEmu);
  EXPECT_EQ(mebibytes(0), "0 MiB");
  EXPECT_EQ(mebibytes(1), "1 MiB");
  EXPECT_EQ(mebibytes(5ull << 40), "5242880 MiB");
}

}  // namespace
}  // namespace softamp::cuda
