// Copies of boxes (engine/copy_box.h) on a device, at the speed of its memory: contiguous elements are copied in words
// of up to 16 bytes, transpositions use tiles in shared memory.
#pragma once

#include <algorithm>

#include "cuda/division.h"
#include "cuda/element_loop.h"
#include "softamp/engine/copy_box.h"

namespace softamp::cuda {

struct alignas(16) Word16 {
  uint32_t x, y, z, w;
};

/// Calls each(i) for this thread's numbers of 0 .. words - 1, a grid apart; i is as narrow as `words` allows, for
/// faster divisions.
template <class Block, class Each>
SOFTAMP_HD __attribute__((always_inline)) inline void each_word(Block& block, uint64_t words, const Each& each) {
  block.each([&](unsigned t) {
    const uint64_t first = uint64_t{block.index()} * block.threads() + t;
    const uint64_t stride = uint64_t{block.blocks()} * block.threads();
    if (words >> 32)
      for (uint64_t i = first; i < words; i += stride) each(i);
    else
      for (uint64_t i = first; i < words; i += stride) each(static_cast<uint32_t>(i));
  });
}

/// Axes of a box, outermost first; strides in words.
struct BoxAxes {
  struct Axis {
    Division extent;
    int64_t in, out;
  };
  int rank = 0;
  Axis axis[engine::CopyGeometry::kMaxAxes];

  void add(const engine::CopyAxis& a) { axis[rank++] = {Division(static_cast<uint64_t>(a.extent)), a.in, a.out}; }
  /// Moves both positions from the box's first element to element `index`.
  template <class Index>
  SOFTAMP_INLINE void move(Index index, int64_t& in, int64_t& out) const {
    for (int a = rank; a-- > 0;) {
      const auto place = static_cast<int64_t>(axis[a].extent.split(index));
      in += place * axis[a].in;
      out += place * axis[a].out;
    }
  }
};

/// Word by word, in the order of the destination.
template <class Word>
struct CopyWords {
  const Word* in;
  Word* out;
  uint64_t words;
  BoxAxes axes;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    each_word(block, words, [&](auto i) {
      int64_t from = 0, to = 0;
      axes.move(i, from, to);
      out[to] = in[from];
    });
  }
};

/// Rectangles whose rows are contiguous in the destination and whose columns are in the source, by square tiles.
template <class Word>
struct CopyTransposed {
  static constexpr unsigned kThreads = 256, kSide = sizeof(Word) <= 2 ? 64 : 32;
  /// Of a line in shared memory: an odd number of banks, so that the elements of a column lie in different ones.
  static constexpr unsigned kLine = kSide + (sizeof(Word) == 1 ? 4 : sizeof(Word) == 2 ? 2 : 1);

  const Word* in;
  Word* out;
  int64_t rows, columns;       ///< extents along the destination's and the source's contiguous axis
  int64_t row_in, column_out;  ///< the other strides
  Division along, across;      ///< tiles
  uint64_t tiles;
  BoxAxes outer;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    Word* const tile = block.template shared<Word>(kSide * kLine);
    for (uint64_t i = block.index(); i < tiles; i += block.blocks()) {
      uint64_t rest = i;
      const auto row = static_cast<int64_t>(along.split(rest) * kSide);
      const auto column = static_cast<int64_t>(across.split(rest) * kSide);
      int64_t from = row * row_in + column, to = column * column_out + row;
      outer.move(rest, from, to);
      block.each([&](unsigned t) {
        const unsigned c = t % kSide;
        for (unsigned r = t / kSide; r < kSide; r += kThreads / kSide)
          if (row + r < rows && column + c < columns) tile[r * kLine + c] = in[from + r * row_in + c];
      });
      block.each([&](unsigned t) {
        const unsigned r = t % kSide;
        for (unsigned c = t / kSide; c < kSide; c += kThreads / kSide)
          if (row + r < rows && column + c < columns) out[to + c * column_out + r] = tile[r * kLine + c];
      });
    }
  }
};

/// Every byte of `bytes` by a pattern of 8; `out` aligned to 8.
struct FillWords {
  uint64_t pattern;
  uint64_t* out;
  uint64_t bytes;

  template <class Block>
  SOFTAMP_HD void operator()(Block& block) const {
    block.each([&](unsigned t) {
      const uint64_t first = uint64_t{block.index()} * block.threads() + t;
      for (uint64_t i = first; i < bytes / 8; i += uint64_t{block.blocks()} * block.threads()) out[i] = pattern;
      if (first < bytes % 8)
        reinterpret_cast<uint8_t*>(out + bytes / 8)[first] = static_cast<uint8_t>(pattern >> 8 * first);
    });
  }
};

/// `count` elements of `element` bytes become `code`.
inline void enqueue_fill(Device& device, void* out, size_t element, uint64_t count, uint64_t code) {
  if (count == 0) return;
  uint64_t pattern = 0;
  for (size_t at = 0; at < 8; at += element)
    pattern |= (element == 8 ? code : code & ((uint64_t{1} << 8 * element) - 1)) << 8 * at;
  const uint64_t bytes = count * element;
  const bool one_byte = pattern == (pattern & 0xFF) * 0x0101010101010101u;
  if (one_byte)
    device.fill(out, static_cast<unsigned char>(pattern), bytes);
  else
    device.launch("fill", loop_grid(device, (bytes + 7) / 8), FillWords{pattern, static_cast<uint64_t*>(out), bytes});
}

/// A box, made ready. `element`: its elements' bytes (1, 2, 4, 8). Tensors begin at multiples of 16 bytes, as an
/// engine's do.
class CopyBox {
 public:
  CopyBox(const kernel::StructureMap& map, size_t element) : box_(engine::copy_geometry(map)), element_(element) {
    if (box_.elements == 0) return;
    choose_rectangle();
    if (row_ < 0) choose_word();
  }

  int64_t elements() const { return box_.elements; }

  void enqueue(Device& device, const void* in, void* out) const {
    if (box_.elements == 0) return;
    const auto* const from = static_cast<const char*>(in) + box_.in_base * static_cast<int64_t>(element_);
    auto* const to = static_cast<char*>(out) + box_.out_base * static_cast<int64_t>(element_);
    if (box_.axes.empty() || (box_.axes.size() == 1 && box_.axes[0].in == 1 && box_.axes[0].out == 1))
      return device.copy(to, from, static_cast<size_t>(box_.elements) * element_);
    const size_t bytes = row_ < 0 ? word_ : element_;
    switch (bytes) {
      case 1: return enqueue_as<uint8_t>(device, from, to);
      case 2: return enqueue_as<uint16_t>(device, from, to);
      case 4: return enqueue_as<uint32_t>(device, from, to);
      case 8: return enqueue_as<uint64_t>(device, from, to);
      default: enqueue_words<Word16>(device, from, to);
    }
  }

 private:
  /// The two axes of a transposition; for short ones a tile does not pay.
  void choose_rectangle() {
    constexpr int64_t kLeast = 8;
    const int last = static_cast<int>(box_.axes.size()) - 1;
    if (last < 1 || box_.axes[static_cast<size_t>(last)].in == 1 || box_.axes[static_cast<size_t>(last)].out != 1)
      return;
    for (int a = 0; a < last; ++a) {
      const engine::CopyAxis& axis = box_.axes[static_cast<size_t>(a)];
      if (axis.in != 1 || std::min(axis.extent, box_.axes[static_cast<size_t>(last)].extent) < kLeast) continue;
      row_ = last;
      column_ = a;
    }
  }

  /// The largest word that divides rows, strides and bases.
  void choose_word() {
    word_ = element_;
    if (box_.axes.empty() || box_.axes.back().in != 1 || box_.axes.back().out != 1) return;
    const auto e = static_cast<int64_t>(element_);
    uint64_t all = 16 | static_cast<uint64_t>(box_.in_base * e) | static_cast<uint64_t>(box_.out_base * e) |
                   static_cast<uint64_t>(box_.axes.back().extent * e);
    for (size_t a = 0; a + 1 < box_.axes.size(); ++a)
      all |= static_cast<uint64_t>(box_.axes[a].in * e) | static_cast<uint64_t>(box_.axes[a].out * e);
    word_ = static_cast<size_t>(all & (0 - all));  // the lowest bit set
  }

  template <class Word>
  void enqueue_as(Device& device, const void* in, void* out) const {
    if (row_ < 0)
      enqueue_words<Word>(device, in, out);
    else
      enqueue_transposed<Word>(device, in, out);
  }

  template <class Word>
  void enqueue_words(Device& device, const void* in, void* out) const {
    const auto elements = static_cast<int64_t>(word_ / element_);  // to a word
    CopyWords<Word> copy{
        static_cast<const Word*>(in), static_cast<Word*>(out), static_cast<uint64_t>(box_.elements / elements), {}};
    for (size_t a = 0; a < box_.axes.size(); ++a) {
      engine::CopyAxis axis = box_.axes[a];
      if (a + 1 == box_.axes.size())
        axis.extent /= elements;
      else
        axis.in /= elements, axis.out /= elements;
      copy.axes.add(axis);
    }
    device.launch("copy", loop_grid(device, copy.words), copy);
  }

  template <class Word>
  void enqueue_transposed(Device& device, const void* in, void* out) const {
    using Copy = CopyTransposed<Word>;
    const engine::CopyAxis &row = box_.axes[static_cast<size_t>(row_)],
                           &column = box_.axes[static_cast<size_t>(column_)];
    const auto pieces = [](int64_t extent) { return static_cast<uint64_t>((extent + Copy::kSide - 1) / Copy::kSide); };
    Copy copy{static_cast<const Word*>(in),
              static_cast<Word*>(out),
              row.extent,
              column.extent,
              row.in,
              column.out,
              Division(pieces(row.extent)),
              Division(pieces(column.extent)),
              pieces(row.extent) * pieces(column.extent),
              {}};
    for (int a = 0; a < static_cast<int>(box_.axes.size()); ++a)
      if (a != row_ && a != column_) {
        copy.outer.add(box_.axes[static_cast<size_t>(a)]);
        copy.tiles *= static_cast<uint64_t>(box_.axes[static_cast<size_t>(a)].extent);
      }
    const Grid grid{static_cast<unsigned>(std::min<uint64_t>(copy.tiles, 1u << 20)), Copy::kThreads,
                    shared_of<Word>(Copy::kSide * Copy::kLine)};
    device.launch("transpose", grid, copy);
  }

  engine::CopyGeometry box_;
  size_t element_, word_ = 0;
  int row_ = -1, column_ = -1;  ///< axes of a transposition
};

}  // namespace softamp::cuda
