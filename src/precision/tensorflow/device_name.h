// Names of devices, as TensorFlow writes them.
#pragma once

#include <string>
#include <string_view>

namespace softamp::precision_detail {

/// Whether a device's type contains `kind` ("gpu", "cpu"), without regard to case: "/gpu:0",
/// "/job:worker/replica:0/task:1/device:GPU:0", "/device:XLA_GPU:0". A name without a type names neither.
bool is_on(std::string_view device, std::string_view kind);

/// Whether two names stand for one device: "/gpu:0" and "/device:GPU:0" do, and "" does, which is not placed and counts
/// as these. A number that is missing is 0; a job, replica or task that only one name has makes them differ.
bool same_device(std::string_view a, std::string_view b);

}  // namespace softamp::precision_detail
