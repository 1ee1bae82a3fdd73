#include "softamp/graph/einsum.h"

#include <stdexcept>

namespace softamp {
namespace {

[[noreturn]] void refuse(const std::string& equation, const std::string& why) {
  throw std::invalid_argument("equation is '" + equation + "'; " + why);
}

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

EinsumEquation::EinsumEquation(const std::string& equation) {
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    refuse(equation, "expected two terms and a result, as in 'abc,cd->abd'");
  terms[0] = equation.substr(0, comma);
  terms[1] = equation.substr(comma + 1, arrow - comma - 1);
  result = equation.substr(arrow + 2);
  for (const char c : terms[0] + terms[1] + result)
    if (!is_letter(c))
      refuse(equation,
             std::string("'") + c + "' is no letter; expected a letter for each axis of two operands, and no '...'");
  const auto check = [&](const std::string& term, const std::string& other, const std::string& third) {
    for (size_t i = 0; i < term.size(); ++i) {
      const std::string letter = "'" + term.substr(i, 1) + "'";
      if (has(term.substr(0, i), term[i]))
        refuse(equation, letter + " is twice in '" + term + "'; expected each letter of a term once: no diagonals");
      if (!has(other, term[i]) && !has(third, term[i]))
        refuse(equation, letter + " is in '" + term + "' alone; expected it in a second place: Sum is for single sums");
    }
  };
  check(terms[0], terms[1], result);
  check(terms[1], result, terms[0]);
  check(result, terms[0], terms[1]);

  for (const char c : result) {
    const bool first = has(terms[0], c), second = has(terms[1], c);
    if (first && second) {
      batch += c;
      continue;
    }
    if (rows.empty()) left = first ? 0 : 1;
    (first == (left == 0) ? rows : columns) += c;
  }
  for (const char c : terms[0])
    if (!has(result, c)) inner += c;
}

std::map<char, int64_t> EinsumEquation::extents(const Shape& first, const Shape& second) const {
  const Shape* const shapes[] = {&first, &second};
  std::map<char, int64_t> all;
  for (int t : {0, 1}) {
    const Shape& shape = *shapes[t];
    const std::string operand = "input " + std::to_string(t) + " is " + shape.text();
    if (shape.rank() != static_cast<int>(terms[t].size()))
      throw std::invalid_argument(operand + "; expected rank " + std::to_string(terms[t].size()) +
                                  ", an axis for each of '" + terms[t] + "'");
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto [at, is_new] = all.emplace(terms[t][static_cast<size_t>(axis)], shape[axis]);
      if (!is_new && at->second != shape[axis])
        throw std::invalid_argument(operand + "; expected extent " + std::to_string(at->second) + " for '" + at->first +
                                    "', as input 0 has");
    }
  }
  return all;
}

}  // namespace softamp
