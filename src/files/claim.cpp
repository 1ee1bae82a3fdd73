#include "src/files/claim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "src/files/output_file.h"
#include "src/text/printable.h"

namespace softamp::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMiddle = ".claim.";

/// The beginning of a small file; nothing where it cannot be read.
std::optional<std::string> read_small(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  char text[4096];
  size_t size = 0;
  while (size < sizeof text) {
    const ssize_t n = ::read(descriptor, text + size, sizeof text - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      ::close(descriptor);
      return std::nullopt;
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  ::close(descriptor);
  return std::string(text, size);
}

std::string first_line(const fs::path& file) {
  const std::string text = read_small(file).value_or("");
  return text.substr(0, text.find('\n'));
}

template <class T>
T number(std::string_view text) {
  T value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  return bad == std::errc{} && end == text.data() + text.size() ? value : T{0};
}

/// What /proc/PROCESS/stat says after the name, which may hold anything: state, then numbers from field 4 on.
struct Stat {
  char state = 0;
  uint64_t start = 0;  ///< 0: not known
};
Stat stat_of(const std::string& process) {
  const std::string text = read_small("/proc/" + process + "/stat").value_or("");
  const size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos || name_ends + 2 >= text.size()) return {};
  constexpr int kState = 3, kStart = 22;
  Stat stat{text[name_ends + 2]};
  size_t at = name_ends + 2;
  for (int field = kState; field < kStart; ++field) {
    at = text.find(' ', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  stat.start = number<uint64_t>(std::string_view(text).substr(at, text.find(' ', at) - at));
  return stat;
}

/// The value of a line "name value"; "" where there is none.
std::string_view value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ' ')
      return line.substr(name.size() + 1);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

ClaimHolder holder_from(std::string_view text) {
  ClaimHolder holder;
  holder.host = value_of(text, "host");
  holder.boot = value_of(text, "boot");
  holder.pid_namespace = value_of(text, "pids");
  holder.process = number<int32_t>(value_of(text, "process"));
  holder.start = number<uint64_t>(value_of(text, "start"));
  return holder;
}

fs::path claim_file(const fs::path& folder, const std::string& key, int generation) {
  return folder / (key + std::string(kMiddle) + std::to_string(generation));
}

/// Calls `each` with the generations that are there, in rising order. One that is missing ends nothing: its maker may
/// have given it up in the moment in which another took it over.
template <class Each>
void generations_of(const fs::path& folder, const std::string& key, const Each& each) {
  for (int generation = 0, missing = 0; missing < 2; ++generation) {
    struct stat status {};
    const bool there = ::lstat(claim_file(folder, key, generation).c_str(), &status) == 0;
    missing = there ? 0 : missing + 1;
    if (there) each(generation, status);
  }
}

}  // namespace

ClaimHolder ClaimHolder::me() {
  ClaimHolder me;
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) == 0) me.host = name;
  std::replace(me.host.begin(), me.host.end(), '\n', ' ');
  me.boot = first_line("/proc/sys/kernel/random/boot_id");
  char link[64] = {};
  if (const ssize_t n = ::readlink("/proc/self/ns/pid", link, sizeof link - 1); n > 0)
    me.pid_namespace.assign(link, static_cast<size_t>(n));
  me.process = ::getpid();
  me.start = stat_of("self").start;
  return me;
}

bool ClaimHolder::comparable(const ClaimHolder& other) const {
  const auto same = [](const std::string& a, const std::string& b) { return !a.empty() && a == b; };
  return same(host, other.host) && same(boot, other.boot) && same(pid_namespace, other.pid_namespace) && process > 0 &&
         start > 0;
}

bool ClaimHolder::gone(const ClaimHolder& me) const {
  if (!comparable(me)) return false;
  if (::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return true;
  const Stat now = stat_of(std::to_string(process));
  if (now.start == 0) return false;  // of another user, whose processes are hidden
  return now.start != start || now.state == 'Z' || now.state == 'X';
}

std::string ClaimHolder::text() const {
  return process == 0 ? std::string("an unknown process") : printable(host) + " process " + std::to_string(process);
}

/// Gives signs of life until it is told to stop.
struct Claims::Thread {
  std::mutex mutex;
  std::condition_variable told;
  bool stop = false;
  std::thread thread;

  explicit Thread(Claims& claims) {
    thread = std::thread([this, &claims] {
      std::unique_lock lock(mutex);
      while (!told.wait_for(lock, claims.pace_.beat, [this] { return stop; })) {
        lock.unlock();
        claims.beat();
        lock.lock();
      }
    });
  }
  ~Thread() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    told.notify_all();
    thread.join();
  }
};

Claims::Claims(fs::path folder, std::string option, ClaimPace pace, ClaimHolder me, Now now)
    : folder_(std::move(folder)),
      option_(std::move(option)),
      pace_(pace),
      me_(std::move(me)),
      now_(std::move(now)),
      owner_(::getpid()) {}

Claims::~Claims() {
  if (::getpid() != owner_) {
    thread_.release();  // the parent's, which does not run here
    return;
  }
  thread_.reset();
  for (const auto& [key, generation] : held_) leave(key, generation);
}

fs::path Claims::file(const std::string& key, int generation) const { return claim_file(folder_, key, generation); }

std::optional<Claims::Found> Claims::highest(const std::string& key) const {
  std::optional<Found> found;
  generations_of(folder_, key, [&](int generation, const struct stat& status) {
    found = {generation, {}, std::to_string(status.st_mtim.tv_sec) + '.' + std::to_string(status.st_mtim.tv_nsec)};
  });
  if (!found) return found;
  // What cannot be read is not empty: then its time alone is a sign.
  found->text = read_small(file(key, found->generation)).value_or("?");
  found->sign += '\n' + found->text;
  return found;
}

bool Claims::dead(const std::string& key, const Found& claim) {
  if (holder_from(claim.text).gone(me_)) return true;
  Seen& seen = seen_[key];
  const Clock::time_point now = now_();
  if (seen.generation != claim.generation || seen.sign != claim.sign) {
    seen = {claim.generation, claim.sign, now, {}};
    return false;
  }
  seen.silent += std::min<Clock::duration>(now - std::exchange(seen.looked, now), pace_.beat);
  return seen.silent >= (claim.text.empty() ? pace_.nameless : pace_.silence);
}

/// All that is said of this process, with the number of its signs of life; always of one length.
std::string Claims::text() const {
  char beats[32];
  std::snprintf(beats, sizeof beats, "%020llu", static_cast<unsigned long long>(beats_));
  return "softamp claim\nhost " + me_.host + "\nboot " + me_.boot + "\npids " + me_.pid_namespace + "\nprocess " +
         std::to_string(me_.process) + "\nstart " + std::to_string(me_.start) + "\nbeats " + beats + "\n";
}

/// False where there is such a file.
bool Claims::make(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0) throw OutputError(file, option_, std::strerror(errno));
  const std::string bytes = text();
  int why = 0;
  for (size_t done = 0; done < bytes.size() && why == 0;) {
    const ssize_t n = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (n >= 0)
      done += static_cast<size_t>(n);
    else if (errno != EINTR)
      why = errno;
  }
  if (::close(descriptor) != 0 && errno != EINTR && why == 0) why = errno;
  if (why == 0) return true;
  ::unlink(file.c_str());
  throw OutputError(file, option_, std::strerror(why));
}

void Claims::start_thread() {
  if (thread_ || !why_no_thread_.empty()) return;
  try {
    thread_ = std::make_unique<Thread>(*this);
  } catch (const std::system_error& e) {
    why_no_thread_ = e.code().message();
  }
}

bool Claims::take(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (held_.contains(key)) return false;
  int generation = 0;
  if (const std::optional<Found> claim = highest(key)) {
    if (!dead(key, *claim)) return false;
    generation = claim->generation + 1;
  }
  ++beats_;  // no two claims of this process have one text
  if (!make(file(key, generation))) return false;
  // Another may hold a higher one, where the one below was removed as this one was made.
  if (struct stat above{}; ::lstat(file(key, generation + 1).c_str(), &above) == 0) {
    remove(key, generation);
    return false;
  }
  if (held_.empty()) last_beat_ = now_();
  held_[key] = generation;
  seen_.erase(key);
  start_thread();
  return true;
}

void Claims::remove(const std::string& key, int generation) const { ::unlink(file(key, generation).c_str()); }

/// One that has been taken over stays until the work is done: the numbers that are there have no gap.
void Claims::leave(const std::string& key, int generation) const {
  struct stat above {};
  if (::lstat(file(key, generation + 1).c_str(), &above) != 0) remove(key, generation);
}

void Claims::give_up(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto mine = held_.find(key);
  if (mine == held_.end()) return;
  leave(key, mine->second);
  held_.erase(mine);
}

void Claims::finish(const std::string& key) {
  const std::lock_guard lock(mutex_);
  // The highest goes last: until then nobody takes another for the holder.
  generations_of(folder_, key, [&](int generation, const struct stat&) { remove(key, generation); });
  held_.erase(key);
  seen_.erase(key);
}

bool Claims::holds(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto mine = held_.find(key);
  if (mine == held_.end()) return false;
  const std::optional<Found> claim = highest(key);
  return claim && claim->generation == mine->second;
}

std::string Claims::why_no_thread() const {
  const std::lock_guard lock(mutex_);
  return why_no_thread_;
}

void Claims::beat() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = now_();
  // The thread may wake a little early.
  if (held_.empty() || now - last_beat_ < pace_.beat * 9 / 10) return;
  last_beat_ = now;
  ++beats_;
  const std::string bytes = text();
  for (const auto& [key, generation] : held_) {
    // Where this fails, another does the work as well. O_CREAT is left out: a claim that is gone stays so.
    const int descriptor = ::open(file(key, generation).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (::pwrite(descriptor, bytes.data(), bytes.size(), 0) < 0) errno = 0;
    ::close(descriptor);
  }
}

std::optional<ClaimSeen> claim_of(const fs::path& folder, const std::string& key) {
  std::optional<int> highest;
  generations_of(folder, key, [&](int generation, const struct stat&) { highest = generation; });
  if (!highest) return std::nullopt;
  const ClaimHolder holder = holder_from(read_small(claim_file(folder, key, *highest)).value_or(""));
  return ClaimSeen{holder, holder.gone(ClaimHolder::me())};
}

std::string_view key_of_claim(std::string_view name) {
  const size_t at = name.rfind(kMiddle);
  if (at == std::string_view::npos || at == 0) return {};
  const std::string_view generation = name.substr(at + kMiddle.size());
  if (generation.empty() || generation.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return name.substr(0, at);
}

}  // namespace softamp::files
