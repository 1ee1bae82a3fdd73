// An enabled floating-point exception, as the host of an accelerator sees it: an error with a register report.
#pragma once

#include "softamp/numerics/behaviour.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/semantics.h"
#include "softamp/numerics/unit.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace softamp {

/// Where an exception happened.
struct ExceptionSite {
  std::string operation;           ///< "f16_mul", "MatMul"
  uint64_t index = 0;              ///< element of the operation's output; the lowest that raised an enabled flag
  FloatFormat format = kFp16;      ///< of the operands
  std::vector<uint64_t> operands;  ///< codes; empty where they are not known
  bool integers = false;           ///< the operands are int32 bit patterns instead
  uint32_t tile = 0;
  uint32_t worker = 0;
};

/// Thrown after an operation that raised an enabled exception (N386). what() is the report:
///
///   floating-point exception: overflow
///     $FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x0
///     operation: f16_mul, element 0
///     operands: 0x7b53 (60000), 0x7b53 (60000)
///     tile 0, worker 0
///
/// Only the $FP_STS line is the device's; the layout is ours (`dump_format`).
// implements: N386
class FloatingPointError : public std::runtime_error {
 public:
  /// kinds   (invalid, divide-by-zero, overflow: Flag bits)  the enabled exceptions that stop at the site
  /// status  Flag bits of the whole operation, which $FP_STS shows
  FloatingPointError(uint8_t kinds, uint8_t status, ExceptionSite site, DumpFormat layout = DumpFormat::kFull);

  uint8_t kinds() const { return kinds_; }
  uint8_t status() const { return status_; }
  const std::string& operation() const { return site_.operation; }
  uint64_t index() const { return site_.index; }
  const std::vector<uint64_t>& operands() const { return site_.operands; }
  const FloatFormat& format() const { return site_.format; }
  const ExceptionSite& site() const { return site_; }
  /// The report in another layout.
  std::string report(DumpFormat layout) const;

 private:
  uint8_t kinds_, status_;
  ExceptionSite site_;
};

/// Throws FloatingPointError if `status` holds a flag that `behaviour` stops on: for the lowest index among the enabled
/// flags, with the flags of all elements in $FP_STS. Sets `site.index`, and calls `operands_at`, if given, for the
/// operands of that element.
void throw_if_enabled(const FpStatus& status, const FloatingPointBehaviour& behaviour, ExceptionSite site,
                      const std::function<std::vector<uint64_t>(uint64_t index)>& operands_at = nullptr,
                      DumpFormat layout = DumpFormat::kFull);

/// Throws if `unit` has stopped on an exception, in the layout that its switches name. The index is the lane; $FP_STS
/// is the unit's.
void throw_if_excepted(const FpUnit& unit, uint32_t tile = 0, uint32_t worker = 0);

}  // namespace softamp
