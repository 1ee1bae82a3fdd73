#include "softamp/findings/exception.h"

#include "softamp/findings/registers.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "src/findings/exception_json.h"
#include "src/text/hexadecimal.h"

#include <utility>

namespace softamp {

namespace report_detail {

std::string operand_hex(const ExceptionSite& site, uint64_t code) {
  return site.integers ? "0x" + hexadecimal(static_cast<uint32_t>(code), 8) : code_text(site.format, code);
}

std::string operand_decimal(const ExceptionSite& site, uint64_t code) {
  return site.integers ? std::to_string(static_cast<int32_t>(static_cast<uint32_t>(code)))
                       : shortest_decimal(site.format, code);
}

}  // namespace report_detail

namespace {

using report_detail::operand_decimal;
using report_detail::operand_hex;

std::string operand_list(const ExceptionSite& site) {
  std::string text;
  for (const uint64_t code : site.operands)
    text += (text.empty() ? "" : ", ") + operand_hex(site, code) + " (" + operand_decimal(site, code) + ")";
  return text.empty() ? "not recorded" : text;
}

std::string write_report(uint8_t kinds, uint8_t status, const ExceptionSite& site, DumpFormat layout) {
  const std::string title = "floating-point exception: " + flag_names(kinds);
  const std::string element = site.operation + ", element " + std::to_string(site.index);
  const std::string place = "tile " + std::to_string(site.tile) + ", worker " + std::to_string(site.worker);
  switch (layout) {
    case DumpFormat::kJson: return report_detail::exception_json(kinds, status, site);
    case DumpFormat::kOneLine:
      return title + "; " + status_line(status) + "; " + element + "; operands: " + operand_list(site) + "; " + place;
    case DumpFormat::kFull: break;
  }
  return title + "\n  " + status_line(status) + "\n  operation: " + element + "\n  operands: " + operand_list(site) +
         "\n  " + place;
}

}  // namespace

FloatingPointError::FloatingPointError(uint8_t kinds, uint8_t status, ExceptionSite site, DumpFormat layout)
    : std::runtime_error(write_report(kinds, status, site, layout)),
      kinds_(kinds),
      status_(status),
      site_(std::move(site)) {}

std::string FloatingPointError::report(DumpFormat layout) const { return write_report(kinds_, status_, site_, layout); }

void throw_if_enabled(const FpStatus& status, const FloatingPointBehaviour& behaviour, ExceptionSite site,
                      const std::function<std::vector<uint64_t>(uint64_t index)>& operands_at, DumpFormat layout) {
  const uint8_t enabled = behaviour.enabled_flags();
  const uint64_t lowest = status.lowest_index(enabled);
  if (lowest == FpStatus::kNever) return;
  uint8_t kinds = 0;
  for (int b = 0; b < kFlagCount; ++b)
    if (status.first_index[b] == lowest) kinds = static_cast<uint8_t>(kinds | 1u << b);
  site.index = lowest;
  if (operands_at) site.operands = operands_at(lowest);
  throw FloatingPointError(static_cast<uint8_t>(kinds & enabled), status.flags, std::move(site), layout);
}

void throw_if_excepted(const FpUnit& unit, uint32_t tile, uint32_t worker) {
  if (!unit.excepted()) return;
  const UnitException& e = unit.exception();
  ExceptionSite site{e.operation, static_cast<uint64_t>(e.lane), e.format, {}, false, tile, worker};
  site.operands.assign(e.operands, e.operands + e.operand_count);
  throw FloatingPointError(static_cast<uint8_t>(e.flags & unit.behaviour().enabled_flags()),
                           StatusRegister::decode(unit.get(Csr::kFpSts)), std::move(site), unit.switches().dump_format);
}

}  // namespace softamp
