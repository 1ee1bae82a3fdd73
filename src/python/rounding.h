// How a call rounds, and where its random bits lie: what every function of arrays takes from Python.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "softamp/numerics/behaviour.h"
#include "softamp/numerics/chips.h"
#include "softamp/tensor/bulk.h"
#include "src/arithmetic/rounding_choice.h"
#include "src/names/idle.h"
#include "src/python/arrays.h"

namespace softamp::python {

/// The tuple (rounding, bits, variant, overflow, preset, chip, random), of `round` also cast, of Python, None where
/// nothing is given. Within `with softamp.behaviour(...)` the defaults are the IPU's under that behaviour, and
/// exceptions stop.
struct Rounding : detail::RoundingChoice {
  FloatingPointBehaviour stops = FloatingPointBehaviour::all_off();  ///< inv, div0 and oflo stop
  bool mode_given = false, overflow_given = false;                   ///< the call says `rounding`, `overflow`
  std::vector<std::string_view> asked;  ///< bits, variant, random: the settings of random bits that the call says

  /// `around`: the behaviour whose defaults hold [=that of the innermost `with` block].
  static Rounding from(nb::tuple values, std::optional<FloatingPointBehaviour> around);
  static Rounding from(nb::tuple values);

  /// Whether results in the format are rounded stochastically. Throws std::invalid_argument where the preset does not
  /// round them as the call says.
  bool draws(const FloatFormat& to) const;
};

inline constexpr const char* kStochasticHere = "rounding='stochastic'";  ///< what a call makes a rounding stochastic by

/// Throws ValueError where a call asks for a setting of random bits that changes no result. `stochastic`: the cure.
void refuse_idle(const std::vector<std::string_view>& asked, const detail::RandomUse& use,
                 const char* stochastic = kStochasticHere);

/// The tuple (seed, step, operation, first_index, random_words, threads), of `round` also packed: elements share the
/// words of a chip's instruction.
struct Addresses {
  bulk::BulkOptions options;

  /// Reads the tuple; random_words, where given, must have a word for each of `size` elements, or for those that share
  /// it. Throws ValueError for an address that is not the default where nothing is drawn.
  Addresses(nb::tuple values, const Rounding& rounding, const FloatFormat& to, size_t size);
  /// The same where the format says how it rounds, and `stochastic` how it would draw.
  Addresses(nb::tuple values, const Rounding& rounding, const FloatFormat& to, size_t size, bool draws,
            const char* stochastic);
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
