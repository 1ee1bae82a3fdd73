// The equation of an Einsum of two operands, taken apart: "abd,acd->abc".
#pragma once

#include <map>
#include <string>

#include "softamp/tensor/shape.h"

namespace softamp {

/// Every letter names an axis. What an Einsum computes is a batch of matrix products:
///
///   batch    letters of both terms and of the result
///   rows     of one term and the result; columns: of the other term and the result
///   inner    of both terms, not of the result: their products are summed
///
/// `left` (0, 1) is the term that the rows belong to: the one whose own letters the result names first [=0]. Batch,
/// rows and columns are in the order of the result, inner in that of the first term, the last letter running fastest.
// implements: N111
struct EinsumEquation {
  std::string terms[2], result;
  std::string batch, rows, columns, inner;
  int left = 0;

  /// Throws std::invalid_argument, saying what was expected, for anything but two terms and a result of letters, none
  /// twice in a term, each of them in two of the three.
  explicit EinsumEquation(const std::string& equation);

  /// The extent of every letter. Throws std::invalid_argument for a rank that is not the term's, or unlike extents.
  std::map<char, int64_t> extents(const Shape& first, const Shape& second) const;
};

}  // namespace softamp
