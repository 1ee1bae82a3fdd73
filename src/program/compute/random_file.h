// Random words from a file, one for each line: --random-words of `softamp compute`.
#pragma once

#include "src/program/compute/compute_options.h"

#include "softamp/data/npy.h"

#include <cstdint>
#include <string>
#include <vector>

namespace softamp::program {

class RandomFile {
 public:
  /// Throws UsageError for a file of other elements than unsigned numbers, or of numbers too narrow for the bits that
  /// are read.
  RandomFile(const std::string& path, const RandomField& field);

  /// R of the next lines: of `count` of them, or of as many as the file has numbers left for; that many.
  size_t take(size_t count, uint32_t* random);
  /// What to say of the first line without a number.
  std::string shortage(uint64_t line) const;

 private:
  std::string path_;
  npy::Reader reader_;
  RandomField field_;
  std::vector<uint8_t> bytes_;
};

}  // namespace softamp::program
