#include "emu/parallel.h"

#include <algorithm>

#include "softamp/machine/float_environment.h"

namespace softamp::emu {

void parallel_ranges(size_t n, size_t grain, size_t align, int threads, RangeBody body) {
  if (n == 0) return;
  const size_t workers = threads > 0 ? static_cast<size_t>(threads) : machine_threads();
  grain = std::max<size_t>(grain, 1);
  // Four pieces per worker even out delays of single workers by other load on the machine.
  const size_t most = workers == 1 ? 1 : std::min(kMaxPieces, 4 * workers);
  const size_t pieces = std::min(most, n / grain);
  if (pieces <= 1) {
    const engine::DefaultRegisters guard;
    body(0, n, 0);
    return;
  }
  size_t length = (n + pieces - 1) / pieces;
  length = (length + align - 1) / align * align;
  const size_t made = (n + length - 1) / length;
  const auto piece = [&](size_t p) {
    const engine::DefaultRegisters guard;
    body(p * length, std::min(n, (p + 1) * length), p);
  };
  for_each_piece(made, threads, piece);
}

PieceStatuses::PieceStatuses(bool wanted) {
  if (wanted) all_ = new FpStatus[kMaxPieces];
}
PieceStatuses::~PieceStatuses() { delete[] all_; }
FpStatus* PieceStatuses::at(size_t piece) { return all_ ? all_ + piece : nullptr; }
void PieceStatuses::merge_into(FpStatus* status) const {
  if (!all_ || !status) return;
  for (size_t p = 0; p < kMaxPieces; ++p)
    if (all_[p].flags) status->merge(all_[p]);
}

}  // namespace softamp::emu
