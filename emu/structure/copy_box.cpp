#include "emu/structure/copy_box.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/parallel.h"

namespace softamp::emu {
namespace {

constexpr int64_t kRowBytes = 1 << 16;    // long rows are cut, so that threads can share a single row
constexpr int64_t kSquare = 32;           // transpositions copy squares, whose lines stay in the first-level cache
constexpr int64_t kGrainBytes = 1 << 18;  // less is not worth a second thread

int64_t pieces(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }

template <class T>
void copy_rectangle(const std::byte* in, std::byte* out, int64_t columns, int64_t in_column, int64_t out_column,
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
  row_piece_ = std::min(row_.extent, kSquare);
  column_piece_ = std::min(column_.extent, kSquare);
}

void CopyBox::copy_unit(const std::byte* in, std::byte* out, int64_t along, int64_t across) const {
  const int64_t size = static_cast<int64_t>(element_);
  const int64_t rows = std::min(row_piece_, row_.extent - along * row_piece_);
  const int64_t columns = std::min(column_piece_, column_.extent - across * column_piece_);
  in += (along * row_piece_ * row_.in + across * column_piece_ * column_.in) * size;
  out += (along * row_piece_ * row_.out + across * column_piece_ * column_.out) * size;
  if (row_.in == 1 && row_.out == 1) {
    std::memcpy(out, in, static_cast<size_t>(rows * size));
    return;
  }
  switch (element_) {
    case 1: copy_rectangle<uint8_t>(in, out, columns, column_.in, column_.out, rows, row_.in, row_.out); break;
    case 2: copy_rectangle<uint16_t>(in, out, columns, column_.in, column_.out, rows, row_.in, row_.out); break;
    case 4: copy_rectangle<uint32_t>(in, out, columns, column_.in, column_.out, rows, row_.in, row_.out); break;
    default: copy_rectangle<uint64_t>(in, out, columns, column_.in, column_.out, rows, row_.in, row_.out);
  }
}

void CopyBox::run(const void* in_data, void* out_data, int threads) const {
  if (elements_ == 0) return;
  const int64_t size = static_cast<int64_t>(element_);
  const int64_t along = pieces(row_.extent, row_piece_), across = pieces(column_.extent, column_piece_);
  int64_t units = along * across;
  for (const Axis& a : outer_) units *= a.extent;
  const size_t grain = static_cast<size_t>(std::max<int64_t>(1, kGrainBytes / (row_piece_ * column_piece_ * size)));
  auto body = [&](size_t begin, size_t end, size_t) {
    // The position of unit `begin`, then incremented axis by axis.
    int64_t place[2 * kernel::StructureMap::kMaxRank] = {};
    int64_t rest = static_cast<int64_t>(begin);
    int64_t r = rest % along;
    rest /= along;
    int64_t c = rest % across;
    rest /= across;
    int64_t in = in_base_, out = out_base_;
    for (size_t a = outer_.size(); a-- > 0;) {
      place[a] = rest % outer_[a].extent;
      rest /= outer_[a].extent;
      in += place[a] * outer_[a].in;
      out += place[a] * outer_[a].out;
    }
    for (size_t unit = begin; unit < end; ++unit) {
      copy_unit(static_cast<const std::byte*>(in_data) + in * size, static_cast<std::byte*>(out_data) + out * size, r,
                c);
      if (++r < along) continue;
      r = 0;
      if (++c < across) continue;
      c = 0;
      for (size_t a = outer_.size(); a-- > 0;) {
        in += outer_[a].in;
        out += outer_[a].out;
        if (++place[a] < outer_[a].extent) break;
        in -= outer_[a].in * outer_[a].extent;
        out -= outer_[a].out * outer_[a].extent;
        place[a] = 0;
      }
    }
  };
  parallel_ranges(static_cast<size_t>(units), grain, 1, threads, body);
}

}  // namespace softamp::emu
