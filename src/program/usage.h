// What every command line has, whatever reads it: exit codes, the error of bad input, whole numbers.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace softamp::program {

/// What the process returns; documented in `softamp --help`.
enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,             ///< a comparison or self-test found a difference
  kUsage = 2,                   ///< a bad option, value or input file
  kFloatingPointException = 3,  ///< an enabled floating-point exception stopped the run
  kRankLost = 4,                ///< of several processes one has ended without a word (ExchangeError::kLost)
  kSkipped = 77,                ///< a self-test could not run here: the machine lacks what it tests
};

/// Bad input. The message names the value, the place and what was expected; main prints it and returns kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a whole number, decimal or 0x hexadecimal, within [least, greatest]. Throws UsageError:
/// "--bits: '0': expected a whole number in 1..32".
uint64_t parse_whole(const std::string& place, const std::string& text, uint64_t least, uint64_t greatest);
/// Reads a finite decimal number, 0 or more. Throws UsageError: "--temperature: 'hot': expected a number, 0 or more".
double parse_nonnegative(const std::string& place, const std::string& text);

}  // namespace softamp::program
