// Helpers for all layouts of a FloatingPointError's report.
#pragma once

#include "softamp/findings/exception.h"

namespace softamp::report_detail {

/// An operand's code in its format, "0x7b53", and its value, "60000".
std::string operand_hex(const ExceptionSite& site, uint64_t code);
std::string operand_decimal(const ExceptionSite& site, uint64_t code);

/// The report as one JSON object.
std::string exception_json(uint8_t kinds, uint8_t status, const ExceptionSite& site);

}  // namespace softamp::report_detail
