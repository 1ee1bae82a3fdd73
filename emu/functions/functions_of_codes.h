// A function of 16-bit codes without random bits has only 65536 results: for longer tensors they are looked up in a
// table, made by the same code that computes shorter tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "emu/functions/functions.h"

namespace softamp::emu {

/// The results, and which codes raise nothing. Made at first use, by any thread.
class FunctionOfCodes {
 public:
  static constexpr size_t kCodes = size_t{1} << 16;
  static constexpr size_t kWorthwhile = 4 * kCodes;  ///< elements from which a table pays

  /// Computes the table, 64 codes at a time.
  struct Maker {
    virtual ~Maker() = default;
    /// Writes the results of the 64 codes at `codes`.
    virtual void results(const uint16_t* codes, uint16_t* out) const = 0;
    /// False only if none of the 64 codes raises `flag`.
    virtual bool may_raise(const uint16_t* codes, uint8_t flag) const = 0;
  };

  /// FunctionTable::OfCodes' table.
  const uint16_t* results(const Maker& maker) const;

  /// Finds codes that raise none of `wanted`, a subset of `possible`. False: there are none.
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
