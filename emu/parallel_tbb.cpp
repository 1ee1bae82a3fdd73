// Threads of emu/parallel.h: oneTBB's.
#include <sys/mman.h>
#include <algorithm>
#include <new>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "emu/handover.h"
#include "emu/parallel.h"

namespace softamp::emu {

size_t machine_threads() { return static_cast<size_t>(oneapi::tbb::info::default_concurrency()); }
size_t threads_here() { return static_cast<size_t>(oneapi::tbb::this_task_arena::max_concurrency()); }

namespace {

/// Throws std::bad_alloc if there is no memory for oneTBB to start with, which it does in its first loop: oneTBB 2022
/// then waits for a lock that it holds itself.
void look_for_memory() {
  [[maybe_unused]] static const bool is_there = [] {
    constexpr size_t kBytes = size_t{4} << 20;
    void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::munmap(memory, kBytes);
    return true;
  }();
}

}  // namespace

void for_each_piece(size_t count, int threads, PieceBody body) {
  look_for_memory();
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
