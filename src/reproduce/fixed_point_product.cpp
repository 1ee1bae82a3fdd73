#include "src/reproduce/fixed_point_product.h"

#include <algorithm>
#include <cstring>

// Vectors of eight numbers are the compiler's own: with AVX-512 one register, with AVX2 two, else four of SSE2 or NEON.
// The body is one; it is compiled once for each set of instructions, and the machine is asked which it has.
#define SOFTAMP_BODY [[gnu::always_inline]] inline

namespace softamp::reproduce {
namespace {

typedef double Eight __attribute__((vector_size(64)));

constexpr size_t kWide = 8;

/// kRows x 8 numbers of `out` at (i, j).
template <size_t kRows>
SOFTAMP_BODY void tile(const Grid& a, const Grid& b, const double* start, Grid& out, size_t i, size_t j) {
  Eight sums[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    sums[r] = Eight{};
    if (start) std::memcpy(&sums[r], start + j, sizeof(Eight));
  }
  const double* left = a.row(i);
  for (size_t k = 0; k < a.columns; ++k) {
    Eight right;
    std::memcpy(&right, b.row(k) + j, sizeof(Eight));
    for (size_t r = 0; r < kRows; ++r) sums[r] = sums[r] + left[r * a.stride + k] * right;
  }
  for (size_t r = 0; r < kRows; ++r) std::memcpy(out.row(i + r) + j, &sums[r], sizeof(Eight));
}

template <size_t kRows>
SOFTAMP_BODY void rows_of(const Grid& a, const Grid& b, const double* start, Grid& out, size_t first, size_t last) {
  for (size_t j = 0; j < out.stride; j += kWide) {
    size_t i = first;
    for (; i + kRows <= last; i += kRows) tile<kRows>(a, b, start, out, i, j);
    for (; i < last; ++i) tile<1>(a, b, start, out, i, j);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void with_avx512(const Grid& a, const Grid& b, const double* start, Grid& out,
                                                    size_t first, size_t last) {
  rows_of<8>(a, b, start, out, first, last);
}
__attribute__((target("avx2"))) void with_avx2(const Grid& a, const Grid& b, const double* start, Grid& out,
                                               size_t first, size_t last) {
  rows_of<4>(a, b, start, out, first, last);
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

void multiply_rows(const Grid& a, const Grid& b, const double* start, Grid& out, size_t first, size_t last,
                   bool portable) {
#if defined(__x86_64__)
  static const bool kAvx512 = __builtin_cpu_supports("avx512f"), kAvx2 = __builtin_cpu_supports("avx2");
  if (!portable && kAvx512) return with_avx512(a, b, start, out, first, last);
  if (!portable && kAvx2) return with_avx2(a, b, start, out, first, last);
#endif
  static_cast<void>(portable);
  rows_of<2>(a, b, start, out, first, last);
}

}  // namespace softamp::reproduce
