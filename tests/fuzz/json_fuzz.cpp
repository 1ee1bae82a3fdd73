// libFuzzer target: the one reader of JSON against the parser under it. What it accepts is the parser's value; what it
// refuses the parser refuses too, or it has a byte 0, a field twice, or is nested too deep.
#include <set>
#include <string>
#include <vector>

#include "src/text/read_json.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/require.h"

using namespace softamp;

namespace {

constexpr JsonLimits kLimits = {1 << 20, 12};

/// Whether a text that the parser takes is one that the reader refuses.
bool is_refused(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return true;
  bool refused = false;
  std::vector<std::set<std::string>> fields;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) fields.emplace_back();
    if (event == Event::object_end) fields.pop_back();
    if (event == Event::object_start || event == Event::array_start) refused = refused || depth >= kLimits.depth;
    if (event == Event::key) refused = refused || !fields.back().insert(value.get<std::string>()).second;
    return true;
  };
  [[maybe_unused]] const auto value = nlohmann::json::parse(text, watch, false);
  return refused;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool is_json = nlohmann::json::accept(text);
  try {
    const auto value = read_json(text, "input", kLimits);
    require(is_json && !is_refused(text), "what is read is JSON within the limits");
    require(value == nlohmann::ordered_json::parse(text), "the value is the parser's");
    require(read_json<nlohmann::json>(text, "input", kLimits) == nlohmann::json::parse(text), "in either kind");
  } catch (const JsonError& e) {
    require_named(e);
    require(!is_json || is_refused(text), "JSON within the limits is read");
  }
  return 0;
}
