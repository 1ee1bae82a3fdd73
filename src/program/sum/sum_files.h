// The arrays that `softamp sum` reads, in pieces of binary64 numbers.
#pragma once

#include "src/program/sum/sum_cases.h"

#include "softamp/data/npy.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace softamp::program {

/// One array, or two of equal length read side by side.
class ArrayFiles {
 public:
  /// Opens the input's files and notes types, shapes and the number of elements in it. Throws npy::Error for what is no
  /// .npy file, UsageError for other types, more elements than can be added, and arrays of different length.
  /// replicas: sums that each element is added to; pieces are so short that an interrupt is soon seen.
  ArrayFiles(SumInput& input, uint64_t replicas);

  /// Reads the next piece; false at the end. Throws npy::Error, and UsageError for what is no code.
  bool next();
  std::span<const double> a() const { return files_[0].piece; }
  std::span<const double> b() const {
    return files_.size() > 1 ? std::span<const double>(files_[1].piece) : std::span<const double>();
  }

 private:
  struct File {
    std::string path;
    std::unique_ptr<npy::Reader> reader;
    std::vector<double> piece;
    std::vector<std::byte> bytes;
  };
  void read(File& file) const;

  SumInput& input_;
  size_t piece_;  ///< elements
  std::vector<File> files_;
  uint64_t done_ = 0;
};

}  // namespace softamp::program
