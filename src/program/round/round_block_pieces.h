// How an array in a file is taken in pieces that hold whole blocks, and how its codes and scales lie in files.
#pragma once

#include "src/program/round/round.h"

#include "softamp/tensor/block_bulk.h"

#include <optional>
#include <string>
#include <vector>

namespace softamp::program {

/// An array with its blocks: pieces come one after the other, and so do their scales.
class BlockPieces {
 public:
  /// Throws UsageError, naming --axis, for an axis that the array lacks, or that the format cannot go along.
  BlockPieces(const block::BlockFormat& format, const std::vector<uint64_t>& shape, int axis);

  const bulk::BlockLayout& layout() const { return layout_; }
  uint64_t elements() const { return layout_.elements(); }
  uint64_t scales() const { return bulk::scale_count(layout_, format_); }
  /// Elements of the largest piece: kRoundChunk or less, where blocks allow that.
  uint64_t largest() const { return piece_; }
  /// The layout of the piece that begins at element `done`.
  bulk::BlockLayout piece(uint64_t done) const;

  /// The extent of the axis becomes its number of blocks; tiles of rows: (tiles, blocks), and of the array ().
  std::vector<uint64_t> scales_shape() const;
  npy::ElementType scales_type() const {
    return format_.scale_bytes() == 4 ? npy::ElementType::kFloat32 : npy::ElementType::kUint8;
  }
  /// "one scale for 32 of axis 1", "one for the array".
  std::string scales_meaning() const;

 private:
  const block::BlockFormat& format_;
  std::vector<uint64_t> shape_;
  size_t axis_;
  bulk::BlockLayout layout_;
  uint64_t piece_;
};

/// Two codes a byte: the shape of the file. The last extent is halved where it is even; else the array is one row.
std::vector<uint64_t> packed_shape(const std::vector<uint64_t>& shape);

/// Writes codes as bytes, or two a byte, to the first of the results.
class CodeWriter {
 public:
  CodeWriter(RoundOutput& out, bool packed) : out_(out), packed_(packed) {}
  void write(const std::vector<uint8_t>& codes, size_t count);
  /// After the last code.
  void finish();

 private:
  RoundOutput& out_;
  bool packed_;
  int pending_ = -1;  ///< the code that waits for its neighbour
};

/// Reads them.
class CodeReader {
 public:
  /// own: the type of tensors that has such codes.
  CodeReader(const std::string& path, bool packed, TensorElement own);
  const ArrayReader& array() const { return reader_; }
  const npy::Header& header() const { return reader_.header(); }
  /// The next `count` codes. Throws UsageError for one above `mask`, naming its place. At the end of an odd count the
  /// half byte behind it has to be 0.
  void read(std::vector<uint8_t>& codes, size_t count, bool last, uint32_t mask, const std::string& format);

 private:
  std::string path_;
  ArrayReader reader_;
  bool packed_;
  int pending_ = -1;
  uint64_t done_ = 0;
};

/// The block format of --format with the options beside it. Throws UsageError.
block::BlockFormat block_format_of(const RoundOptions& o);

/// Whether scales refer to the greatest magnitude of the array: those of NVFP4 of two levels.
bool scales_refer_to_amax(const block::BlockFormat& f);

/// "0.02 (0x3ca3d70a)".
std::string fp32_text(uint32_t code);

}  // namespace softamp::program
