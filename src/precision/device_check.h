// What Keras says of a GPU when a policy is made (MIXED_PRECISION K21).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace softamp::precision_detail {

struct DeviceCheck {
  bool warns;
  std::string text;
};

/// Of a GPU of this compute capability (0: there is none); none for another policy than mixed_float16. device: its
/// name, if it is not the emulated one.
std::optional<DeviceCheck> device_check(std::string_view policy, double gpu_capability, std::string device = {});

}  // namespace softamp::precision_detail
