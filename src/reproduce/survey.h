// What the experiments on sums and products share: which formats they take, the n at which they look, the unit
// roundoffs of the bounds, and the variance of one stochastic rounding.
//
// The bounds are those of M. P. Connolly, N. J. Higham and T. Mary, "Stochastic rounding and its probabilistic backward
// error analysis", SIAM J. Sci. Comput. 43(1), 2021, and of the survey of M. Croci, M. Fasi, N. J. Higham, T. Mary and
// M. Mikaitis, "Stochastic rounding: implementation, error analysis and applications", R. Soc. Open Sci. 9, 2022.
#pragma once

#include "src/reproduce/experiment.h"

namespace softamp::reproduce::survey {

/// The request's formats, or `usual` where it names none. Throws std::invalid_argument for one of more than 16 bits,
/// and for one whose numbers do not reach 2^exponent.
std::vector<FloatFormat> narrow_formats(const Request& request, const std::string& experiment,
                                        const std::vector<FloatFormat>& usual, int exponent);

/// The request's random bits, or `usual`. Throws std::invalid_argument outside 1..32.
int random_bits_of(const Request& request, const std::string& experiment, int usual);

/// Their names, for the settings.
Json names_of(const std::vector<FloatFormat>& formats);

/// A rounding site of its own for each format, so that no two runs of an experiment read the same random words.
/// kind: (0..15)
uint32_t operation_of(const FloatFormat& format, uint32_t kind = 0);

/// round(from (to/from)^(i / (count - 1))), i = 0 .. count - 1.
std::vector<uint64_t> log_spaced(double from, double to, int count);

/// 2^-p: the greatest relative error of a rounding to nearest.
double nearest_roundoff(const FloatFormat& format);
/// 2^(1-p): of a stochastic rounding.
double stochastic_roundoff(const FloatFormat& format);

/// n u / (1 - n u), at most 1: no error of a sum of positive numbers that falls short is greater. It is 1 from
/// n u = 1/2 on, where it says nothing: bound_tells() is false there.
double deterministic_bound(double n, double u);
bool bound_tells(double n, double u);
/// sqrt(n) u, at most 1.
double root_bound(double n, double u);

/// How many times sqrt(n) u the error may come to, so that 2 n exp(-lambda^2 / 2) is `chance`.
double lambda_for(double n, double chance);

/// The quantum of the binade of |x|, a subnormal's where x is tiny.
double quantum_at(const FloatFormat& format, double x);

/// Variance of rounding the positive number `exact` stochastically: d (1 - d) q^2, d its place between two neighbours q
/// apart; 0 for a number of the format.
class RoundingVariance {
 public:
  explicit RoundingVariance(const FloatFormat& format) : format_(format) {}
  double operator()(double exact) const;

 private:
  FloatFormat format_;
};

/// The survey that these experiments are of.
inline constexpr const char* kPublication =
    "M. Croci, M. Fasi, N. J. Higham, T. Mary, M. Mikaitis, \"Stochastic rounding: implementation, error analysis and "
    "applications\", Royal Society Open Science 9, 2022";

/// Six significant digits: "0.0123457".
std::string six_digits(double value);

/// A number for a table: null where it is not finite.
Json cell(double value);

Check judged(std::string what, Against against, std::string ours, std::string theirs, bool agrees);

}  // namespace softamp::reproduce::survey
