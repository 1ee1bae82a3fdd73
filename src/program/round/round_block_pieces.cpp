#include "src/program/round/round_block_pieces.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/block/layout.h"

#include <algorithm>
#include <cstdio>

namespace softamp::program {
namespace {

using block::BlockFamily;
using npy::ElementType;

uint64_t blocks_in(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Elements of the smallest piece that holds whole blocks.
uint64_t least_piece(const block::BlockFormat& f, const bulk::BlockLayout& l) {
  if (f.family == BlockFamily::kPlain) return 1;
  if (f.rows == 0) return l.elements();
  if (l.inner != 1) return l.length * l.inner;
  return l.length * static_cast<uint64_t>(f.rows);
}

}  // namespace

BlockPieces::BlockPieces(const block::BlockFormat& format, const std::vector<uint64_t>& shape, int axis)
    : format_(format), shape_(shape) {
  const int rank = static_cast<int>(shape.size());
  if (rank == 0) throw UsageError("--axis: shape () has no axis; expected an array of at least one dimension");
  if (axis < -rank || axis >= rank)
    throw UsageError("--axis: '" + std::to_string(axis) + "': expected " + std::to_string(-rank) + ".." +
                     std::to_string(rank - 1) + " for shape " + npy::shape_text(shape));
  axis_ = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const std::vector<int64_t> extents(shape.begin(), shape.end());
  layout_ = bulk::BlockLayout::of(extents, axis);
  if (format.rows > 1 && axis_ + 1 != shape.size())
    throw UsageError("--axis: '" + std::to_string(axis) +
                     "': expected the last axis, -1: a scale of this format serves " + std::to_string(format.rows) +
                     " rows");
  const uint64_t unit = std::max<uint64_t>(1, least_piece(format, layout_));
  const bool rows_can_be_cut = layout_.inner == 1 && format.rows == 1 && format.size > 0;
  piece_ = unit;
  if (unit < kRoundChunk)
    piece_ = kRoundChunk / unit * unit;
  else if (rows_can_be_cut && unit > kRoundChunk)
    piece_ =
        std::max<uint64_t>(1, kRoundChunk / static_cast<uint64_t>(format.size)) * static_cast<uint64_t>(format.size);
  piece_ = std::min(piece_, std::max<uint64_t>(1, elements()));
}

bulk::BlockLayout BlockPieces::piece(uint64_t done) const {
  if (elements() == 0) return layout_;
  const uint64_t row = layout_.length * layout_.inner, left = elements() - done;
  if (format_.family == BlockFamily::kPlain) return {1, std::min(left, piece_), 1};
  if (piece_ < row) return {1, std::min(piece_, layout_.length - done % layout_.length), 1};
  return {std::min(left, piece_) / row, layout_.length, layout_.inner};
}

// implements: N470
std::vector<uint64_t> BlockPieces::scales_shape() const {
  if (format_.rows == 0 && scales() == 0) return {0};  // of an array without elements
  if (format_.rows == 0) return {};
  std::vector<uint64_t> shape = shape_;
  const uint64_t blocks =
      format_.size == 0 ? (layout_.length > 0) : blocks_in(layout_.length, static_cast<uint64_t>(format_.size));
  if (format_.rows == 1) {
    shape[axis_] = blocks;
    return shape;
  }
  return {blocks_in(layout_.outer, static_cast<uint64_t>(format_.rows)), blocks};
}

std::string BlockPieces::scales_meaning() const {
  if (format_.rows == 0) return "one for the array";
  const std::string along =
      format_.size == 0 ? "a whole row" : std::to_string(format_.size) + " of axis " + std::to_string(axis_);
  return "one for " + (format_.rows > 1 ? std::to_string(format_.rows) + " rows by " : "") + along;
}

// implements: N470
std::vector<uint64_t> packed_shape(const std::vector<uint64_t>& shape) {
  uint64_t elements = 1;
  for (const uint64_t extent : shape) elements *= extent;
  if (shape.empty() || shape.back() % 2 != 0) return {block::packed_bytes(elements)};
  std::vector<uint64_t> packed = shape;
  packed.back() /= 2;
  return packed;
}

void CodeWriter::write(const std::vector<uint8_t>& codes, size_t count) {
  if (!packed_ || count == 0) return out_.write(0, codes.data(), count);
  std::vector<uint8_t> bytes;
  bytes.reserve(count / 2 + 1);
  size_t i = 0;
  if (pending_ >= 0) {
    bytes.push_back(static_cast<uint8_t>(pending_ | codes[i++] << 4));
    pending_ = -1;
  }
  const size_t pairs = (count - i) / 2, at = bytes.size();
  bytes.resize(at + pairs);
  block::pack_nibbles(codes.data() + i, 2 * pairs, bytes.data() + at);
  if (i + 2 * pairs < count) pending_ = codes[count - 1];
  out_.write(0, bytes.data(), bytes.size());
}

void CodeWriter::finish() {
  if (pending_ < 0) return;
  const uint8_t last = static_cast<uint8_t>(pending_);
  out_.write(0, &last, 1);
}

CodeReader::CodeReader(const std::string& path, bool packed, TensorElement own)
    : path_(path),
      reader_(path, packed ? std::vector<TensorAs>{{TensorElement::kU8, ElementType::kUint8}} : tensors_of_codes(own)),
      packed_(packed) {
  if (header().type != ElementType::kUint8)
    throw UsageError(path + ": type " + type_text(reader_) + "; expected codes, '|u1'");
}

void CodeReader::read(std::vector<uint8_t>& codes, size_t count, bool last, uint32_t mask, const std::string& format) {
  if (packed_) {
    size_t i = 0;
    if (pending_ >= 0 && count > 0) codes[i++] = static_cast<uint8_t>(pending_);
    pending_ = -1;
    std::vector<uint8_t> bytes(block::packed_bytes(count - i));
    reader_.read(bytes.data(), bytes.size());
    block::unpack_nibbles(bytes.data(), count - i, codes.data() + i);
    if ((count - i) % 2 != 0) {
      pending_ = bytes.back() >> 4;
      if (last && pending_ != 0)
        throw UsageError(path_ + ": the last byte is 0x" + code_text(kE2m3, bytes.back()).substr(2) +
                         "; expected 0 in its high half, behind an odd number of codes");
    }
  } else {
    reader_.read(codes.data(), count);
    for (size_t i = 0; i < count; ++i)
      if (codes[i] > mask) refuse_code(path_, done_ + i, codes[i], format, mask);
  }
  done_ += count;
}

bool scales_refer_to_amax(const block::BlockFormat& f) {
  return f.family == BlockFamily::kNvfp4 && f.nvfp4.rule != block::Nvfp4Rule::kOneLevel;
}

std::string fp32_text(uint32_t code) { return shortest_decimal(kFp32, code) + " (" + code_text(kFp32, code) + ")"; }

}  // namespace softamp::program
