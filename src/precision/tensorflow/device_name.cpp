#include "src/precision/tensorflow/device_name.h"

#include <algorithm>

namespace softamp::precision_detail {

bool is_on(std::string_view device, std::string_view kind) {
  std::string type;
  while (!device.empty()) {
    const size_t end = std::min(device.find('/'), device.size());
    std::string part(device.substr(0, end));
    device.remove_prefix(std::min(end + 1, device.size()));
    for (char& c : part)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (part.empty() || part.starts_with("job:") || part.starts_with("replica:") || part.starts_with("task:")) continue;
    if (part.starts_with("device:")) part.erase(0, 7);
    type = part.substr(0, part.find(':'));
  }
  return type.find(kind) != std::string::npos;
}

}  // namespace softamp::precision_detail
