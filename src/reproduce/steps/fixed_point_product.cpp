#include "src/reproduce/steps/fixed_point_product.h"

#include <algorithm>
#include <cstring>

// Vectors of eight numbers are the compiler's own: with AVX-512 one register, with AVX2 two, else four of SSE2 or NEON.
// One body is compiled for each instruction set, and chosen at run time.
#define SOFTAMP_BODY [[gnu::always_inline]] inline

namespace softamp::reproduce {
namespace {

typedef double Eight __attribute__((vector_size(64)));
typedef float EightFloats __attribute__((vector_size(32)));

constexpr size_t kWide = 8;

/// Eight cells from `from` on, as numbers of the arithmetic V; cells that hold floats are floats exactly.
template <class V>
SOFTAMP_BODY void load(const double* from, V& to) {
  Eight cells;
  std::memcpy(&cells, from, sizeof cells);
  to = __builtin_convertvector(cells, V);
}

/// kRows x 8 numbers of `out` at (i, j).
template <class V, class T, size_t kRows>
SOFTAMP_BODY void tile(const Grid& a, const Grid& b, const double* start, Grid& out, size_t i, size_t j) {
  V sums[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    sums[r] = V{};
    if (start) load(start + j, sums[r]);
  }
  const double* left = a.row(i);
  for (size_t k = 0; k < a.columns; ++k) {
    V right;
    load(b.row(k) + j, right);
    for (size_t r = 0; r < kRows; ++r) sums[r] = sums[r] + static_cast<T>(left[r * a.stride + k]) * right;
  }
  for (size_t r = 0; r < kRows; ++r) {
    const Eight cells = __builtin_convertvector(sums[r], Eight);
    std::memcpy(out.row(i + r) + j, &cells, sizeof cells);
  }
}

template <class V, class T, size_t kRows>
SOFTAMP_BODY void rows_of(const Grid& a, const Grid& b, const double* start, Grid& out, size_t first, size_t last) {
  for (size_t j = 0; j < out.stride; j += kWide) {
    size_t i = first;
    for (; i + kRows <= last; i += kRows) tile<V, T, kRows>(a, b, start, out, i, j);
    for (; i < last; ++i) tile<V, T, 1>(a, b, start, out, i, j);
  }
}

template <size_t kRows>
SOFTAMP_BODY void rows_of(Cells cells, const Grid& a, const Grid& b, const double* start, Grid& out, size_t first,
                          size_t last) {
  if (cells == Cells::kCodes)
    rows_of<Eight, double, kRows>(a, b, start, out, first, last);
  else
    rows_of<EightFloats, float, kRows>(a, b, start, out, first, last);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void with_avx512(Cells cells, const Grid& a, const Grid& b, const double* start,
                                                    Grid& out, size_t first, size_t last) {
  rows_of<8>(cells, a, b, start, out, first, last);
}
__attribute__((target("avx2"))) void with_avx2(Cells cells, const Grid& a, const Grid& b, const double* start,
                                               Grid& out, size_t first, size_t last) {
  rows_of<4>(cells, a, b, start, out, first, last);
}
#endif

}  // namespace

void transpose(const Grid& in, Grid& out) {
  constexpr size_t kBlock = 16;  // so that both sides stay within a few cache lines
  for (size_t i0 = 0; i0 < in.rows; i0 += kBlock)
    for (size_t j0 = 0; j0 < in.columns; j0 += kBlock)
      for (size_t i = i0; i < std::min(in.rows, i0 + kBlock); ++i)
        for (size_t j = j0; j < std::min(in.columns, j0 + kBlock); ++j) out.row(j)[i] = in.row(i)[j];
}

void multiply_rows(Cells cells, const Grid& a, const Grid& b, const double* start, Grid& out, size_t first, size_t last,
                   bool portable) {
#if defined(__x86_64__)
  static const bool kAvx512 = __builtin_cpu_supports("avx512f"), kAvx2 = __builtin_cpu_supports("avx2");
  if (!portable && kAvx512) return with_avx512(cells, a, b, start, out, first, last);
  if (!portable && kAvx2) return with_avx2(cells, a, b, start, out, first, last);
#endif
  static_cast<void>(portable);
  rows_of<2>(cells, a, b, start, out, first, last);
}

}  // namespace softamp::reproduce
