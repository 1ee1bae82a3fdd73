// How a result is judged: each kind of comparison, with what is said of both sides made of the numbers that are
// compared.
#pragma once

#include <functional>
#include <string>

#include "src/reproduce/experiment.h"

namespace softamp::reproduce {

/// Both texts are the same; `note` follows theirs.
Check equal(std::string what, Against against, std::string ours, const std::string& theirs,
            const std::string& note = "");

/// `holds`, told as "below" if it does and as "not below" if not, for example.
Check holds(std::string what, Against against, bool holds, const std::string& if_so, const std::string& if_not);

/// `count`, of what breaks a rule, is 0: told as `none`, else as "3 scales differ".
Check none_of(std::string what, Against against, int count, const std::string& none, const std::string& some,
              std::string theirs);

/// `value` is at most `bound`, both to six digits, with what follows each.
Check at_most(std::string what, double value, const std::string& unit, double bound, const std::string& note = "");

/// A distance in standard errors, of either sign: at most 5, which a normal variate exceeds once in 1.7 million.
Check few_standard_errors(std::string what, double off, const std::string& unit = "", const std::string& note = "");

/// `value` lies within `margin` of `centre`, or off by `slack` more. The texts: `print` of the first two, and the
/// margin.
struct Margin {
  double centre, margin;
  double slack = 0;  ///< [=0] of rounding, too small to be told
};
Check within(std::string what, double value, const Margin& expected, const std::function<std::string(double)>& print,
             const std::string& margin, const std::string& note = "");

/// `value` lies between the two, or off by `slack` more: "0.5 .. 1.5".
struct Interval {
  double least, greatest;
  double slack = 0;  ///< [=0]
};
Check between(std::string what, double value, const Interval& expected, const std::function<std::string(double)>& print,
              const std::string& note = "");

/// The first is less than the second, both to six digits: "0.01 and 0.3"; `expected` says so in words.
Check below(std::string what, double first, double second, const std::string& expected);

/// Nothing is published or derived to compare with.
Check recorded(std::string what, std::string ours, std::string theirs = "");

/// The check where it can be judged, else its result recorded, with `theirs` in the place of what it is compared with.
Check judged_if(bool judged, Check check, const std::string& theirs = "");

}  // namespace softamp::reproduce
