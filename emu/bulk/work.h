// One bulk call as the engine sees it: a run of elements that can be computed piece by piece, in any order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softamp/numerics/status.h"
#include "softamp/tensor/bulk.h"

namespace softamp::emu {

class Work {
 public:
  virtual ~Work() = default;

  /// Computes elements [begin, begin + count). Returns the flags raised among `wanted`. If `redirect` is not null the
  /// results go there (element `begin` first) instead of to the output.
  virtual uint8_t run(size_t begin, size_t count, uint8_t wanted, void* redirect) const = 0;

  /// Moves redirected results to the output.
  virtual void commit(size_t begin, size_t count, const void* redirected) const = 0;

  /// The first element of [begin, begin + count) that raises a flag of `mask` by the scalar reference, and which of
  /// them it raises: 0 if there is none.
  virtual size_t find(size_t begin, size_t count, uint8_t mask, uint8_t& raised) const = 0;

  /// Flags that may be raised at all.
  virtual uint8_t possible_flags() const = 0;

  size_t size = 0;
  size_t out_bytes = 0;   ///< of an element of the output
  size_t head = 0;        ///< elements before the first that suits the kernels best (alignment, draw block)
  bool draws = false;     ///< random numbers are generated for every element
  bool in_place = false;  ///< results overwrite operands: a piece can be run once only
};

/// Runs all of `work`, in pieces, on `threads` threads (0: all), and merges flags and lowest indices into `status`.
void execute(const Work& work, int threads, FpStatus* status);

}  // namespace softamp::emu
