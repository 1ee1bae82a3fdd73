// How a call rounds, and where its random bits lie: what every function of arrays takes from Python.
#pragma once

#include <optional>
#include <vector>

#include "softamp/numerics/behaviour.h"
#include "softamp/numerics/chips.h"
#include "softamp/tensor/bulk.h"
#include "src/arithmetic/rounding_choice.h"
#include "src/python/arrays.h"

namespace softamp::python {

/// The tuple (rounding, bits, variant, overflow, preset, chip, random), of `round` also cast, of Python, None where
/// nothing is given. Within `with softamp.behaviour(...)` the defaults are the IPU's under that behaviour, and
/// exceptions stop.
struct Rounding : detail::RoundingChoice {
  FloatingPointBehaviour stops = FloatingPointBehaviour::all_off();  ///< inv, div0 and oflo stop

  static Rounding from(nb::tuple values);
};

/// The tuple (seed, step, operation, first_index, random_bits, threads), of `round` also packed: elements share the
/// words of a chip's instruction.
struct Addresses {
  bulk::BulkOptions options;

  /// Reads the tuple; random_bits, where given, must have a word for each of `size` elements, or for those that share
  /// it.
  Addresses(nb::tuple values, const Rounding& rounding, const FloatFormat& to, size_t size);
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

 private:
  std::vector<uint32_t> words_;
};

/// Of the innermost `with` block around, in this thread or task of asyncio.
std::optional<FloatingPointBehaviour> active_behaviour();

/// None: that of the innermost `with` block, or `otherwise`; else an object of softamp.Behaviour.
FloatingPointBehaviour behaviour_from(nb::handle object, const FloatingPointBehaviour& otherwise);

void bind_behaviour(nb::module_& m);

}  // namespace softamp::python
