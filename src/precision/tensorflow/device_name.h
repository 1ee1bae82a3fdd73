// Names of devices, as TensorFlow writes them.
#pragma once

#include <string>
#include <string_view>

namespace softamp::precision_detail {

/// Whether a device's type contains `kind` ("gpu", "cpu"), without regard to case: "/gpu:0",
/// "/job:worker/replica:0/task:1/device:GPU:0", "/device:XLA_GPU:0". A name without a type names neither.
bool is_on(std::string_view device, std::string_view kind);

}  // namespace softamp::precision_detail
