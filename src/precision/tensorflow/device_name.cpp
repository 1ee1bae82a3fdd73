#include "src/precision/tensorflow/device_name.h"

#include "src/text/lower_case.h"

#include <algorithm>

namespace softamp::precision_detail {
namespace {

struct Device {
  std::string type;   ///< in small letters, with its number: "gpu:0"; empty: none
  std::string where;  ///< job, replica and task
};

Device parsed(std::string_view name) {
  Device device;
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string part = lower_case(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part.empty()) continue;
    if (part.starts_with("job:") || part.starts_with("replica:") || part.starts_with("task:")) {
      device.where += "/" + part;
      continue;
    }
    device.type = part.starts_with("device:") ? part.substr(7) : part;
  }
  return device;
}

}  // namespace

bool is_on(std::string_view device, std::string_view kind) {
  const std::string type = parsed(device).type;
  return type.substr(0, type.find(':')).find(kind) != std::string::npos;
}

bool same_device(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto placed = [](std::string_view name) {
    Device device = parsed(name);
    if (device.type.empty()) device.type = "gpu";
    if (device.type.find(':') == std::string::npos) device.type += ":0";
    return device;
  };
  const Device first = placed(a), second = placed(b);
  return first.type == second.type && first.where == second.where;
}

}  // namespace softamp::precision_detail
