#include "emu/structure/copy_box.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/parallel.h"
#include "emu/structure/line_writer.h"
#include "emu/structure/transpose_tile.h"

namespace softamp::emu {
namespace {

constexpr int64_t kRowBytes = 1 << 16;  // long rows are cut, so that threads can share a single row
constexpr int64_t kTileBytes = 256;     // transpositions copy squares of four lines each way
constexpr int64_t kBlockBytes = 4096;   // past the caches larger ones, for which few pages are entered
constexpr int64_t kOddBlockBytes =
    512;  // the same where the output's lines are cut, and come back for their other part
constexpr int64_t kAskedBytes = 512, kAheadBytes = 4096;
constexpr int64_t kGrainBytes = 1 << 18;  // less is not worth a second thread

int64_t pieces(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }

template <class T>
void copy_by_elements(const std::byte* in, std::byte* out, int64_t columns, int64_t in_column, int64_t out_column,
                      int64_t rows, int64_t in_row, int64_t out_row) {
  const T* from = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(out);
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) to[c * out_column + r * out_row] = from[c * in_column + r * in_row];
}

}  // namespace

CopyBox::CopyBox(const kernel::StructureMap& map, size_t element) : element_(element) {
  engine::CopyGeometry box = engine::copy_geometry(map);
  in_base_ = box.in_base;
  out_base_ = box.out_base;
  elements_ = box.elements;
  outer_ = std::move(box.axes);
  if (elements_ > 0) choose_units();
}

void CopyBox::choose_units() {
  if (outer_.empty()) return;
  row_ = outer_.back();
  outer_.pop_back();
  const int64_t size = static_cast<int64_t>(element_);
  row_piece_ = std::min(row_.extent, kRowBytes / size);
  if (row_.in == 1) return;
  const auto contiguous = std::find_if(outer_.begin(), outer_.end(), [](const Axis& a) { return a.in == 1; });
  if (contiguous == outer_.end()) return;
  column_ = *contiguous;
  outer_.erase(contiguous);
  const bool large = elements_ * size > static_cast<int64_t>(kCopyStreamFrom);
  const bool lines = column_.out * size % static_cast<int64_t>(kLineBytes) == 0;
  const int64_t square = (!large ? kTileBytes : lines ? kBlockBytes : kOddBlockBytes) / size;
  row_piece_ = std::min(row_.extent, square);
  column_piece_ = std::min(column_.extent, square);
}

int64_t CopyBox::units() const {
  int64_t units = pieces(row_.extent, row_piece_) * pieces(column_.extent, column_piece_);
  for (const Axis& a : outer_) units *= a.extent;
  return units;
}

size_t CopyBox::grain() const {
  const int64_t bytes = row_piece_ * column_piece_ * static_cast<int64_t>(element_);
  return static_cast<size_t>(std::max<int64_t>(1, kGrainBytes / bytes));
}

/// Where unit `at` lies, and the ones after it.
struct CopyBox::Places {
  Places(const CopyBox& b, int64_t at)
      : box(b), along(pieces(b.row_.extent, b.row_piece_)), across(pieces(b.column_.extent, b.column_piece_)) {
    r = at % along;
    at /= along;
    c = at % across;
    at /= across;
    in = box.in_base_;
    out = box.out_base_;
    for (size_t a = box.outer_.size(); a-- > 0;) {
      place[a] = at % box.outer_[a].extent;
      at /= box.outer_[a].extent;
      in += place[a] * box.outer_[a].in;
      out += place[a] * box.outer_[a].out;
    }
  }
  void next() {
    if (++r < along) return;
    r = 0;
    if (++c < across) return;
    c = 0;
    for (size_t a = box.outer_.size(); a-- > 0;) {
      const Axis& axis = box.outer_[a];
      in += axis.in;
      out += axis.out;
      if (++place[a] < axis.extent) break;
      in -= axis.in * axis.extent;
      out -= axis.out * axis.extent;
      place[a] = 0;
    }
  }
  // Of a row: its piece's place in the output, in elements, and length.
  int64_t row_begin() const { return out + r * box.row_piece_; }
  int64_t row_length() const { return std::min(box.row_piece_, box.row_.extent - r * box.row_piece_); }

  const CopyBox& box;
  int64_t along, across, r, c;
  int64_t in, out;  // of the rectangle's first element, less r and c
  int64_t place[2 * kernel::StructureMap::kMaxRank] = {};
};

void CopyBox::copy_rectangle(const std::byte* in, std::byte* out, int64_t along, int64_t across, bool stream) const {
  const int64_t size = static_cast<int64_t>(element_);
  const int64_t rows = std::min(row_piece_, row_.extent - along * row_piece_);
  const int64_t columns = std::min(column_piece_, column_.extent - across * column_piece_);
  in += (along * row_piece_ * row_.in + across * column_piece_ * column_.in) * size;
  out += (along * row_piece_ * row_.out + across * column_piece_ * column_.out) * size;
  if (row_.out == 1 && column_.in == 1) {
    const bool lines = place_in_line(out) == 0 && column_.out * size % static_cast<int64_t>(kLineBytes) == 0;
    return transpose_tile(element_, in, row_.in, out, column_.out, rows, columns, stream && lines);
  }
  const auto copy = element_ == 1   ? copy_by_elements<uint8_t>
                    : element_ == 2 ? copy_by_elements<uint16_t>
                    : element_ == 4 ? copy_by_elements<uint32_t>
                                    : copy_by_elements<uint64_t>;
  copy(in, out, columns, column_.in, column_.out, rows, row_.in, row_.out);
}

void CopyBox::run(const void* in_data, void* out_data, int threads, bool stream) const {
  if (elements_ == 0) return;
  const int64_t size = static_cast<int64_t>(element_);
  const std::byte* const in = static_cast<const std::byte*>(in_data);
  std::byte* const out = static_cast<std::byte*>(out_data);
  auto body = [&](size_t begin, size_t end, size_t) {
    Places p(*this, static_cast<int64_t>(begin));
    if (!rows()) {
      for (size_t unit = begin; unit < end; ++unit, p.next())
        copy_rectangle(in + p.in * size, out + p.out * size, p.r, p.c, stream);
      if (stream) end_stream();
      return;
    }
    // The beginnings of short rows are asked for ahead: they may lie pages apart, where no machine guesses the next
    // one.
    const int64_t row_bytes = row_piece_ * size, asked = std::min(row_bytes, kAskedBytes);
    const size_t ahead = stream && row_bytes < kAheadBytes ? static_cast<size_t>(kAheadBytes / row_bytes) : end;
    Places next(*this, static_cast<int64_t>(std::min(begin + ahead, end - 1)));
    LineWriter writer(out + p.row_begin() * size, stream);
    for (size_t unit = begin; unit < end; ++unit, p.next()) {
      if (unit + ahead < end) {
        const std::byte* const row = in + (next.in + next.r * row_piece_) * size;
        for (int64_t b = 0; b < asked; b += static_cast<int64_t>(kLineBytes)) __builtin_prefetch(row + b);
        next.next();
      }
      writer.move_to(out + p.row_begin() * size);
      writer.put(in + (p.in + p.r * row_piece_) * size, static_cast<size_t>(p.row_length() * size));
    }
  };
  parallel_ranges(static_cast<size_t>(units()), grain(), 1, threads, body);
}

void CopyBox::run_filling(const void* in_data, void* out_data, int threads, bool stream, uint64_t code,
                          int64_t outputs) const {
  const int64_t size = static_cast<int64_t>(element_), all = units();
  const std::byte* const in = static_cast<const std::byte*>(in_data);
  std::byte* const out = static_cast<std::byte*>(out_data);
  alignas(kLineBytes) std::byte line[kLineBytes];
  for (size_t i = 0; i < kLineBytes; i += element_) std::memcpy(line + i, &code, element_);  // little-endian
  auto body = [&](size_t begin, size_t end, size_t) {
    // A piece fills what lies before each of its rows; the last one what lies behind all.
    int64_t from = 0;
    if (begin > 0) {
      const Places before(*this, static_cast<int64_t>(begin) - 1);
      from = before.row_begin() + before.row_length();
    }
    Places p(*this, static_cast<int64_t>(begin));
    LineWriter writer(out + from * size, stream);
    for (size_t unit = begin; unit < end; ++unit, p.next()) {
      writer.fill_to(out + p.row_begin() * size, line);
      writer.put(in + (p.in + p.r * row_piece_) * size, static_cast<size_t>(p.row_length() * size));
    }
    if (static_cast<int64_t>(end) == all) writer.fill_to(out + outputs * size, line);
  };
  parallel_ranges(static_cast<size_t>(all), grain(), 1, threads, body);
}

}  // namespace softamp::emu
