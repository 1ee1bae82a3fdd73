// The lines that `softamp compute` and `softamp vectors` read and write, those of TestFloat's generator and verifier:
// fields of hexadecimal digits separated by one blank, each as wide as its type. Between operands and result there may
// be a random field, which TestFloat does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softamp::program {

/// Bits of each field; they say what a line may hold. A field has as many digits as its bits need.
struct LineShape {
  int operands = 0;      ///< 1..3
  int operand_bits = 0;  ///< of each
  int field_bits = 0;    ///< of the random field; 0: there is none
  int result_bits = 0;   ///< 1 for a truth value
  bool judged = false;   ///< lines that are read hold result and flags, too
};

constexpr int digits_of(int bits) { return (bits + 3) / 4; }

/// A block of cases by columns: what one call of an operation works on.
struct CaseBlock {
  static constexpr size_t kCapacity = 1024;
  size_t count = 0;
  uint64_t operand[3][kCapacity];
  uint64_t field[kCapacity];   ///< the random field as it was read
  uint32_t random[kCapacity];  ///< R
  uint64_t result[kCapacity];
  uint8_t flags[kCapacity];
  uint64_t told_result[kCapacity], told_flags[kCapacity];  ///< of judged lines
};

/// Reads complete lines from the front of `text` into `block`, until it is full; returns the bytes read. A field may
/// have fewer digits than its type, in either case of letters. `first_line` counts from 1. Throws UsageError with the
/// line's number, what is wrong, and what was expected; the lines before it are then in `block`.
size_t read_cases(std::string_view text, const LineShape& shape, uint64_t first_line, CaseBlock& block);

/// Appends the first `count` cases: operands, random field, result and the flags' two digits.
void write_cases(const CaseBlock& block, size_t count, const LineShape& shape, std::string& out);

/// Writes to standard output at once, in as large pieces as the system takes. Throws UsageError with the reason.
void write_lines(std::string_view text);

/// One case without result and flags, and one with them: "3C00 3C01", "4000 01".
std::string operands_text(const CaseBlock& block, size_t row, const LineShape& shape);
std::string result_text(uint64_t result, uint64_t flags, const LineShape& shape);

}  // namespace softamp::program
