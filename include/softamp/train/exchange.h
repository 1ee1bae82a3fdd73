// Bytes between the processes that train together. An exchange only moves them; sums are formed by the trainer, in the
// order of one process, so that the number of processes, the way between them and its speed change no bit (N284).
//
// Each process is a rank. All ranks make the same calls in the same order, from one thread at a time. TrainerOptions::
// exchange shares the replicas of a training run among the ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace softamp {

/// Another rank has left, or has ended without a word. what() names it: "rank 2 (node7, process 4711) has ended".
class ExchangeError : public std::runtime_error {
 public:
  /// Of a rank that ended without a word: killed, or its machine lost.
  static constexpr int kLost = 4;

  ExchangeError(const std::string& what, int code = kLost) : std::runtime_error(what), code_(code) {}
  /// With which all ranks end: kLost, 128 + signal, or what the rank gave to `leave`.
  int code() const { return code_; }
  /// Whether a signal had come to this rank, or to the one that noticed it, before a rank ended: the launcher ends all
  /// ranks then, and none is to blame. what() is empty where another rank tells of it.
  bool interrupted() const { return is_interruption(code_); }
  static constexpr bool is_interruption(int code) { return code > 128; }

 private:
  int code_;
};

class Exchange {
 public:
  using Bytes = std::span<const std::byte>;
  using Room = std::span<std::byte>;

  virtual ~Exchange() = default;

  virtual int rank() const = 0;   ///< (0 .. ranks() - 1)
  virtual int ranks() const = 0;  ///< (1 ..)
  /// Among the ranks on the same machine.
  virtual int local_rank() const = 0;
  virtual int local_ranks() const = 0;
  /// What carries the bytes, for messages: "Open MPI 4.1.4", "in process".
  virtual std::string about() const = 0;

  /// to[i] goes to rank i, and from[i] receives what rank i has for this one, of the same size; what a rank has for
  /// itself is copied. Each has ranks() entries, any of which may be empty. Throws ExchangeError.
  virtual void all_to_all(std::span<const Bytes> to, std::span<const Room> from) = 0;
  /// all[i] receives what rank i gives; sizes may differ from rank to rank. `mine` may lie in all[rank()] already.
  /// Throws ExchangeError.
  virtual void all_gather(Bytes mine, std::span<const Room> all) = 0;
  /// Returns when all ranks have come here. Throws ExchangeError.
  virtual void barrier() = 0;

  /// Whether a rank has left or ended: the next call throws. From any thread, at any time.
  virtual bool broken() const noexcept = 0;
  /// This rank will make no further call, for a reason that concerns all: their next calls, and those under way, throw
  /// ExchangeError(why, code). Nothing happens if the exchange is broken already.
  virtual void leave(int code, const std::string& why) noexcept = 0;
};

/// An exchange between threads of this process, which each take one. A rank that is destroyed has left.
std::vector<std::unique_ptr<Exchange>> exchange_in_process(int ranks);

}  // namespace softamp
