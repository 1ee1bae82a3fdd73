// Transposition of rectangles by squares of one cache line each way: lines are read once and written once, whole.
#pragma once

#include <cstddef>
#include <cstdint>

namespace softamp::emu {

/// out[c * out_column + r] = in[r * in_row + c] for r < rows, c < columns; strides in elements of `element` bytes (1,
/// 2, 4, 8). Lines bypass the caches if `stream`, where out and out_column are at lines' starts.
void transpose_tile(size_t element, const std::byte* in, int64_t in_row, std::byte* out, int64_t out_column,
                    int64_t rows, int64_t columns, bool stream);

}  // namespace softamp::emu
