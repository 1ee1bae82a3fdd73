#include "src/program/compute/random_file.h"

#include "src/program/program.h"

#include <cstring>

namespace softamp::program {

RandomFile::RandomFile(const std::string& path, const RandomField& field) : path_(path), reader_(path), field_(field) {
  const npy::ElementType type = reader_.header().type;
  const int last = field.chip ? field.chip->last_bit() : field.number_bits - 1;
  const bool numbers = type >= npy::ElementType::kUint8;
  if (!numbers || last >= 8 * static_cast<int>(npy::size_of(type)))
    throw UsageError("--random-words: " + path + ": type '" + npy::descr(type) +
                     "'; expected unsigned numbers of at least " + std::to_string(last + 1) + " bits: " +
                     (last < 8    ? "'|u1', '<u2' or '<u4'"
                      : last < 16 ? "'<u2' or '<u4'"
                                  : "'<u4'"));
}

size_t RandomFile::take(size_t count, uint32_t* random) {
  const size_t size = npy::size_of(reader_.header().type);
  bytes_.resize(count * size);
  const size_t found = reader_.read(bytes_.data(), count);
  for (size_t i = 0; i < found; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, bytes_.data() + i * size, size);  // little-endian, as the file is
    random[i] = field_.number(word);
  }
  return found;
}

std::string RandomFile::shortage(uint64_t line) const {
  return "--random-words: " + path_ + ": " + std::to_string(reader_.header().elements) +
         " numbers; expected one for each line, and standard input has a line " + std::to_string(line);
}

}  // namespace softamp::program
