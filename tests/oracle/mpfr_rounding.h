// Rounding by MPFR: to a precision, with its ternary value, its subnormal handling and its exponent range.
#pragma once

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>

#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"

namespace oracle {

class MpfrRounder {
 public:
  /// Rounds to formats like `f`; sets MPFR's exponent range of this thread.
  explicit MpfrRounder(const softamp::FloatFormat& f) : f_(f) {
    quantum_ = 1 - f.bias - (f.precision - 1);
    least_normal_ = std::ldexp(1.0, 1 - f.bias);
    mpfr_set_prec(x_.backend().data(), 53);
    for (auto* y : {&near_, &far_, &unbounded_}) mpfr_set_prec(y->backend().data(), f.precision);
    mpfr_set_prec(distance_near_.backend().data(), 2300);
    mpfr_set_prec(distance_far_.backend().data(), 2300);
    mpfr_set_emax(4000);
  }

  /// The code and flags of finite, non-zero x under IEEE 754, overflow to infinity, tininess after rounding.
  softamp::Rounded round(double x, softamp::RoundingMode mode) {
    using softamp::RoundingMode;
    mpfr_set_d(x_.backend().data(), x, MPFR_RNDN);
    bool inexact = false;
    double rounded = 0, unbounded = 0;
    if (mode == RoundingMode::kNearestAway) {
      rounded = nearest_away(true, &inexact);
      unbounded = nearest_away(false, nullptr);
    } else if (mode == RoundingMode::kOdd) {
      rounded = to_odd(true, &inexact);
      unbounded = to_odd(false, nullptr);
    } else {
      const mpfr_rnd_t direction = mode == RoundingMode::kNearestEven  ? MPFR_RNDN
                                   : mode == RoundingMode::kTowardZero ? MPFR_RNDZ
                                   : mode == RoundingMode::kUp         ? MPFR_RNDU
                                                                       : MPFR_RNDD;
      inexact = directed(near_, direction, true);
      rounded = mpfr_get_d(near_.backend().data(), MPFR_RNDN);
      directed(unbounded_, direction, false);
      unbounded = mpfr_get_d(unbounded_.backend().data(), MPFR_RNDN);
    }
    const bool negative = std::signbit(x);
    const uint64_t sign = negative ? uint64_t{1} << (f_.exponent_bits + f_.precision - 1) : 0;
    const uint64_t magnitude = code_of(std::fabs(rounded));
    if (magnitude > most()) {
      const bool stops = mode == RoundingMode::kTowardZero || mode == RoundingMode::kOdd ||
                         (mode == RoundingMode::kUp && negative) || (mode == RoundingMode::kDown && !negative);
      const uint8_t flags = softamp::kOverflow | softamp::kInexact;
      if (stops || f_.specials == softamp::Specials::kNone) return {sign | most(), flags};
      if (f_.specials == softamp::Specials::kIeee) return {sign | (most() + 1), flags};
      return {f_.specials == softamp::Specials::kNanOnly ? most() + 1
                                                         : uint64_t{1} << (f_.exponent_bits + f_.precision - 1),
              flags};
    }
    uint8_t flags = inexact ? softamp::kInexact : 0;
    if (inexact && std::fabs(unbounded) < least_normal_) flags |= softamp::kUnderflow;
    if (magnitude == 0 && f_.specials == softamp::Specials::kNegativeZeroNan) return {0, flags};
    return {sign | magnitude, flags};
  }

 private:
  using Number = boost::multiprecision::mpfr_float;

  /// Rounds x_ into `y`; with `bounded` below by the format's quantum. True where inexact.
  bool directed(Number& y, mpfr_rnd_t direction, bool bounded) {
    mpfr_set_emin(bounded ? quantum_ + 1 : -4000);  // MPFR's significands are below one
    int ternary = mpfr_set(y.backend().data(), x_.backend().data(), direction);
    ternary = mpfr_check_range(y.backend().data(), ternary, direction);
    if (bounded) ternary = mpfr_subnormalize(y.backend().data(), ternary, direction);
    mpfr_set_emin(-4000);
    return ternary != 0;
  }

  /// MPFR has no such mode: both neighbours are made, and their exact distances compared.
  double nearest_away(bool bounded, bool* inexact) {
    const bool moved = directed(near_, MPFR_RNDZ, bounded);
    directed(far_, MPFR_RNDA, bounded);
    if (inexact) *inexact = moved;
    mpfr_sub(distance_near_.backend().data(), x_.backend().data(), near_.backend().data(), MPFR_RNDN);
    mpfr_sub(distance_far_.backend().data(), far_.backend().data(), x_.backend().data(), MPFR_RNDN);
    const bool away = mpfr_cmpabs(distance_far_.backend().data(), distance_near_.backend().data()) <= 0;
    return mpfr_get_d((away ? far_ : near_).backend().data(), MPFR_RNDN);
  }

  /// Nor has it this one: of the two neighbours the one whose significand is an odd number of quanta.
  double to_odd(bool bounded, bool* inexact) {
    const bool moved = directed(near_, MPFR_RNDZ, bounded);
    directed(far_, MPFR_RNDA, bounded);
    if (inexact) *inexact = moved;
    const double near = mpfr_get_d(near_.backend().data(), MPFR_RNDN);
    if (!moved) return near;
    int exponent = 0;
    const double significand = std::frexp(std::fabs(near), &exponent);
    const int quantum = exponent - f_.precision;
    const double quanta =
        bounded && quantum < quantum_ ? std::ldexp(std::fabs(near), -quantum_) : std::ldexp(significand, f_.precision);
    return std::fmod(quanta, 2) == 1 ? near : mpfr_get_d(far_.backend().data(), MPFR_RNDN);
  }

  /// The code of a magnitude that the format can hold, the exponent unbounded above.
  uint64_t code_of(double magnitude) const {
    if (magnitude < least_normal_) return static_cast<uint64_t>(std::ldexp(magnitude, -quantum_));
    int exponent = 0;
    const double significand = std::ldexp(std::frexp(magnitude, &exponent), f_.precision);  // of `precision` bits
    const auto field = static_cast<uint64_t>(exponent - 1 + f_.bias);
    return (field << (f_.precision - 1)) + static_cast<uint64_t>(significand) - (uint64_t{1} << (f_.precision - 1));
  }
  uint64_t most() const {
    const uint64_t codes = uint64_t{1} << (f_.exponent_bits + f_.precision - 1);
    if (f_.specials == softamp::Specials::kNanOnly) return codes - 2;
    if (f_.specials != softamp::Specials::kIeee) return codes - 1;
    return codes - (uint64_t{1} << (f_.precision - 1)) - 1;
  }

  softamp::FloatFormat f_;
  int quantum_;
  double least_normal_;
  Number x_, near_, far_, unbounded_, distance_near_, distance_far_;
};

}  // namespace oracle
