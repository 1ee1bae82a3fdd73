// The lines that `softamp compute` reads and writes, those of TestFloat's generator and verifier: fields of hexadecimal
// digits separated by one blank, each as wide as its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::program {

/// Digits of each field; the widths say what a line may hold.
struct LineShape {
  std::vector<int> operand_digits;  ///< 1..3 operands
  int result_digits = 0;            ///< 1 for a truth value
};

/// A block of cases by columns: what one call of an operation works on.
struct CaseBlock {
  static constexpr size_t kCapacity = 1024;
  size_t count = 0;
  uint64_t operand[3][kCapacity];
  uint32_t random[kCapacity];
  uint64_t result[kCapacity];
  uint8_t flags[kCapacity];
};

/// Reads complete lines from the front of `text` into `block`, until it is full; returns the bytes read. A field may
/// have fewer digits than its type, in either case of letters. `first_line` counts from 1. Throws UsageError with the
/// line's number, what is wrong, and what was expected; the lines before it are then in `block`.
size_t read_cases(std::string_view text, const LineShape& shape, uint64_t first_line, CaseBlock& block);

/// Appends the first `count` cases: operands, result and the flags' two digits.
void write_cases(const CaseBlock& block, size_t count, const LineShape& shape, std::string& out);

}  // namespace softamp::program
