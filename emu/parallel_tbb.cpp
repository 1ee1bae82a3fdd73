// Threads of emu/parallel.h: oneTBB's.
#include <algorithm>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "emu/handover.h"
#include "emu/parallel.h"

namespace softamp::emu {

size_t machine_threads() { return static_cast<size_t>(oneapi::tbb::info::default_concurrency()); }
size_t threads_here() { return static_cast<size_t>(oneapi::tbb::this_task_arena::max_concurrency()); }

void for_each_piece(size_t count, int threads, PieceBody body) {
  const auto piece = [&](size_t p) {
    take();  // before anything is read, even `body`
    body(p);
    give();
  };
  const auto loop = [&] { oneapi::tbb::parallel_for(size_t{0}, count, piece, oneapi::tbb::simple_partitioner{}); };
  give();
  if (threads == 0) {
    loop();
  } else {
    // oneTBB would refuse more threads than the machine has, with a warning; the result is the same with fewer.
    oneapi::tbb::task_arena arena(std::min(threads, oneapi::tbb::info::default_concurrency()));
    arena.execute(loop);
  }
  take();
}

}  // namespace softamp::emu
