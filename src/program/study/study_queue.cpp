#include "src/program/study/study_queue.h"

#include <algorithm>
#include <map>
#include <utility>

namespace softamp::program {
namespace {

using std::chrono::milliseconds;

/// Between two looks at what others do: at first short, then longer from look to look, and always so many times as long
/// as the look took: many processes may look at one file server.
constexpr milliseconds kShortestPause{50}, kUsualPause{1000}, kLongestPause{5000};
constexpr int kPausesPerLook = 10;
/// A wait that is shorter is not told of.
constexpr milliseconds kUntold{500};
constexpr milliseconds kSignalsSeenWithin{100};

}  // namespace

RunQueue::RunQueue(const std::vector<StudyRun>& runs, KeptRuns* kept, std::vector<std::string> keys,
                   std::vector<size_t> order, Results& results, Told told)
    : runs_(runs), kept_(kept), keys_(std::move(keys)), twins_(runs.size()), results_(results), told_(std::move(told)) {
  if (kept_) claims_ = std::make_unique<files::Claims>(kept_->folder(), "--out");
  std::map<std::string, size_t> first;
  for (const size_t run : order) {
    if (results_[run]) continue;
    if (kept_) {
      const auto [at, is_new] = first.emplace(keys_[run], run);
      if (!is_new) {
        twins_[at->second].push_back(run);
        continue;
      }
    }
    order_.push_back(run);
  }
}

void RunQueue::settle(size_t run, const StudyResult& result) {
  for (const size_t twin : twins_[run]) results_[twin] = result;
  results_[run] = result;
}

bool RunQueue::find(size_t run) {
  const std::optional<StudyResult> result = kept_->find(keys_[run]);
  if (!result) return false;
  settle(run, *result);
  told_.found(*result);
  return true;
}

RunQueue::Look RunQueue::look_at(size_t run) {
  if (!kept_) return Look::kOurs;
  if (find(run)) return Look::kDone;
  if (!claims_->take(keys_[run])) return Look::kOthers;
  // Whoever did it may have kept it and removed the claim since.
  if (!find(run)) return Look::kOurs;
  claims_->finish(keys_[run]);
  return Look::kDone;
}

/// Of those that others have; what is done is removed.
std::optional<size_t> RunQueue::first_free(std::vector<size_t>& waiting) {
  for (size_t w = 0; w < waiting.size() && !told_.stopped();) {
    const size_t run = waiting[w];
    const Look look = look_at(run);
    if (look == Look::kOthers) {
      ++w;
      continue;
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(w));
    if (look == Look::kOurs) return run;
  }
  return std::nullopt;
}

void RunQueue::wait(std::unique_lock<std::mutex>& lock) {
  const Clock::time_point now = Clock::now();
  if (under_way_ > 0 || idle_ == Clock::time_point{}) idle_ = now;
  if (!waits_ && now - idle_ >= kUntold) {
    const auto claim = files::claim_of(kept_->folder(), keys_[waiting_.front()]);
    const files::ClaimHolder holder = claim ? claim->holder : files::ClaimHolder{};
    // Its maker may be about to write its name.
    if (holder.process != 0 || now - idle_ >= kUntold + files::ClaimPace{}.nameless) {
      waits_ = true;
      told_.waits(waiting_.size(), holder.text());
    }
  }
  changed_.wait_for(lock, std::min(kSignalsSeenWithin, pause_));
}

std::optional<size_t> RunQueue::next() {
  std::unique_lock lock(mutex_);
  const auto given = [this](size_t run) {
    ++under_way_;
    idle_ = {};
    pause_ = milliseconds{0};
    return run;
  };
  while (!told_.stopped()) {
    while (at_ < order_.size()) {
      const size_t run = order_[at_++];
      const Look look = look_at(run);
      if (look == Look::kOurs) return given(run);
      if (look == Look::kOthers) waiting_.push_back(run);
      if (told_.stopped()) return std::nullopt;
    }
    if (waiting_.empty()) return std::nullopt;
    if (const Clock::time_point now = Clock::now(); now - looked_ >= pause_) {
      const std::optional<size_t> run = first_free(waiting_);
      looked_ = Clock::now();
      const auto least = std::chrono::duration_cast<milliseconds>(looked_ - now) * kPausesPerLook;
      pause_ = std::clamp(std::max(least, std::min(pause_ * 5 / 4, kUsualPause)), kShortestPause, kLongestPause);
      if (run) return given(*run);
      if (waiting_.empty()) return std::nullopt;
    }
    wait(lock);
  }
  return std::nullopt;
}

void RunQueue::keep(size_t run, RunInputs read, StudyResult result) {
  if (kept_) {
    const std::string& key = keys_[run];
    // Where this process was stopped for so long that another took the run over, that one's result stays.
    if (claims_->holds(key) || !kept_->find(key)) kept_->keep(runs_[run].settings, std::move(read), result);
    claims_->finish(key);
  }
  const std::lock_guard lock(mutex_);
  settle(run, result);
  --under_way_;
}

void RunQueue::give_up(size_t run) {
  if (claims_) claims_->give_up(keys_[run]);
  const std::lock_guard lock(mutex_);
  --under_way_;
}

void RunQueue::alive() {
  if (claims_ && !claims_->why_no_thread().empty()) claims_->beat();
}

}  // namespace softamp::program
