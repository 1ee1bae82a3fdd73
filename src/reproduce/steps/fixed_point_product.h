// Products of matrices whose cells hold integers (codes of fixed point) or floats, as fast as the machine has vectors.
//
// Every element is acc = start; acc = acc + a[i][k] b[k][j] for k = 0, 1, ..., in this order, for any vectors and
// threads: the same bits everywhere.
//   codes   in binary64, where all of it is exact: |code| <= 2^15, a product is below 2^30 + 1, so that the start
//   (below
//           2^32) and 2^22 products stay below 2^53, and every integer up to there is a binary64 number
//   floats  in fp32: each product and each sum is rounded to fp32, nearest even, as fp::mul and fp::add round them (the
//           machine's own float, which numerics is tested against; contraction to fused operations is off everywhere)
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace softamp::reproduce {

/// rows x columns numbers; a row takes `stride` places, an odd multiple of 8 (so that a column does not fall on few
/// sets of a cache), of which those after `columns` are zeros.
struct Grid {
  size_t rows = 0, columns = 0, stride = 0;
  std::vector<double> cells;

  Grid() = default;
  Grid(size_t rows_, size_t columns_)
      : rows(rows_), columns(columns_), stride(((columns_ + 7) / 8 | 1) * 8), cells(rows_ * stride) {}
  double* row(size_t i) { return cells.data() + i * stride; }
  const double* row(size_t i) const { return cells.data() + i * stride; }
  std::span<double> line(size_t i) { return {row(i), columns}; }
  std::span<const double> line(size_t i) const { return {row(i), columns}; }
};

/// `out` = transposed `in`; out must have its shape.
void transpose(const Grid& in, Grid& out);

/// The type of cells, which decides the arithmetic.
enum class Cells { kCodes, kFloats };

/// Rows [first, last) of out = start + a b; `start`: one row of out.stride numbers, or nullptr for zeros. The shapes
/// must fit. `portable`: without the vectors of this machine; same bits.
void multiply_rows(Cells cells, const Grid& a, const Grid& b, const double* start, Grid& out, size_t first, size_t last,
                   bool portable = false);

}  // namespace softamp::reproduce
