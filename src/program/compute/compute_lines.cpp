#include "src/program/compute/compute_lines.h"

#include "src/program/program.h"
#include "src/text/joined.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

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

/// A field of a line that is read: where its value goes, and how messages call it.
struct Field {
  const char* name;
  int number;  ///< of an operand, from 1; 0 for others
  int bits;
  uint64_t* column;

  int digits() const { return digits_of(bits); }
  std::string text() const { return name + (number ? " " + std::to_string(number) : std::string()); }
};

struct Fields {
  Field all[6];
  size_t count = 0;
  size_t length = 0;  ///< of a line of full width, its newline included

  Fields(const LineShape& shape, CaseBlock& block) {
    for (int i = 0; i < shape.operands; ++i) add({"operand", i + 1, shape.operand_bits, block.operand[i]});
    if (shape.field_bits > 0) add({"random field", 0, shape.field_bits, block.field});
    if (!shape.judged) return;
    add({"result", 0, shape.result_bits, block.told_result});
    add({"flags", 0, kFlagBits, block.told_flags});
  }

 private:
  static constexpr int kFlagBits = 8;
  void add(const Field& field) {
    all[count++] = field;
    length += static_cast<size_t>(field.digits()) + 1;
  }
};

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

[[noreturn]] void refuse(uint64_t line, const std::string& found, const LineShape& shape, const Fields& fields) {
  std::string expected = std::to_string(shape.operands) + " hexadecimal operand" + (shape.operands > 1 ? "s" : "");
  if (shape.field_bits > 0) expected += ", a random field of " + std::to_string(shape.field_bits) + " bits";
  if (shape.judged) expected += ", result and flags";
  expected += (fields.count > 1 ? " separated by one blank, of at most " : ", of at most ");
  expected += joined(std::span(fields.all).first(fields.count), ", ", &Field::digits);
  throw UsageError("standard input, line " + std::to_string(line) + ": " + found + "; expected " + expected +
                   " digits");
}

/// Any line that has not the full width, and any that is wrong.
void read_case_slowly(std::string_view line, const LineShape& shape, const Fields& fields, uint64_t number,
                      size_t row) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  size_t at = 0;
  for (size_t i = 0; i < fields.count; ++i) {
    const Field& f = fields.all[i];
    const std::string which = f.text();
    if (at >= line.size()) refuse(number, which + " is missing", shape, fields);
    const size_t blank = std::min(line.find(' ', at), line.size());
    const std::string_view field = line.substr(at, blank - at);
    const std::string shown = which + " '" + std::string(field.substr(0, 40)) + "'";
    uint8_t bad = field.empty() ? kNotHex : 0;
    const uint64_t value = read_digits(field.data(), static_cast<int>(field.size()), bad);
    if (bad & kNotHex) refuse(number, shown + " is not hexadecimal", shape, fields);
    if (field.size() > static_cast<size_t>(f.digits())) refuse(number, shown + " is too wide", shape, fields);
    if (f.bits < 64 && value >> f.bits != 0)
      refuse(number, shown + " has more than " + std::to_string(f.bits) + " bits", shape, fields);
    f.column[row] = value;
    at = blank + 1;
  }
  if (at <= line.size()) refuse(number, "extra field '" + std::string(line.substr(at, 40)) + "'", shape, fields);
}

inline char* put_digits(char* out, uint64_t value, int digits) {
  if (digits & 1) *out++ = kByteDigits[2 * ((value >> (4 * (digits - 1))) & 15) + 1];
  for (int shift = 8 * (digits / 2) - 8; shift >= 0; shift -= 8, out += 2)
    std::memcpy(out, &kByteDigits[2 * (value >> shift & 255)], 2);
  return out;
}

}  // namespace

size_t read_cases(std::string_view text, const LineShape& shape, uint64_t first_line, CaseBlock& block) {
  const Fields fields(shape, block);
  const char* at = text.data();
  const char* const end = at + text.size();
  for (block.count = 0; block.count < CaseBlock::kCapacity; ++block.count) {
    const size_t row = block.count;
    if (static_cast<size_t>(end - at) >= fields.length) {
      uint8_t bad = 0;
      const char* next = at;
      for (size_t i = 0; i < fields.count; ++i) {
        const Field& f = fields.all[i];
        const uint64_t value = read_digits(next, f.digits(), bad);
        f.column[row] = value;
        next += f.digits();
        const bool too_many_bits = (f.bits & 3) != 0 && value >> f.bits != 0;
        const bool separated = *next == (i + 1 < fields.count ? ' ' : '\n');
        bad = static_cast<uint8_t>(bad | (separated && !too_many_bits ? 0 : kNotHex));
        ++next;
      }
      if (!(bad & kNotHex)) {
        at = next;
        continue;
      }
    }
    const char* const newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (newline == nullptr) break;
    read_case_slowly({at, newline}, shape, fields, first_line + row, row);
    at = newline + 1;
  }
  return static_cast<size_t>(at - text.data());
}

void write_cases(const CaseBlock& block, size_t count, const LineShape& shape, std::string& out) {
  const int operand = digits_of(shape.operand_bits), field = digits_of(shape.field_bits),
            result = digits_of(shape.result_bits);
  const int length = shape.operands * (operand + 1) + (field ? field + 1 : 0) + result + 1 + 3;
  const size_t before = out.size();
  out.resize(before + count * static_cast<size_t>(length));
  char* at = out.data() + before;
  for (size_t row = 0; row < count; ++row) {
    for (int i = 0; i < shape.operands; ++i) {
      at = put_digits(at, block.operand[i][row], operand);
      *at++ = ' ';
    }
    if (field) {
      at = put_digits(at, block.field[row], field);
      *at++ = ' ';
    }
    at = put_digits(at, block.result[row], result);
    *at++ = ' ';
    at = put_digits(at, block.flags[row], 2);
    *at++ = '\n';
  }
}

void write_lines(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UsageError(std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::string operands_text(const CaseBlock& block, size_t row, const LineShape& shape) {
  std::string text;
  const auto add = [&text](uint64_t value, int bits) {
    char digits[16];
    const char* const end = put_digits(digits, value, digits_of(bits));
    text += (text.empty() ? "" : " ") + std::string(static_cast<const char*>(digits), end);
  };
  for (int i = 0; i < shape.operands; ++i) add(block.operand[i][row], shape.operand_bits);
  if (shape.field_bits > 0) add(block.field[row], shape.field_bits);
  return text;
}

std::string result_text(uint64_t result, uint64_t flags, const LineShape& shape) {
  char digits[20];
  char* end = put_digits(digits, result, digits_of(shape.result_bits));
  *end++ = ' ';
  return std::string(static_cast<char*>(digits), put_digits(end, flags, 2));
}

}  // namespace softamp::program
