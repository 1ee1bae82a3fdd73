#include "src/files/checked_json.h"

#include <algorithm>
#include <stdexcept>

#include "src/files/sha256.h"

namespace softamp {
namespace {

constexpr std::string_view kChecksumBegins = ",\n\"checksum\": \"", kChecksumEnds = "\"}\n";
constexpr size_t kDigits = 64;

std::string digest(std::string_view text) {
  Sha256 sha;
  sha.add(text.data(), text.size());
  return sha.hex();
}

}  // namespace

std::string with_checksum(std::string_view object) {
  const std::string_view before = object.substr(0, object.find_last_not_of(" \n", object.rfind('}') - 1) + 1);
  return std::string(before) + std::string(kChecksumBegins) + digest(before) + std::string(kChecksumEnds);
}

void verify_checksum(std::string_view text) {
  constexpr size_t kMember = kChecksumBegins.size() + kDigits + kChecksumEnds.size();
  const std::string_view before = text.substr(0, text.size() - std::min(text.size(), kMember)),
                         member = text.substr(before.size());
  if (!member.starts_with(kChecksumBegins) || !member.ends_with(kChecksumEnds))
    throw std::invalid_argument("its last member is no checksum");
  const std::string_view said = member.substr(kChecksumBegins.size(), kDigits);
  if (const std::string found = digest(before); found != said)
    throw std::invalid_argument("its checksum is " + std::string(said) + ", but that of what stands there is " + found +
                                ": it was changed since, or is damaged");
}

}  // namespace softamp
