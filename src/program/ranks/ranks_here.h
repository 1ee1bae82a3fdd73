// The other processes that a launcher (mpirun) started on this machine with this one, as the system shows them.
//
// `softamp train` shares one run among all ranks: it waits in MPI_Init until all are there, for ever where one runs
// another verb, or has ended. So it looks what the others run before it starts the MPI, and while that starts; and the
// other verbs, each of which is a run of its own in every rank, look whether one of the others trains. What a rank runs
// is known where the launcher has started softamp itself, without a script in between.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/program/ranks/launched.h"

namespace softamp::program {

/// A process that the launcher itself started, on this machine.
struct RankHere {
  int process = 0, rank = 0;
  std::vector<std::string> command;

  bool is_softamp() const;
  /// `softamp train` that will call MPI: without --help, --print-settings and the like.
  bool trains() const;
  /// "softamp sum", "softamp train --help".
  std::string verb() const;
};

class RanksHere {
 public:
  explicit RanksHere(const Launched& launched);

  /// Looks again. By rank; empty where this process was not started by a launcher that the system shows.
  const std::vector<RankHere>& look();
  /// Whether all that the launcher starts on this machine are there, or were.
  bool all_seen() const;
  /// Why they cannot train together: "rank 1 runs `softamp sum`, and rank 0 `softamp train`, ...", or that one which
  /// was there has ended. "" where they can, as far as is known.
  std::string trouble() const;
  /// Why not, where some never came: "2 of 4 processes that mpirun (...) started on this machine have ended ...".
  std::string trouble_of_absent() const;
  /// Whether this process tells what concerns all: that with the lowest rank of those that run softamp, or that train.
  bool tells(bool of_training) const;
  /// Whether the launcher has started this process itself.
  bool direct() const;

 private:
  const Launched launched_;
  int launcher_ = 0;
  std::vector<RankHere> ranks_;
  inline static std::map<int, int> seen_;  ///< the process of each rank, as long as this process has looked
};

/// Before a verb begins: throws UsageError where one rank trains and another one does not. Waits a second at
/// most for those that do not run softamp yet. Where another rank tells it: returns false half a second later, so that
/// it is told before the launcher ends all.
bool ranks_agree(const Launched& launched);

/// While it lives, trouble among the ranks ends this process, with its reason on standard error and kUsage: what waits
/// in MPI_Init cannot be left.
class RankStartWatch {
 public:
  explicit RankStartWatch(const Launched& launched);
  ~RankStartWatch();
  RankStartWatch(const RankStartWatch&) = delete;
  RankStartWatch& operator=(const RankStartWatch&) = delete;

 private:
  void run();
  void end_if(std::string trouble) const;

  RanksHere ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace softamp::program
