// Tables of results: what was found, before anybody says how it is shown. csv.h, latex.h and text.h show it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace softamp::results {

/// Nothing, yes or no, a number, or a text. Nothing is what there is not, such as the deviation of a single run; a NaN
/// is a number that was found.
class Cell {
 public:
  using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string>;

  Cell() = default;
  template <std::integral T>
  Cell(T number) {  // NOLINT(google-explicit-constructor): rows are written as lists
    if constexpr (std::same_as<T, bool>)
      value_ = number;
    else if constexpr (std::unsigned_integral<T>)
      value_ = uint64_t{number};
    else
      value_ = int64_t{number};
  }
  Cell(double number) : value_(number) {}                     // NOLINT(google-explicit-constructor)
  Cell(std::string text) : value_(std::move(text)) {}         // NOLINT(google-explicit-constructor)
  Cell(std::string_view text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* text) : value_(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  template <class T>
  Cell(const std::optional<T>& number) {  // NOLINT(google-explicit-constructor)
    if (number) *this = Cell(*number);
  }

  const Value& value() const { return value_; }

 private:
  Value value_;
};

using Row = std::vector<Cell>;

/// A number that is NaN where there is none.
inline Cell number_or_nothing(double number) { return number == number ? Cell(number) : Cell(); }

enum class Shown : uint8_t { kEverywhere, kToPeople, kToPrograms };

struct Column {
  std::string key;                   ///< for programs, unique in the table: "error_of_bound"
  std::string head{};                ///< for people: "error/bound" [=the key]
  bool right = false;                ///< for people: aligned right, as numbers are
  Shown shown = Shown::kEverywhere;  ///< CSV is for programs; text and LaTeX are for people
  std::optional<int> digits{};       ///< for people: significant digits of a number (1 .. 17) [=all]
  std::optional<int> places{};       ///< for people: places after its point instead (0 or more)

  const std::string& title() const { return head.empty() ? key : head; }
};

/// Rows have as many cells as there are columns.
struct Table {
  std::string title{};  ///< one line [=none]
  std::vector<Column> columns;
  std::vector<Row> rows{};
};

}  // namespace softamp::results
