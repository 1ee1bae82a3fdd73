#include "src/precision/device_check.h"

#include "src/numbers/decimal_text.h"

namespace softamp::precision_detail {

std::optional<DeviceCheck> device_check(std::string_view policy, double gpu_capability, std::string device) {
  constexpr double kLeast = 7.0;
  if (policy != "mixed_float16") return std::nullopt;
  const std::string begin = "Mixed precision compatibility check (mixed_float16): ";
  const std::string end =
      "If you will use compatible GPU(s) not attached to this host, e.g. by running a multi-worker model, you can "
      "ignore this warning. This message will only be logged once";
  if (device.empty()) device = "emulated GPU, compute capability " + fixed_places(gpu_capability, 1);
  if (gpu_capability >= kLeast)
    return DeviceCheck{false, begin +
                                  "OK\nYour GPU will likely run quickly with dtype policy mixed_float16 as it has "
                                  "compute capability of at least 7.0. Your GPU: " +
                                  device};
  if (gpu_capability > 0)
    return DeviceCheck{
        true, begin +
                  "WARNING\nYour GPU may run slowly with dtype policy mixed_float16 because it does not have compute "
                  "capability of at least 7.0. Your GPU:\n  " +
                  device +
                  "\nSee https://developer.nvidia.com/cuda-gpus for a list of GPUs and their compute capabilities.\n" +
                  end};
  return DeviceCheck{
      true, begin +
                "WARNING\nThe dtype policy mixed_float16 may run slowly because this machine does not have a GPU. Only "
                "Nvidia GPUs with compute capability of at least 7.0 run quickly with mixed_float16.\n" +
                end};
}

}  // namespace softamp::precision_detail
