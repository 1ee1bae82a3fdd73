#include "emu/structure/transpose_tile.h"

#include <algorithm>
#include <cstring>

#include "emu/structure/line_writer.h"

namespace softamp::emu {
namespace {

constexpr int kVector = 16;  // bytes: what every machine has; wider ones would wait for memory as long
typedef uint8_t V1 __attribute__((vector_size(kVector)));
typedef uint16_t V2 __attribute__((vector_size(kVector)));
typedef uint32_t V4 __attribute__((vector_size(kVector)));
typedef uint64_t V8 __attribute__((vector_size(kVector)));

/// (a0 b0 a1 b1 ...) of the lower or the upper halves.
inline V1 join_low(V1 a, V1 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline V1 join_high(V1 a, V1 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
inline V2 join_low(V2 a, V2 b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
inline V2 join_high(V2 a, V2 b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
inline V4 join_low(V4 a, V4 b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline V4 join_high(V4 a, V4 b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
inline V8 join_low(V8 a, V8 b) { return __builtin_shufflevector(a, b, 0, 2); }
inline V8 join_high(V8 a, V8 b) { return __builtin_shufflevector(a, b, 1, 3); }

/// A square of as many rows as a vector has lanes. Each of the log2(lanes) rounds joins rows i and i + lanes / 2 lane
/// by lane, which rotates the bits of (row, lane) by one; after all of them row and lane have changed places.
template <class V, class T>
inline void transpose_square(const T* in, int64_t in_row, T* out, int64_t out_column) {
  constexpr int kLanes = kVector / static_cast<int>(sizeof(T));
  V v[kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kLanes; ++r) __builtin_memcpy(&v[r], in + r * in_row, kVector);
#pragma GCC unroll 4
  for (int round = 1; round < kLanes; round *= 2) {
    V w[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes / 2; ++i) {
      w[2 * i] = join_low(v[i], v[i + kLanes / 2]);
      w[2 * i + 1] = join_high(v[i], v[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) v[i] = w[i];
  }
#pragma GCC unroll 16
  for (int c = 0; c < kLanes; ++c) __builtin_memcpy(out + c * out_column, &v[c], kVector);
}

template <class T>
void transpose_by_elements(const T* in, int64_t in_row, T* out, int64_t out_column, int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) out[c * out_column + r] = in[r * in_row + c];
}

constexpr int64_t kLinesAhead = 1;

/// As many rows as a line of the output has elements. What is read soon is asked for: no machine guesses it from rows
/// that lie pages apart.
template <class V, class T>
void transpose_lines(const T* in, int64_t in_row, T* out, int64_t out_column, int64_t columns, bool stream) {
  constexpr int64_t kLanes = kVector / static_cast<int64_t>(sizeof(T)), kLine = kLineBytes / sizeof(T);
  alignas(kLineBytes) T gathered[kLine * kLine];
  for (int64_t c = 0; c < columns; c += kLine) {
    const int64_t width = std::min(kLine, columns - c), whole = width / kLanes * kLanes;
    const T* const from = in + c;
    const bool asks = c + (kLinesAhead + 1) * kLine <= columns;
    for (int64_t i = 0; i < kLine; i += kLanes) {
      if (asks)
        for (int64_t r = i; r < i + kLanes; ++r) __builtin_prefetch(from + r * in_row + kLinesAhead * kLine);
      for (int64_t k = 0; k < whole; k += kLanes)
        transpose_square<V>(from + i * in_row + k, in_row, gathered + k * kLine + i, kLine);
    }
    transpose_by_elements(from + whole, in_row, gathered + whole * kLine, kLine, kLine, width - whole);
    for (int64_t k = 0; k < width; ++k) {
      auto* const to = reinterpret_cast<std::byte*>(out + (c + k) * out_column);
      const auto* const line = reinterpret_cast<const std::byte*>(gathered + k * kLine);
      if (stream)
        stream_line(to, line);
      else
        std::memcpy(to, line, kLineBytes);
    }
  }
}

template <class V, class T>
void transpose_all(const T* in, int64_t in_row, T* out, int64_t out_column, int64_t rows, int64_t columns,
                   bool stream) {
  constexpr int64_t kLanes = kVector / static_cast<int64_t>(sizeof(T)), kLine = kLineBytes / sizeof(T);
  int64_t r = 0;
  for (; r + kLine <= rows; r += kLine)
    transpose_lines<V>(in + r * in_row, in_row, out + r, out_column, columns, stream);
  // Rows that do not fill a line.
  for (; r + kLanes <= rows; r += kLanes) {
    const int64_t whole = columns / kLanes * kLanes;
    for (int64_t c = 0; c < whole; c += kLanes)
      transpose_square<V>(in + r * in_row + c, in_row, out + c * out_column + r, out_column);
    transpose_by_elements(in + r * in_row + whole, in_row, out + whole * out_column + r, out_column, kLanes,
                          columns - whole);
  }
  transpose_by_elements(in + r * in_row, in_row, out + r, out_column, rows - r, columns);
}

template <class V, class T>
void transpose_of(const std::byte* in, int64_t in_row, std::byte* out, int64_t out_column, int64_t rows,
                  int64_t columns, bool stream) {
  transpose_all<V>(reinterpret_cast<const T*>(in), in_row, reinterpret_cast<T*>(out), out_column, rows, columns,
                   stream);
}

}  // namespace

void transpose_tile(size_t element, const std::byte* in, int64_t in_row, std::byte* out, int64_t out_column,
                    int64_t rows, int64_t columns, bool stream) {
  const auto of = element == 1   ? transpose_of<V1, uint8_t>
                  : element == 2 ? transpose_of<V2, uint16_t>
                  : element == 4 ? transpose_of<V4, uint32_t>
                                 : transpose_of<V8, uint64_t>;
  of(in, in_row, out, out_column, rows, columns, stream);
}

}  // namespace softamp::emu
