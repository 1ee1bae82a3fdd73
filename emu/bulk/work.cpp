// Pieces, threads and flags: the same for every bulk operation.
#include <algorithm>
#include <vector>

#include "emu/bulk/work.h"
#include "emu/parallel.h"
#include "softamp/machine/float_environment.h"

namespace softamp::emu {
namespace {

constexpr size_t kPiece =
    4096;  // the most elements per kernel call while flags are sought: as many as the first-level cache holds
constexpr size_t kDrawnPiece = 1024;  // the same for stochastic work, which takes longer to repeat
constexpr size_t kSearched = 64;      // elements searched one by one for the index of a flag
constexpr size_t kSerial =
    32 * 1024;  // fewer elements run only on the caller's thread: more threads cost more than they save
constexpr size_t kRunsPerThread = 4;  // so that other threads can take over work from a delayed one

/// One contiguous run of elements, by one thread.
class Run {
 public:
  Run(const Work& work, bool with_status) : work_(work), wanted_(with_status ? work.possible_flags() : uint8_t{0}) {}

  FpStatus operator()(size_t begin, size_t end) {
    // While flags are sought pieces start small, since most flags appear at once and then cost nothing more. The first
    // piece includes the elements before the work's head.
    size_t piece = kSearched, extra = begin == 0 ? work_.head : 0;
    while (begin < end && wanted_) {
      const size_t count = std::min(piece + extra, end - begin);
      seek(begin, count);
      begin += count;
      piece = std::min(work_.draws ? kDrawnPiece : kPiece, piece * 4);
      extra = 0;
    }
    if (begin < end) work_.run(begin, end - begin, 0, nullptr);
    return status_;
  }

 private:
  /// Computes a piece and finds the first elements that raise new flags.
  void seek(size_t begin, size_t count) {
    char* const redirect = work_.in_place ? scratch_ : nullptr;
    uint8_t fresh = work_.run(begin, count, wanted_, redirect) & wanted_;
    while (fresh) fresh = locate(begin, count, fresh);
    if (redirect) work_.commit(begin, count, redirect);
  }

  /// Finds the first element that raises one of `fresh`, which the piece does; returns those that remain.
  uint8_t locate(size_t begin, size_t count, uint8_t fresh) {
    alignas(64) char again[(kPiece + 2 * kSearched) * 8];
    size_t first = begin, left = count;
    while (left > kSearched) {
      const size_t half = (left / 2 + kSearched - 1) / kSearched * kSearched;
      if (work_.run(first, half, fresh, again) & fresh) {
        left = half;
      } else {
        first += half;
        left -= half;
      }
    }
    uint8_t raised = 0;
    size_t at = work_.find(first, left, fresh, raised);
    // A kernel may have reported too many flags; the reference decides.
    if (!raised) at = work_.find(begin, count, fresh, raised);
    if (!raised) return 0;
    status_.raise(raised, at);
    wanted_ = static_cast<uint8_t>(wanted_ & ~raised);
    return static_cast<uint8_t>(fresh & ~raised);
  }

  const Work& work_;
  uint8_t wanted_;
  FpStatus status_;
  alignas(64) char scratch_[(kPiece + 2 * kSearched) * 8];
};

FpStatus run_one(const Work& work, size_t begin, size_t end, bool with_status) {
  const engine::DefaultRegisters environment;
  return Run(work, with_status)(begin, end);
}

}  // namespace

void execute(const Work& work, int threads, FpStatus* status) {
  const size_t n = work.size;
  if (n == 0) return;
  const size_t workers = threads > 0 ? static_cast<size_t>(threads) : threads_here();
  if (workers == 1 || n <= kSerial) {
    const FpStatus found = run_one(work, 0, n, status != nullptr);
    if (status) status->merge(found);
    return;
  }
  const size_t head = std::min(work.head, n);
  size_t length = (n - head) / (workers * kRunsPerThread) / kPiece * kPiece;
  length = std::max(length, kPiece);
  const size_t runs = std::max<size_t>(1, (n - head) / length);
  std::vector<FpStatus> found(runs);
  const auto body = [&](size_t r) {
    const size_t begin = r == 0 ? 0 : head + r * length;
    const size_t end = r + 1 == runs ? n : head + (r + 1) * length;
    found[r] = run_one(work, begin, end, status != nullptr);
  };
  for_each_piece(runs, threads, body);
  if (status)
    for (const FpStatus& f : found) status->merge(f);
}

}  // namespace softamp::emu
