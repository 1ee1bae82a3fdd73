// Threads of emu/parallel.h without oneTBB (N425): one pool of std::threads for the process, started at first use,
// which sleeps between loops. A loop that begins while the threads are busy, inside another loop or beside one, runs on
// its caller's thread only.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "emu/parallel.h"

namespace softamp::emu {
namespace {

size_t count_threads() {
#if defined(__linux__)
  // The processors that taskset or a container allows this process; hardware_concurrency counts the whole machine.
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) return std::max(1, CPU_COUNT(&mine));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

// implements: N425
class Crew {
 public:
  explicit Crew(size_t helpers) {
    try {
      for (size_t i = 0; i < helpers; ++i) threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
      // The system gives no more threads: continue with those that exist.
    }
  }
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      leave_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// False if the threads are busy.
  bool run(size_t count, size_t helpers, const PieceBody& body) {
    std::unique_lock lock(mutex_);
    if (body_) return false;
    body_ = &body;
    next_ = 0;
    count_ = count;
    helpers_ = std::min(helpers, threads_.size());
    error_ = nullptr;
    ++loop_;
    begin_.notify_all();
    work(lock);
    idle_.wait(lock, [&] { return busy_ == 0; });
    body_ = nullptr;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  /// Takes pieces until there are no more; the lock is held only between pieces.
  void work(std::unique_lock<std::mutex>& lock) {
    ++busy_;
    while (next_ < count_) {
      const size_t piece = next_++;
      const PieceBody body = *body_;
      lock.unlock();
      std::exception_ptr error;
      try {
        body(piece);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (!error) continue;
      next_ = count_;
      error_ = error;
    }
    if (--busy_ == 0) idle_.notify_all();
  }

  void serve(size_t number) {
    std::unique_lock lock(mutex_);
    for (uint64_t seen = 0;;) {
      begin_.wait(lock, [&] { return leave_ || loop_ != seen; });
      if (leave_) return;
      seen = loop_;
      if (number < helpers_) work(lock);
    }
  }

  std::mutex mutex_;  ///< of all below
  std::condition_variable begin_, idle_;
  const PieceBody* body_ = nullptr;  ///< the loop that is run; null: none
  size_t next_ = 0, count_ = 0, helpers_ = 0, busy_ = 0;
  uint64_t loop_ = 0;
  std::exception_ptr error_;
  bool leave_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

size_t machine_threads() {
  static const size_t count = count_threads();
  return count;
}
size_t threads_here() { return machine_threads(); }

void for_each_piece(size_t count, int threads, PieceBody body) {
  const size_t wanted = threads > 0 ? std::min(static_cast<size_t>(threads), machine_threads()) : machine_threads();
  if (wanted > 1 && count > 1) {
    static Crew crew(machine_threads() - 1);
    if (crew.run(count, wanted - 1, body)) return;
  }
  for (size_t piece = 0; piece < count; ++piece) body(piece);
}

}  // namespace softamp::emu
