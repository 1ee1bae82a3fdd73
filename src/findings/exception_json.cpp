#include "src/findings/exception_json.h"

#include <nlohmann/json.hpp>

#include "softamp/names/names.h"

namespace softamp::report_detail {

std::string exception_json(uint8_t kinds, uint8_t status, const ExceptionSite& site) {
  nlohmann::ordered_json json;
  json["exception"] = flag_names(kinds);
  json["fp_sts"] = {
      {"oflo", (status & kOverflow) != 0}, {"div0", (status & kDivideByZero) != 0}, {"inv", (status & kInvalid) != 0}};
  json["operation"] = site.operation;
  json["index"] = site.index;
  json["format"] = site.integers ? "int32" : format_name(site.format);
  json["operands"] = nlohmann::ordered_json::array();
  for (const uint64_t code : site.operands)
    json["operands"].push_back({{"hex", operand_hex(site, code)}, {"decimal", operand_decimal(site, code)}});
  json["tile"] = site.tile;
  json["worker"] = site.worker;
  return json.dump();
}

}  // namespace softamp::report_detail
