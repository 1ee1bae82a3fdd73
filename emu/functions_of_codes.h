// A function of 16-bit codes whose rounding draws nothing is a function of 65536 codes: tensors that are longer look
// its results up. The table is made by the lanes and bodies that serve shorter tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "emu/functions.h"

namespace softamp::emu {

/// The results, and which codes raise nothing. Made when first wanted, by whichever thread comes first.
class FunctionOfCodes {
 public:
  static constexpr size_t kCodes = size_t{1} << 16;
  static constexpr size_t kWorthwhile = 4 * kCodes;  ///< elements from which on a table pays

  /// What makes the table: a group of 64 codes at a time.
  struct Maker {
    virtual ~Maker() = default;
    /// Writes the results of the 64 codes at `codes`.
    virtual void results(const uint16_t* codes, uint16_t* out) const = 0;
    /// False only if none of the 64 codes raises `flag`.
    virtual bool may_raise(const uint16_t* codes, uint8_t flag) const = 0;
  };

  /// FunctionTable::OfCodes' table.
  const uint16_t* results(const Maker& maker) const;

  /// Codes that raise none of `wanted`; `possible` are the flags that there are to be wanted. False: there are none.
  bool quiet(const Maker& maker, uint8_t possible, uint8_t wanted, QuietCodes& codes) const;

 private:
  struct Range {
    uint32_t begin, end;
  };
  mutable std::once_flag results_made_, quiet_made_;
  mutable std::unique_ptr<uint16_t[]> results_;
  mutable Range quiet_[8][2];  ///< by flag and sign
};

}  // namespace softamp::emu
