#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "softamp/train/exchange.h"

namespace softamp {
namespace {

/// What the threads share. A call is over when all have come to it, and again when all have taken what they came for.
struct Meeting {
  explicit Meeting(int count) : ranks(count), to(static_cast<size_t>(count)) {}

  void wait_for_all() {
    std::unique_lock lock(mutex);
    check();
    const uint64_t turn = turns;
    if (++here == ranks) {
      here = 0;
      ++turns;
      all_here.notify_all();
      return;
    }
    all_here.wait(lock, [&] { return turns != turn || broken; });
    if (turns == turn) check();
  }
  void check() const {
    if (broken) throw ExchangeError(why, code);
  }
  void leave(int with, const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (broken) return;
    broken = true;
    code = with;
    why = reason;
    all_here.notify_all();
  }

  const int ranks;
  std::vector<std::span<const Exchange::Bytes>> to;  ///< by rank, during a call
  std::mutex mutex;
  std::condition_variable all_here;
  int here = 0;
  uint64_t turns = 0;
  bool broken = false;
  int code = 0;
  std::string why;
};

class InProcess final : public Exchange {
 public:
  InProcess(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  ~InProcess() override { leave(ExchangeError::kLost, "rank " + std::to_string(rank_) + " has ended"); }

  int rank() const override { return rank_; }
  int ranks() const override { return meeting_->ranks; }
  int local_rank() const override { return rank_; }
  int local_ranks() const override { return meeting_->ranks; }
  std::string about() const override { return "in process"; }

  void all_to_all(std::span<const Bytes> to, std::span<const Room> from) override {
    meeting_->to[static_cast<size_t>(rank_)] = to;
    meeting_->wait_for_all();
    for (size_t i = 0; i < from.size(); ++i) {
      const Bytes mine = meeting_->to[i][static_cast<size_t>(rank_)];
      if (mine.size() != from[i].size())
        throw std::logic_error("exchange: rank " + std::to_string(i) + " sends " + std::to_string(mine.size()) +
                               " bytes to rank " + std::to_string(rank_) + "; expected " +
                               std::to_string(from[i].size()));
      if (!mine.empty() && mine.data() != from[i].data()) std::memcpy(from[i].data(), mine.data(), mine.size());
    }
    meeting_->wait_for_all();
  }
  void all_gather(Bytes mine, std::span<const Room> all) override {
    const std::vector<Bytes> to(all.size(), mine);
    all_to_all(to, all);
  }
  void barrier() override { meeting_->wait_for_all(); }

  bool broken() const noexcept override {
    const std::lock_guard lock(meeting_->mutex);
    return meeting_->broken;
  }
  void leave(int code, const std::string& why) noexcept override { meeting_->leave(code, why); }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Exchange>> exchange_in_process(int ranks) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::vector<std::unique_ptr<Exchange>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(std::make_unique<InProcess>(meeting, r));
  return all;
}

}  // namespace softamp
