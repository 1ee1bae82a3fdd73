// A random permutation for tests that a build without Boost compiles, too: those of graphs and of the engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace softamp::test {

/// Mixes a row as libstdc++'s std::shuffle does, by one number of the engine for two places: the standard leaves that
/// open, and the digests of random graphs are pinned with every library.
template <class Engine>
void shuffle(std::vector<int64_t>& row, Engine& random) {
  __extension__ using Wide = unsigned __int128;
  const auto below = [&](size_t n) {
    return static_cast<size_t>(static_cast<Wide>(random()) * n >> Engine::word_size);
  };
  size_t i = 1;
  if (row.size() % 2 == 0 && row.size() > 1) std::swap(row[i++], row[below(2)]);
  for (; i + 1 < row.size(); i += 2) {
    const size_t both = below((i + 1) * (i + 2));
    std::swap(row[i], row[both / (i + 2)]);
    std::swap(row[i + 1], row[both % (i + 2)]);
  }
}

}  // namespace softamp::test
