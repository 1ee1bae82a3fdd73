// Who does which part of some work that several processes share through a folder, on one machine or on many: a claim is
// a file, and the claim of a process that has died is taken over.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace softamp::files {

/// What a claim says of the process that made it.
struct ClaimHolder {
  std::string host;           ///< "" where nothing is known: the text is not written yet, or cannot be read
  std::string boot;           ///< of the machine since it was started
  std::string pid_namespace;  ///< in which `process` is a number
  int64_t process = 0;
  uint64_t start = 0;  ///< of the process, in the machine's ticks: a number may be given out again

  /// This process. What the system does not tell is left empty: such a holder is judged by its heartbeat alone.
  static ClaimHolder me();
  /// Same machine since the same start, same numbers of processes.
  bool comparable(const ClaimHolder& other) const;
  /// Whether the system says that the process has ended: there is none of that number, or one that began at another
  /// time. False for a holder that is not comparable with `me`.
  bool gone(const ClaimHolder& me) const;
  /// "node7 process 4711"; "an unknown process".
  std::string text() const;
};

/// How long what takes.
struct ClaimPace {
  std::chrono::milliseconds beat{10'000};     ///< between two signs of life
  std::chrono::milliseconds silence{60'000};  ///< without a sign a holder is dead
  std::chrono::milliseconds nameless{2'000};  ///< for which a claim may be empty: it was killed as it wrote its name
};

/// The claims of this process. Claims of a key are the files KEY.claim.0, KEY.claim.1, ... in the folder. A file is
/// made by O_CREAT | O_EXCL, so that one process alone makes it; the holder is who made the one of the highest number.
/// Who finds its holder dead makes the next. Nobody removes another's claim while the work is not done.
///
/// A holder is dead where the system of this machine says that the process has ended, or where nothing in its claim has
/// changed for `silence` on this process's own clock: clocks of machines differ. Between two looks at most `beat` is
/// counted, for this process may have been stopped together with the holder. A holder that was only stopped, and
/// wakes after another has taken over, does its work a second time: work must be such that this does no harm. For any
/// thread.
class Claims {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  /// option: what messages begin with, "--out". me, now: for tests, which play several processes, and the time.
  explicit Claims(std::filesystem::path folder, std::string option = {}, ClaimPace pace = {},
                  ClaimHolder me = ClaimHolder::me(), Now now = Clock::now);
  /// Gives up all that it holds.
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Claims a key, unless it has a living holder; false also where this process has it already. From the first claim on
  /// a thread gives signs of life. Whoever gets a claim looks then whether the work has been done meanwhile. Throws
  /// OutputError (output_file.h).
  bool take(const std::string& key);
  /// The work is not done: the key is free again.
  void give_up(const std::string& key);
  /// The work is done, by whomever: removes all claims of the key.
  void finish(const std::string& key);
  /// False where another has taken it over.
  bool holds(const std::string& key) const;

  /// Why there is no thread for signs of life; "": there is, or nothing was claimed. Then call beat() now and then.
  std::string why_no_thread() const;
  /// A sign of life in every claim whose last one is older than `pace.beat`.
  void beat();

 private:
  struct Thread;
  struct Seen {  ///< of another's claim
    int generation = -1;
    std::string sign;
    Clock::time_point looked{};
    Clock::duration silent{};  ///< since the sign was first seen
  };
  struct Found {
    int generation;
    std::string text, sign;  ///< sign: changes with each sign of life
  };

  std::filesystem::path file(const std::string& key, int generation) const;
  std::optional<Found> highest(const std::string& key) const;
  bool dead(const std::string& key, const Found& claim);
  bool make(const std::filesystem::path& file);
  std::string text() const;
  void start_thread();
  void remove(const std::string& key, int generation) const;
  void leave(const std::string& key, int generation) const;

  const std::filesystem::path folder_;
  const std::string option_;
  const ClaimPace pace_;
  const ClaimHolder me_;
  const Now now_;
  const pid_t owner_;  ///< a child made by fork leaves the claims to its parent
  mutable std::mutex mutex_;
  std::map<std::string, int> held_;  ///< generations
  std::map<std::string, Seen> seen_;
  uint64_t beats_ = 0;
  Clock::time_point last_beat_{};
  std::string why_no_thread_;
  std::unique_ptr<Thread> thread_;
};

/// A claim as others see it.
struct ClaimSeen {
  ClaimHolder holder;
  bool gone;  ///< the system says that the holder has ended
};
/// Who holds a key now; nothing where nobody does. Changes nothing.
std::optional<ClaimSeen> claim_of(const std::filesystem::path& folder, const std::string& key);

/// The key of a file that is a claim by its name, "KEY" of "KEY.claim.12"; "" of another.
std::string_view key_of_claim(std::string_view name);

}  // namespace softamp::files
