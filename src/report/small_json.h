// Short JSON texts that we do not trust; each refusal is a sentence.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "src/graph/nearest_name.h"

namespace softamp {

/// The text as JSON, nested at most `deepest`. `refuse` is called with what is wrong, and throws: no JSON, a number
/// beyond binary64, deeper nesting.
template <class Json = nlohmann::json>
Json small_json(std::string_view text, int deepest, const std::function<void(const std::string&)>& refuse) {
  const auto shallow = [&](int depth, typename Json::parse_event_t, const Json&) {
    if (depth > deepest) refuse("nested deeper than " + std::to_string(deepest));
    return true;
  };
  const auto at = [&](size_t byte) {
    refuse("no JSON at byte " + std::to_string(byte) + " of '" + graph_detail::printable(text) + "'");
  };
  // The parser takes a byte 0 for the end, and would ignore the rest.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) at(zero + 1);
  try {
    return Json::parse(text, shallow);
  } catch (const typename Json::parse_error& e) {
    at(e.byte);
  } catch (const typename Json::exception&) {
    refuse("a number is beyond binary64");
  }
  return {};
}

}  // namespace softamp
