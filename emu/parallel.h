// Loops over index ranges on several threads: the only way in which kernels use threads. How a range is cut depends
// only on its length and the number of threads, and no result may depend on the cut. The threads come from one of two
// files: parallel_tbb.cpp (oneTBB) or, in a build without it, parallel_threads.cpp (std::thread).
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "softamp/numerics/status.h"

namespace softamp::emu {

/// A reference to a callable void(Arguments...).
template <class... Arguments>
class BodyView {
 public:
  template <class Body>
  BodyView(Body& body)  // NOLINT: an implicit view
      : body_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* b, Arguments... arguments) { (*static_cast<Body*>(b))(arguments...); }) {}
  void operator()(Arguments... arguments) const { call_(body_, arguments...); }

 private:
  void* body_;
  void (*call_)(void*, Arguments...);
};
using RangeBody = BodyView<size_t, size_t, size_t>;  ///< (begin, end, piece)
using PieceBody = BodyView<size_t>;                  ///< (piece)

/// Threads that this process may use on the machine; and the most that the caller may use, if it is itself part of a
/// larger loop. Both at least 1.
size_t machine_threads();
size_t threads_here();

/// Calls body(piece) for pieces 0 .. count - 1, each once, in no order, on up to `threads` threads (0: threads_here());
/// the caller's is one of them. Exceptions travel to the caller: one of them, and pieces not yet begun may be left out.
void for_each_piece(size_t count, int threads, PieceBody body);

/// Calls body(begin, end, piece) for pieces that cover [0, n), begins at multiples of `align`, none but the last
/// shorter than `grain`; piece counts from 0. Each call has the default MXCSR. n <= grain: one call on the caller's
/// thread. threads as in EngineSettings. Exceptions travel to the caller.
void parallel_ranges(size_t n, size_t grain, size_t align, int threads, RangeBody body);

/// The greatest number of pieces that parallel_ranges makes.
constexpr size_t kMaxPieces = 256;

/// The same, with a status per piece, merged in the end where `status` is not null:
/// body(begin, end, FpStatus* piece_status).
template <class Body>
void parallel_status(size_t n, size_t grain, size_t align, int threads, FpStatus* status, Body&& body);

/// Statuses of pieces; used by parallel_status.
class PieceStatuses {
 public:
  explicit PieceStatuses(bool wanted);
  ~PieceStatuses();
  FpStatus* at(size_t piece);
  void merge_into(FpStatus* status) const;

 private:
  FpStatus* all_ = nullptr;
};

// implements: N62
template <class Body>
void parallel_status(size_t n, size_t grain, size_t align, int threads, FpStatus* status, Body&& body) {
  if (n <= grain) {
    auto one = [&](size_t begin, size_t end, size_t) { body(begin, end, status); };
    parallel_ranges(n, grain, align, threads, one);
    return;
  }
  PieceStatuses found(status != nullptr);
  auto piece_body = [&](size_t begin, size_t end, size_t piece) { body(begin, end, found.at(piece)); };
  parallel_ranges(n, grain, align, threads, piece_body);
  found.merge_into(status);
}

}  // namespace softamp::emu
