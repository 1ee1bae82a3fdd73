#include "src/program/ranks/ranks_here.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "src/exchange/quiet_thread.h"
#include "src/program/usage.h"
#include "src/text/printable.h"

namespace softamp::program {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kMostWait = 1s;                      ///< for ranks that do not run softamp yet, before a verb begins
constexpr std::chrono::milliseconds kTelling{500};  ///< that others have to tell of trouble before this process ends
constexpr std::chrono::milliseconds kPause{50};     ///< between two looks
constexpr auto kAbsent = 10s;  ///< after which a rank that was not seen has been there and has ended
constexpr const char* kRankNames[] = {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="};
/// Options with which `softamp train` prints something and does not train.
constexpr std::string_view kPrints[] = {"--help", "-h", "--print-settings", "--print-network", "--print-recipe-fp8"};

/// The texts, each ended by a zero, of a file of /proc. Empty where the process is gone, or another user's.
std::vector<std::string> texts_of(int process, const char* file) {
  std::ifstream in("/proc/" + std::to_string(process) + "/" + file, std::ios::binary);
  std::vector<std::string> texts;
  for (std::string text; std::getline(in, text, '\0');) texts.push_back(text);
  return texts;
}

/// 0 where the process is gone.
int parent_of(int process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(in, text,
               '\0');  // empty where the process ends before it is read, which iterators of the buffer would throw
  const size_t name_end = text.rfind(')');  // of the program, which may have any character
  if (name_end == std::string::npos || name_end + 4 >= text.size() || text[name_end + 2] == 'Z') return 0;
  int parent = 0;
  std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

/// The rank that a launcher gave to it when it began; nothing where none did.
std::optional<int> rank_of(int process) {
  for (const std::string& variable : texts_of(process, "environ"))
    for (const std::string_view name : kRankNames) {
      int rank = 0;
      if (!variable.starts_with(name)) continue;
      const char* const end = variable.data() + variable.size();
      if (std::from_chars(variable.data() + name.size(), end, rank).ptr == end) return rank;
    }
  return std::nullopt;
}

/// The nearest process above this one that is no rank; 0 where there is none.
int launcher_of(int process) {
  while (process > 1 && rank_of(process)) process = parent_of(process);
  return process > 1 ? process : 0;
}

}  // namespace

bool RankHere::is_softamp() const { return !command.empty() && fs::path(command[0]).filename() == "softamp"; }

bool RankHere::trains() const {
  if (!is_softamp() || command.size() < 2 || command[1] != "train") return false;
  return std::none_of(command.begin() + 2, command.end(), [](const std::string& word) {
    const std::string_view option = std::string_view(word).substr(0, word.find('='));
    return std::find(std::begin(kPrints), std::end(kPrints), option) != std::end(kPrints);
  });
}

std::string RankHere::verb() const {
  std::string text = "softamp";
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string_view option = std::string_view(command[i]).substr(0, command[i].find('='));
    if (i == 1 || std::find(std::begin(kPrints), std::end(kPrints), option) != std::end(kPrints))
      text += ' ' + files::printable(option);
  }
  return text;
}

RanksHere::RanksHere(const Launched& launched) : launched_(launched), launcher_(launcher_of(::getpid())) {}

const std::vector<RankHere>& RanksHere::look() {
  ranks_.clear();
  std::error_code error;
  for (fs::directory_iterator i(launcher_ ? "/proc" : "", error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    int process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ptr != name.data() + name.size()) continue;
    if (parent_of(process) != launcher_) continue;
    if (const auto rank = rank_of(process)) ranks_.push_back({process, *rank, texts_of(process, "cmdline")});
  }
  std::sort(ranks_.begin(), ranks_.end(), [](const RankHere& a, const RankHere& b) { return a.rank < b.rank; });
  for (const RankHere& r : ranks_) seen_[r.rank] = r.process;
  return ranks_;
}

bool RanksHere::all_seen() const {
  return launcher_ == 0 || !launched_.knows_here || seen_.size() >= static_cast<size_t>(launched_.ranks_here);
}

std::string RanksHere::trouble_of_absent() const {
  if (all_seen()) return {};
  return std::to_string(static_cast<size_t>(launched_.ranks_here) - seen_.size()) + " of " +
         std::to_string(launched_.ranks_here) + " processes that " + launched_.by +
         " started on this machine have ended before all ranks had met; expected `softamp train` on all of them";
}

bool RanksHere::direct() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const RankHere& r) { return r.process == ::getpid(); });
}

bool RanksHere::tells(bool of_training) const {
  return std::none_of(ranks_.begin(), ranks_.end(), [&](const RankHere& r) {
    return r.rank < launched_.rank && (of_training ? r.trains() : r.is_softamp());
  });
}

std::string RanksHere::trouble() const {
  const auto first = [&](bool trains) {
    return std::find_if(ranks_.begin(), ranks_.end(),
                        [&](const RankHere& r) { return r.is_softamp() && r.trains() == trains; });
  };
  const auto training = first(true), other = first(false);
  if (training != ranks_.end() && other != ranks_.end())
    return "rank " + std::to_string(other->rank) + " runs `" + other->verb() + "`, and rank " +
           std::to_string(training->rank) + " `" + training->verb() +
           "`, which trains on all ranks together; expected `softamp train` on all of them";
  for (const auto& [rank, process] : seen_)
    if (parent_of(process) == 0)
      return "rank " + std::to_string(rank) +
             " has ended before all ranks had met; expected `softamp train` on all of them";
  return {};
}

bool ranks_agree(const Launched& launched) {
  if (launched.ranks_here < 2) return true;
  RanksHere ranks(launched);
  const auto until = Clock::now() + kMostWait;
  for (;;) {
    const std::vector<RankHere>& all = ranks.look();
    // A command of a script may be one of several of its rank.
    if (all.empty() || !ranks.direct()) return true;
    const bool some = std::any_of(all.begin(), all.end(), [](const RankHere& r) { return r.trains(); });
    if (some && std::any_of(all.begin(), all.end(), [](const RankHere& r) { return r.is_softamp() && !r.trains(); })) {
      const bool tells = ranks.tells(false);
      const std::string trouble = ranks.trouble();
      std::this_thread::sleep_for(tells ? kTelling / 2 : kTelling);  // so that all the others see it, too
      if (tells) throw UsageError(trouble);
      return false;
    }
    // A script that has not come to its softamp yet is waited for, too.
    const bool all_run = std::all_of(all.begin(), all.end(), [](const RankHere& r) { return r.is_softamp(); });
    if ((ranks.all_seen() && all_run) || Clock::now() >= until) return true;
    std::this_thread::sleep_for(5ms);
  }
}

RankStartWatch::RankStartWatch(const Launched& launched) : ranks_(launched) {
  if (launched.ranks_here < 2) return;
  // MPICH's mpirun has a code and words of its own for a process that ends while the MPI starts. Most ranks whose
  // command line is wrong have ended by now.
  std::this_thread::sleep_for(2 * kPause);
  ranks_.look();
  end_if(ranks_.trouble());
  thread_ = quiet_thread([this] { run(); });
}

RankStartWatch::~RankStartWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RankStartWatch::end_if(std::string trouble) const {
  if (trouble.empty()) return;
  if (ranks_.tells(true)) {
    trouble = "softamp train: " + trouble + "\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, trouble.data(), trouble.size());
  } else {
    std::this_thread::sleep_for(kTelling);
  }
  ::_exit(kUsage);
}

void RankStartWatch::run() {
  for (auto wait = kTelling, passed = wait;; wait = kPause, passed += wait) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, wait, [&] { return stop_; })) return;
    ranks_.look();
    end_if(ranks_.trouble());
    if (passed > kAbsent) end_if(ranks_.trouble_of_absent());
  }
}

}  // namespace softamp::program
