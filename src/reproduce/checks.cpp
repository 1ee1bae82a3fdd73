#include "src/reproduce/checks.h"

#include "src/reproduce/survey.h"

#include <cmath>

namespace softamp::reproduce {

Check equal(std::string what, Against against, std::string ours, const std::string& theirs, const std::string& note) {
  const bool same = ours == theirs;
  return {std::move(what), against, std::move(ours), theirs + note, same};
}

Check holds(std::string what, Against against, bool holds, const std::string& if_so, const std::string& if_not) {
  return {std::move(what), against, holds ? if_so : if_not, if_so, holds};
}

Check none_of(std::string what, Against against, int count, const std::string& none, const std::string& some,
              std::string theirs) {
  return {std::move(what), against, count == 0 ? none : std::to_string(count) + " " + some, std::move(theirs),
          count == 0};
}

Check at_most(std::string what, double value, const std::string& unit, double bound, const std::string& note) {
  return {std::move(what), Against::kBound, survey::six_digits(value) + unit,
          "at most " + survey::six_digits(bound) + note, value <= bound};
}

Check few_standard_errors(std::string what, double off, const std::string& unit, const std::string& note) {
  constexpr double kMost = 5;
  return {std::move(what), Against::kBound, survey::six_digits(off) + " standard errors" + unit,
          "at most " + survey::six_digits(kMost) + note, std::abs(off) <= kMost};
}

Check within(std::string what, double value, const Margin& expected, const std::function<std::string(double)>& print,
             const std::string& margin, const std::string& note) {
  return {std::move(what), Against::kBound, print(value), print(expected.centre) + " +- " + margin + note,
          std::abs(value - expected.centre) <= expected.margin + expected.slack};
}

Check between(std::string what, double value, const Interval& expected, const std::function<std::string(double)>& print,
              const std::string& note) {
  return {std::move(what), Against::kBound, print(value),
          print(expected.least) + " .. " + print(expected.greatest) + note,
          value >= expected.least - expected.slack && value <= expected.greatest + expected.slack};
}

Check below(std::string what, double first, double second, const std::string& expected) {
  return {std::move(what), Against::kShape, survey::six_digits(first) + " and " + survey::six_digits(second), expected,
          first < second};
}

Check recorded(std::string what, std::string ours, std::string theirs) {
  return {std::move(what), Against::kRecorded, std::move(ours), std::move(theirs), true};
}

Check judged_if(bool judged, Check check, const std::string& theirs) {
  return judged ? std::move(check) : recorded(std::move(check.what), std::move(check.ours), theirs);
}

}  // namespace softamp::reproduce
