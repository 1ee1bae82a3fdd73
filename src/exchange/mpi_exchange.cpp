#include "src/exchange/mpi_exchange.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

#include "softamp/machine/interrupt.h"
#include "src/exchange/peer_watch.h"

namespace softamp {
namespace {

using Clock = std::chrono::steady_clock;

/// How to wait for what only polling brings about. Ranks may be more than cores: who waits long leaves the core to
/// others, and who waits short is there at once.
class Patience {
 public:
  /// Something has moved: it is worth being quick again.
  void again() { since_ = Clock::now(); }
  void wait() {
    if (++polls_ % 16 != 0) return;  // reading the clock takes as long as some polls
    using namespace std::chrono_literals;
    const auto waited = Clock::now() - since_;
    if (waited < 20us) return;
    if (waited < 10ms) {
      ::sched_yield();
      return;
    }
    polls_ = 15;
    std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 256, 20us, 500us));
  }

 private:
  Clock::time_point since_ = Clock::now();
  unsigned polls_ = 0;
};

// UCX, which MPICH and Open MPI may stand on, ends the process by abort() where it was about to read the memory of a
// process that has just ended. That is the end of this one, too; but it is to say why, and to end with the code that
// says so, as the other ranks do.
std::atomic<const PeerWatch*> watch_of_abort{nullptr};
std::atomic<bool> mpi_is_called{false};

extern "C" void softamp_mpi_aborts(int) {
  // Only what may be called in a handler.
  const PeerWatch* const watch = watch_of_abort;
  if (!watch || !mpi_is_called) return;
  const timespec millisecond = {0, 1'000'000};
  for (int i = 0; i < 2000 && !watch->broken(); ++i) ::nanosleep(&millisecond, nullptr);
  if (!watch->broken()) return;  // abort() goes on
  const std::string& why = watch->why_broken().why;
  if (why.empty()) ::_exit(watch->why_broken().code);
  for (const auto& [text, size] : {std::pair{"softamp: ", size_t{9}}, {why.data(), why.size()}, {"\n", size_t{1}}}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
  }
  ::_exit(watch->why_broken().code);
}

/// While it lives, a call of MPI is under way.
struct InMpi {
  InMpi() { mpi_is_called = true; }
  ~InMpi() { mpi_is_called = false; }
};

class Mpi final : public MpiExchange {
 public:
  Mpi(MpiKind kind, const std::filesystem::path& folder) : mpi_(load_mpi_module(kind, folder)), kind_(kind) {
    mpi_.about(about_.data(), about_.size());
    // MPICH's mpirun -disable-auto-cleanup tells by SIGUSR1 that a process is lost, which would end the others.
    if (struct sigaction now; kind == MpiKind::kMpich && ::sigaction(SIGUSR1, nullptr, &now) == 0 &&
                              !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
      ::signal(SIGUSR1, SIG_IGN);
    if (mpi_.start(&place_, error()) != 0) throw std::runtime_error(about() + ": " + text());
    check_launcher(kind);
    if (ranks() > 1) meet();
  }

  ~Mpi() override {
    if (::getpid() != owner_) return;  // a fork does not speak for its parent
    end();
    if (watch_ && broken()) end_broken();
    watch_of_abort = nullptr;
  }

  int rank() const override { return place_.rank; }
  int ranks() const override { return place_.ranks; }
  int local_rank() const override { return place_.local_rank; }
  int local_ranks() const override { return place_.local_ranks; }
  std::string about() const override { return about_.data(); }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  void all_to_all(std::span<const Bytes> to, std::span<const Room> from) override {
    check_count("to", to.size());
    check_count("from", from.size());
    const auto mine = static_cast<size_t>(rank());
    if (to[mine].size() != from[mine].size())
      throw std::logic_error("exchange: rank " + std::to_string(rank()) + " has " + std::to_string(to[mine].size()) +
                             " bytes for itself; expected " + std::to_string(from[mine].size()));
    transfer([&](size_t i) { return to[i]; }, from);
  }

  void all_gather(Bytes mine, std::span<const Room> all) override {
    check_count("all", all.size());
    if (mine.size() != all[static_cast<size_t>(rank())].size())
      throw std::logic_error("exchange: rank " + std::to_string(rank()) + " gives " + std::to_string(mine.size()) +
                             " bytes; expected " + std::to_string(all[static_cast<size_t>(rank())].size()));
    transfer([&](size_t) { return mine; }, all);
  }

  void barrier() override {
    enter();
    const InMpi in_mpi;
    begin(mpi_.barrier(error()));
    wait();
  }

  void all_reduce(std::span<float> values) override {
    enter();
    const InMpi in_mpi;
    if (watch_) watch_->end_process_when_broken(true);
    begin(mpi_.all_reduce(values.data(), values.size(), error()));
    if (watch_) watch_->end_process_when_broken(false);
  }

  bool broken() const noexcept override { return left_ || (watch_ && watch_->broken()); }

  void leave(int code, const std::string& why) noexcept override {
    if (watch_) watch_->leave(code, why);
    try {
      if (!left_) left_with_ = {code, why};
    } catch (const std::exception&) {
      left_with_.code = code;
    }
    left_ = true;
  }

 private:
  void end() {
    if (watch_ && std::uncaught_exceptions() > exceptions_)
      watch_->leave(ExchangeError::kLost, watch_->name_of(rank()) + " has ended");
    if (failed_ || broken() || std::uncaught_exceptions() > exceptions_) return;
    try {
      if (watch_) watch_->ended(calls_);
      begin(mpi_.barrier(error()));
      wait();
    } catch (const std::exception&) {
      return;
    }
    const InMpi in_mpi;
    if (watch_) watch_->end_process_when_broken(true);
    mpi_.finish(error());
    if (watch_) watch_->goodbye();
  }

  /// Ends this rank's part of a broken exchange. mpirun may end all processes when the first has ended, so the others
  /// wait for rank 0, which says what went wrong and writes what it has.
  ///
  /// MPICH's mpirun kills the others only if a process ends unannounced. MPICH 4.2.0 to 4.2.2 lose all exit codes if
  /// two do, and end with 0. So all announce their end: rank 0 last, when it knows that nobody is left to be killed. A
  /// rank without a connection would wait for ever, so where there is one nobody announces its end.
  void end_broken() {
    using namespace std::chrono_literals;
    const bool announced = kind_ == MpiKind::kMpich && warnings_.empty();
    if (rank() == 0) {
      if (announced && watch_->wait_for_goodbyes(2s)) mpi_.end_without_finish();
      return;
    }
    if (announced) {
      mpi_.end_without_finish();
      watch_->goodbye();
    }
    watch_->wait_for_rank_0(20s);
  }

  softamp_mpi_error error() { return {text_.data(), text_.size()}; }
  std::string text() const { return text_.data(); }

  void check_count(const char* name, size_t count) const {
    if (count != static_cast<size_t>(ranks()))
      throw std::logic_error(std::string("exchange: ") + name + " has " + std::to_string(count) +
                             " entries; expected one for each of " + std::to_string(ranks()) + " ranks");
  }

  /// mpirun of one MPI and the module of another give as many runs of one rank each.
  void check_launcher(MpiKind kind) const {
    const auto expected = mpi_launcher_ranks();
    if (!expected || *expected == 1 || ranks() != 1) return;
    throw std::runtime_error(about() + ": this process is alone, but was started as one of " +
                             std::to_string(*expected) + "; expected the mpirun of " + ::softamp::name_of(kind));
  }

  void meet() {
    // From here on others would notice that a signal ends this process, which is to end as one of an interrupted run,
    // until it has ended.
    [[maybe_unused]] static const InterruptGuard* const guard = new InterruptGuard;
    const auto each = [&](auto& all) {
      std::vector<Room> rooms;
      for (auto& one : all) rooms.push_back(std::as_writable_bytes(std::span(&one, 1)));
      return rooms;
    };
    const auto gather = [&]<typename T>(const T& mine) {
      std::vector<T> all(static_cast<size_t>(ranks()));
      all_gather(std::as_bytes(std::span(&mine, 1)), each(all));
      return all;
    };
    auto watch = std::make_unique<PeerWatch>(rank(), gather(own_peer_card()));
    const PeerDoor door = gather(watch->door())[0];
    // From here on a loss is seen by those that are connected.
    watch_ = std::move(watch);
    watch_of_abort = watch_.get();
    struct sigaction aborts {};
    aborts.sa_handler = softamp_mpi_aborts;
    ::sigaction(SIGABRT, &aborts, nullptr);
    struct Report {
      bool connected;
      std::array<char, 500> why_not;
    } report{watch_->connect(door), {}};
    watch_->why_not().copy(report.why_not.data(), report.why_not.size() - 1);
    const std::vector<Report> reports = gather(report);
    for (size_t r = 0; r < reports.size(); ++r)
      if (!reports[r].connected)
        warnings_.push_back(watch_->name_of(static_cast<int>(r)) + " has no connection to " + watch_->name_of(0) +
                            ", beside " + about() + ": if it ends without a word, the others wait for ever (" +
                            reports[r].why_not.data() + ")");
    calls_ = 0;
  }

  template <typename To>
  void transfer(const To& to, std::span<const Room> from) {
    enter();
    const auto own = static_cast<size_t>(rank()), count = static_cast<size_t>(ranks());
    sends_.clear();
    receives_.clear();
    // Each rank begins with the one behind it, so that not all turn to the same one at once.
    for (size_t n = 1; n < count; ++n) {
      const size_t next = (own + n) % count, last = (own + count - n) % count;
      if (const Bytes bytes = to(next); !bytes.empty())
        sends_.push_back({const_cast<std::byte*>(bytes.data()), bytes.size(), static_cast<int32_t>(next)});
      if (!from[last].empty()) receives_.push_back({from[last].data(), from[last].size(), static_cast<int32_t>(last)});
    }
    const InMpi in_mpi;
    begin(mpi_.transfer(sends_.data(), sends_.size(), receives_.data(), receives_.size(), error()));
    if (const Bytes mine = to(own); !mine.empty() && mine.data() != from[own].data())
      std::memmove(from[own].data(), mine.data(), mine.size());
    wait();
  }

  void enter() {
    check();
    ++calls_;
  }

  /// Throws if the exchange is broken, or another rank has ended before this call.
  void check() {
    if (broken()) {
      // Another rank may be reading what this one was sending, until it is told, too.
      if (!failed_ && sending_) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      failed_ = true;
      if (watch_ && watch_->broken()) throw ExchangeError(watch_->why_broken().why, watch_->why_broken().code);
      throw ExchangeError(left_with_.why, left_with_.code);
    }
    if (!watch_) return;
    const auto [calls, other] = watch_->first_ended();
    if (calls >= calls_) return;
    watch_->leave(ExchangeError::kLost, watch_->name_of(other) + " has ended");
    check();
  }

  void begin(int result) {
    if (result < 0) fail();
  }

  void wait() {
    const InMpi in_mpi;
    sending_ = true;
    Patience patience;
    for (;;) {
      int32_t moved = 0;
      const int result = mpi_.poll(&moved, error());
      if (result > 0) {
        sending_ = false;
        return;
      }
      if (result < 0) fail();
      if (moved > 0) patience.again();
      check();
      patience.wait();
    }
  }

  /// MPI has given an error: most often that a rank is lost, which the watch can name.
  [[noreturn]] void fail() {
    failed_ = true;
    const std::string what = about() + ": " + text();
    for (const auto until = Clock::now() + std::chrono::seconds(2); watch_ && Clock::now() < until;) {
      check();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    leave(ExchangeError::kLost, watch_ ? watch_->name_of(rank()) + ": " + what : what);
    check();
    throw ExchangeError(what);  // not reached
  }

  const softamp_mpi_table& mpi_;
  const MpiKind kind_;
  const pid_t owner_ = ::getpid();
  const int exceptions_ = std::uncaught_exceptions();
  softamp_mpi_ranks place_{};
  std::array<char, 64> about_{};
  std::array<char, 1024> text_{};
  std::unique_ptr<PeerWatch> watch_;  ///< none where there is one rank
  std::vector<std::string> warnings_;
  std::vector<softamp_mpi_message> sends_, receives_;
  uint64_t calls_ = 0;
  bool failed_ = false, sending_ = false;
  std::atomic<bool> left_{false};
  PeerWatch::Break left_with_;
};

}  // namespace

std::unique_ptr<MpiExchange> open_mpi_exchange(MpiKind kind, const std::filesystem::path& folder) {
  return std::make_unique<Mpi>(kind, folder);
}

}  // namespace softamp
