#include "src/program/compute/compute_lines.h"

#include "src/program/program.h"

#include <array>
#include <cstring>
#include <numeric>

namespace softamp::program {
namespace {

constexpr uint8_t kNotHex = 0x80;

/// Value of each hexadecimal digit; kNotHex for every other byte.
constexpr std::array<uint8_t, 256> make_digit_values() {
  std::array<uint8_t, 256> values{};
  values.fill(kNotHex);
  for (uint8_t d = 0; d < 10; ++d) values['0' + d] = d;
  for (uint8_t d = 0; d < 6; ++d) values['A' + d] = values['a' + d] = static_cast<uint8_t>(10 + d);
  return values;
}
constexpr std::array<uint8_t, 256> kDigitValues = make_digit_values();

/// The two digits of each byte, one after the other.
constexpr std::array<char, 512> make_byte_digits() {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::array<char, 512> digits{};
  for (size_t b = 0; b < 256; ++b) {
    digits[2 * b] = kDigits[b >> 4];
    digits[2 * b + 1] = kDigits[b & 15];
  }
  return digits;
}
constexpr std::array<char, 512> kByteDigits = make_byte_digits();

size_t operand_line_length(const LineShape& shape) {
  size_t length = 0;
  for (const int digits : shape.operand_digits) length += static_cast<size_t>(digits) + 1;
  return length;
}

/// Reads `digits` hexadecimal digits; `bad` gets kNotHex if one is not.
inline uint64_t read_digits(const char* at, int digits, uint8_t& bad) {
  uint64_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const uint8_t digit = kDigitValues[static_cast<unsigned char>(at[i])];
    bad = static_cast<uint8_t>(bad | digit);
    value = value << 4 | digit;
  }
  return value;
}

[[noreturn]] void refuse(uint64_t line, const std::string& found, const LineShape& shape) {
  std::string expected = std::to_string(shape.operand_digits.size()) + " hexadecimal operand" +
                         (shape.operand_digits.size() > 1 ? "s separated by one blank" : "") + ", of at most ";
  for (size_t i = 0; i < shape.operand_digits.size(); ++i)
    expected += (i ? ", " : "") + std::to_string(shape.operand_digits[i]);
  throw UsageError("standard input, line " + std::to_string(line) + ": " + found + "; expected " + expected +
                   " digits");
}

/// Any line that has not the full width.
void read_case_slowly(std::string_view line, const LineShape& shape, uint64_t number, size_t row, CaseBlock& block) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  size_t at = 0;
  for (size_t i = 0; i < shape.operand_digits.size(); ++i) {
    const size_t width = static_cast<size_t>(shape.operand_digits[i]);
    const std::string which = "operand " + std::to_string(i + 1);
    if (at >= line.size()) refuse(number, which + " is missing", shape);
    const size_t blank = std::min(line.find(' ', at), line.size());
    const std::string_view field = line.substr(at, blank - at);
    const std::string shown = which + " '" + std::string(field.substr(0, 40)) + "'";
    uint8_t bad = field.empty() ? kNotHex : 0;
    const uint64_t value = read_digits(field.data(), static_cast<int>(field.size()), bad);
    if (bad & kNotHex) refuse(number, shown + " is not hexadecimal", shape);
    if (field.size() > width) refuse(number, shown + " is too wide", shape);
    block.operand[i][row] = value;
    at = blank + 1;
  }
  if (at <= line.size()) refuse(number, "extra field '" + std::string(line.substr(at, 40)) + "'", shape);
}

inline char* put_digits(char* out, uint64_t value, int digits) {
  if (digits & 1) *out++ = kByteDigits[2 * ((value >> (4 * (digits - 1))) & 15) + 1];
  for (int shift = 8 * (digits / 2) - 8; shift >= 0; shift -= 8, out += 2)
    std::memcpy(out, &kByteDigits[2 * (value >> shift & 255)], 2);
  return out;
}

}  // namespace

size_t read_cases(std::string_view text, const LineShape& shape, uint64_t first_line, CaseBlock& block) {
  const size_t length = operand_line_length(shape);
  const size_t operands = shape.operand_digits.size();
  const char* at = text.data();
  const char* const end = at + text.size();
  for (block.count = 0; block.count < CaseBlock::kCapacity; ++block.count) {
    const size_t row = block.count;
    if (static_cast<size_t>(end - at) >= length) {
      uint8_t bad = 0;
      const char* field = at;
      for (size_t i = 0; i < operands; ++i) {
        const int digits = shape.operand_digits[i];
        block.operand[i][row] = read_digits(field, digits, bad);
        field += digits;
        bad = static_cast<uint8_t>(bad | (*field == (i + 1 < operands ? ' ' : '\n') ? 0 : kNotHex));
        ++field;
      }
      if (!(bad & kNotHex)) {
        at = field;
        continue;
      }
    }
    const char* const newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (newline == nullptr) break;
    read_case_slowly({at, newline}, shape, first_line + row, row, block);
    at = newline + 1;
  }
  return static_cast<size_t>(at - text.data());
}

void write_cases(const CaseBlock& block, size_t count, const LineShape& shape, std::string& out) {
  const size_t length = operand_line_length(shape) + static_cast<size_t>(shape.result_digits) + 1 + 3;
  const size_t before = out.size();
  out.resize(before + count * length);
  char* at = out.data() + before;
  for (size_t row = 0; row < count; ++row) {
    for (size_t i = 0; i < shape.operand_digits.size(); ++i) {
      at = put_digits(at, block.operand[i][row], shape.operand_digits[i]);
      *at++ = ' ';
    }
    at = put_digits(at, block.result[row], shape.result_digits);
    *at++ = ' ';
    at = put_digits(at, block.flags[row], 2);
    *at++ = '\n';
  }
}

}  // namespace softamp::program
