#include "src/report/checked_json.h"

#include <algorithm>
#include <stdexcept>

#include "src/report/sha256.h"

namespace softamp {
namespace {

constexpr std::string_view kBegin = ",\n\"checksum\": \"", kEnd = "\"}\n";
constexpr size_t kDigits = 64;

std::string digest(std::string_view text) {
  Sha256 sha;
  sha.add(text.data(), text.size());
  return sha.hex();
}

}  // namespace

std::string with_checksum(std::string_view object) {
  const std::string_view before = object.substr(0, object.find_last_not_of(" \n", object.rfind('}') - 1) + 1);
  return std::string(before) + std::string(kBegin) + digest(before) + std::string(kEnd);
}

void verify_checksum(std::string_view text) {
  constexpr size_t kMember = kBegin.size() + kDigits + kEnd.size();
  const std::string_view before = text.substr(0, text.size() - std::min(text.size(), kMember)),
                         member = text.substr(before.size());
  if (!member.starts_with(kBegin) || !member.ends_with(kEnd))
    throw std::invalid_argument("its last member is no checksum");
  const std::string_view said = member.substr(kBegin.size(), kDigits);
  if (const std::string found = digest(before); found != said)
    throw std::invalid_argument("its checksum is " + std::string(said) + ", but that of what stands there is " + found +
                                ": it was changed since, or is damaged");
}

}  // namespace softamp
