#include "src/exchange/peer_watch.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>

#include "softamp/machine/interrupt.h"
#include "softamp/train/exchange.h"
#include "src/exchange/peer_socket.h"
#include "src/exchange/quiet_thread.h"

namespace softamp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kNever = UINT64_MAX;
/// How long a connection may be silent before it has said who it is, and how many such there may be.
constexpr auto kStrangerTime = std::chrono::seconds(10);
constexpr size_t kMostStrangers = 1024;
constexpr const char* kInterrupted = "interrupted, and ended before all processes had come to the end of the run";

template <size_t N>
void put(std::array<char, N>& to, const std::string& text) {
  const size_t size = std::min(text.size(), N - 1);
  std::memcpy(to.data(), text.data(), size);
  to[size] = 0;
}

template <size_t N>
std::string text_of(const std::array<char, N>& from) {
  return std::string(from.data(), ::strnlen(from.data(), N));
}

std::string text_of(const std::array<unsigned char, 16>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void fill_randomly(std::array<unsigned char, 16>& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t size = ::getrandom(bytes.data() + at, bytes.size() - at, 0);
    if (size > 0)
      at += static_cast<size_t>(size);
    else if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "exchange: getrandom");
  }
}

/// The address as a socket takes it, and its length.
socklen_t socket_address(const PeerDoor::Address& from, uint16_t port, sockaddr_storage& to) {
  std::memset(&to, 0, sizeof to);
  if (from.family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(to);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, from.bytes.data(), 16);
    return sizeof v6;
  }
  auto& v4 = reinterpret_cast<sockaddr_in&>(to);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  std::memcpy(&v4.sin_addr, from.bytes.data(), 4);
  return sizeof v4;
}

std::string text_of(const PeerDoor::Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(address.family, address.bytes.data(), text, sizeof text);
  return text;
}

const PeerDoor::Address kLoopback = {AF_INET, {127, 0, 0, 1}};

/// Those of this machine under which another one may reach it.
void find_addresses(PeerDoor& door) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return;
  for (const ifaddrs* i = all; i && door.address_count < door.addresses.size(); i = i->ifa_next) {
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK)) continue;
    PeerDoor::Address address{i->ifa_addr->sa_family, {}};
    if (address.family == AF_INET) {
      std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, 4);
    } else if (address.family == AF_INET6) {
      const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&v6)) continue;  // means something else on each machine
      std::memcpy(address.bytes.data(), &v6, 16);
    } else {
      continue;
    }
    door.addresses[door.address_count++] = address;
  }
  ::freeifaddrs(all);
}

/// A listening socket on a port that the system chooses; none where that fails.
Socket listen_at(const sockaddr_storage& address, socklen_t length, uint16_t& port) {
  Socket socket(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  if (address.ss_family == AF_INET6) {
    const int both = 0;  // IPv4 as well
    ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  }
  sockaddr_storage own;
  socklen_t own_length = sizeof own;
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0 ||
      ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &own_length) != 0) {
    socket.close();
    return socket;
  }
  port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(own).sin_port);
  return socket;
}

}  // namespace

PeerCard own_peer_card() {
  PeerCard card;
  if (::gethostname(card.host.data(), card.host.size() - 1) != 0) put(card.host, "unknown host");
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> network{};
  if (boot.empty() || ::readlink("/proc/self/ns/net", network.data(), network.size() - 1) <= 0)
    put(card.machine, text_of(card.host));
  else
    put(card.machine, boot + " " + text_of(network));
  card.process = static_cast<int32_t>(::getpid());
  return card;
}

class PeerWatch::Star {
 public:
  Star(int rank, std::vector<PeerCard> cards)
      : rank_(rank), cards_(std::move(cards)), links_(rank == 0 ? cards_.size() : 1), owner_(::getpid()) {
    wake_ = Socket(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_) throw std::system_error(errno, std::generic_category(), "exchange: eventfd");
    if (rank == 0 && cards_.size() > 1) {
      listen();
      start();
    }
  }

  ~Star() {
    if (::getpid() != owner_) {  // a fork: the thread is the other process's
      if (thread_.joinable()) thread_.detach();
      return;
    }
    if (!thread_.joinable()) return;
    stop_ = true;
    const uint64_t one = 1;
    while (::write(wake_.fd(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  bool connect(const PeerDoor& door, std::chrono::milliseconds at_most);

  const Break& why_broken() const noexcept { return break_; }

  void leave(int code, const std::string& why) noexcept {
    const std::lock_guard lock(mutex_);
    break_with(code, why, -1, -1);
  }

  void ended(uint64_t calls) noexcept {
    const std::lock_guard lock(mutex_);
    tell_of_end(rank_, calls);
  }

  std::pair<uint64_t, int> first_ended() const noexcept {
    if (!someone_ended_) return {kNever, -1};
    const std::lock_guard lock(mutex_);
    return {ended_calls_, ended_rank_};
  }

  void goodbye() noexcept {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    gone_ = true;
    send_all({.type = PeerMessage::kGoodbye, .rank = rank_, .text = {}}, -1);
  }

  bool wait_for_goodbyes(std::chrono::milliseconds at_most) noexcept {
    for (const auto until = Clock::now() + at_most;;) {
      {
        const std::lock_guard lock(mutex_);
        if (std::all_of(links_.begin(), links_.end(), [](const Link& l) { return l.goodbye || !l.socket; }))
          return true;
      }
      if (Clock::now() >= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  void wait_for_rank_0(std::chrono::milliseconds at_most) noexcept {
    for (const auto until = Clock::now() + at_most; Clock::now() < until;) {
      {
        const std::lock_guard lock(mutex_);
        if (rank_ == 0 || !links_[0].socket) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  void end_process_when_broken(bool end) noexcept {
    const std::lock_guard lock(mutex_);
    end_process_ = end;
    if (end && broken_) end_process();
  }

  std::string name_of(int rank) const {
    const PeerCard& card = cards_.at(static_cast<size_t>(rank));
    return "rank " + std::to_string(rank) + " (" + text_of(card.host) + ", process " + std::to_string(card.process) +
           ")";
  }

  PeerDoor door_;
  std::string why_not_;
  std::atomic<bool> broken_{false};

 private:
  /// A connection, and at rank 0 that of the rank of its place.
  struct Link {
    Socket socket;
    PeerInbox inbox;
    bool confirmed = false;  ///< its end is a loss
    bool goodbye = false;    ///< no longer
  };
  struct Stranger {
    Socket socket;
    PeerInbox inbox;
    Clock::time_point until;
  };

  void listen();
  void start();
  void run() noexcept;
  void look_round(std::vector<pollfd>& polled);
  void take_newcomers();
  void hear_strangers();
  void hear(int from, Link& link);
  void lose(int rank, int error, bool nonsense);

  void send_all(const PeerMessage& message, int except) noexcept {
    for (size_t i = 0; i < links_.size(); ++i)
      if (links_[i].socket && static_cast<int>(i) != except) send_message(links_[i].socket.fd(), message);
  }
  /// `from`: the rank that knows already, or -1. `lost`: the one that is lost, or -1.
  void break_with(int code, const std::string& why, int from, int lost) noexcept {
    if (broken_ || gone_) return;
    // A launcher that is interrupted, or told to end, passes a signal on to all ranks, and kills what is left soon
    // after: of the ranks that it kills first nothing is to be said.
    if (const int signal = InterruptGuard::pending(); signal != 0 && code == ExchangeError::kLost) code = 128 + signal;
    try {
      if (ExchangeError::is_interruption(code)) {
        const bool tells = rank_ == 0 || (rank_ == 1 && lost == 0);
        break_ = {code, tells ? kInterrupted : ""};
      } else {
        break_ = {code, why};
      }
      send_all({.type = PeerMessage::kLeave, .rank = rank_, .code = code, .text = why}, from);
    } catch (const std::exception&) {  // no memory for the text: the code says enough
      break_.code = code;
    }
    // After it was told: whoever sees this may end the process.
    broken_ = true;
    if (end_process_) end_process();
  }
  [[noreturn]] void end_process() noexcept {
    try {
      if (ExchangeError::is_interruption(break_.code)) ::_exit(break_.code);  // all has been said at the end of the run
      const std::string text = "softamp: rank " + std::to_string(rank_) + ": " + break_.why + "\n";
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    } catch (const std::exception&) {
    }
    ::_exit(break_.code);
  }
  /// Others need to know of the least number of calls alone.
  void tell_of_end(int rank, uint64_t calls) noexcept {
    if (rank != rank_ && calls < ended_calls_) {
      ended_calls_ = calls;
      ended_rank_ = rank;
      someone_ended_ = true;
    }
    if (calls >= told_calls_ || (rank_ != 0 && rank != rank_)) return;
    told_calls_ = calls;
    send_all({.type = PeerMessage::kEnded, .rank = rank, .calls = calls, .text = {}}, rank);
  }

  const int rank_;
  const std::vector<PeerCard> cards_;
  mutable std::mutex mutex_;
  Socket wake_, listener_;
  std::vector<Link> links_;  ///< rank 0: by rank, its own is empty; others: that to rank 0
  std::vector<Stranger> strangers_;
  Break break_;
  std::atomic<bool> stop_{false}, someone_ended_{false};
  bool gone_ = false, end_process_ = false;
  uint64_t ended_calls_ = kNever, told_calls_ = kNever;
  int ended_rank_ = -1;
  const pid_t owner_;
  std::thread thread_;
};

void PeerWatch::Star::listen() {
  fill_randomly(door_.cookie);
  fill_randomly(door_.answer);
  const bool here_alone =
      std::all_of(cards_.begin(), cards_.end(), [&](const PeerCard& c) { return c.machine == cards_[0].machine; });
  sockaddr_storage address;
  if (here_alone) {
    const socklen_t length = socket_address(kLoopback, 0, address);
    listener_ = listen_at(address, length, door_.port);
  } else {
    for (const int family : {AF_INET6, AF_INET}) {
      const socklen_t length = socket_address({family, {}}, 0, address);
      listener_ = listen_at(address, length, door_.port);
      if (listener_) break;
    }
    find_addresses(door_);
  }
}

void PeerWatch::Star::start() {
  thread_ = quiet_thread([this] { run(); });
}

bool PeerWatch::Star::connect(const PeerDoor& door, std::chrono::milliseconds at_most) {
  if (rank_ == 0) return true;
  if (door.port == 0) {
    why_not_ = name_of(0) + " cannot listen for connections";
    return false;
  }
  std::vector<PeerDoor::Address> addresses(door.addresses.begin(), door.addresses.begin() + door.address_count);
  if (cards_[0].machine == cards_[static_cast<size_t>(rank_)].machine) addresses = {kLoopback};
  struct Try {
    std::string where;
    Link link;
    bool asked = false;
  };
  std::vector<Try> tries;
  const auto refused = [this](const std::string& where, const std::string& why) {
    why_not_ += (why_not_.empty() ? "" : "; ") + where + ": " + why;
  };
  for (const PeerDoor::Address& a : addresses) {
    Try t{text_of(a) + " port " + std::to_string(door.port), {}, false};
    t.link.socket = Socket(::socket(a.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_storage to;
    const socklen_t length = socket_address(a, door.port, to);
    if (t.link.socket) prepare_peer_socket(t.link.socket.fd());
    if (!t.link.socket || (::connect(t.link.socket.fd(), reinterpret_cast<const sockaddr*>(&to), length) != 0 &&
                           errno != EINPROGRESS && errno != EINTR))
      refused(t.where, std::strerror(errno));
    else
      tries.push_back(std::move(t));
  }
  if (addresses.empty()) why_not_ = name_of(0) + " has no address in a network";
  const auto until = Clock::now() + at_most;
  while (!tries.empty()) {
    std::vector<pollfd> polled;
    for (const Try& t : tries)
      polled.push_back({t.link.socket.fd(), static_cast<short>(t.asked ? POLLIN : POLLOUT), 0});
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (rest.count() <= 0) break;
    if (::poll(polled.data(), polled.size(), static_cast<int>(rest.count())) < 0 && errno != EINTR) break;
    for (size_t i = tries.size(); i-- > 0;) {
      if (polled[i].revents == 0) continue;
      Try& t = tries[i];
      std::string why;
      if (!t.asked) {
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(t.link.socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
        t.asked = true;
        if (error != 0)
          why = std::strerror(error);
        else
          send_message(t.link.socket.fd(), {.type = PeerMessage::kHello, .rank = rank_, .text = text_of(door.cookie)});
      } else {
        const bool open = t.link.inbox.read(t.link.socket.fd());
        if (const auto message = t.link.inbox.next()) {
          if (message->type == PeerMessage::kAnswer && message->text == text_of(door.answer)) {
            send_message(t.link.socket.fd(), {.type = PeerMessage::kConfirm, .rank = rank_, .text = {}});
            links_[0] = std::move(t.link);
            links_[0].confirmed = true;
            why_not_.clear();
            start();
            return true;
          }
          why = "answers as rank 0 would not";
        } else if (!open) {
          why = "closes the connection";
        } else if (t.link.inbox.nonsense()) {
          why = "answers as rank 0 would not";
        }
      }
      if (why.empty()) continue;
      refused(t.where, why);
      tries.erase(tries.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const Try& t : tries) refused(t.where, "no answer within " + std::to_string(at_most.count()) + " ms");
  return false;
}

void PeerWatch::Star::run() noexcept {
  std::vector<pollfd> polled;
  while (!stop_) {
    try {
      look_round(polled);
    } catch (const std::exception& e) {
      leave(ExchangeError::kLost, name_of(rank_) + " cannot watch the others: " + e.what());
      return;
    }
  }
}

void PeerWatch::Star::look_round(std::vector<pollfd>& polled) {
  bool waiting = false;
  {
    const std::lock_guard lock(mutex_);
    polled = {{wake_.fd(), POLLIN, 0}};
    if (listener_) polled.push_back({listener_.fd(), POLLIN, 0});
    for (const Link& link : links_)
      if (link.socket) polled.push_back({link.socket.fd(), POLLIN, 0});
    for (const Stranger& stranger : strangers_) polled.push_back({stranger.socket.fd(), POLLIN, 0});
    waiting = !strangers_.empty();
  }
  if (::poll(polled.data(), polled.size(), waiting ? 1000 : -1) < 0) {
    if (errno == EINTR) return;
    throw std::system_error(errno, std::generic_category(), "poll");
  }
  // Connections change in this thread alone, so they still are those that were polled, in the same order.
  const std::lock_guard lock(mutex_);
  size_t at = 1;
  if (listener_ && polled[at++].revents != 0) take_newcomers();
  for (size_t i = 0; i < links_.size(); ++i)
    if (links_[i].socket && polled[at++].revents != 0) hear(static_cast<int>(i), links_[i]);
  hear_strangers();
  // All are here: nobody else is let in.
  if (listener_ && std::all_of(links_.begin() + 1, links_.end(), [](const Link& l) { return l.confirmed; })) {
    listener_.close();
    strangers_.clear();
  }
}

void PeerWatch::Star::take_newcomers() {
  for (;;) {
    Socket socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return;
    }
    prepare_peer_socket(socket.fd());
    if (strangers_.size() >= kMostStrangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({std::move(socket), {}, Clock::now() + kStrangerTime});
  }
}

void PeerWatch::Star::hear_strangers() {
  for (size_t i = strangers_.size(); i-- > 0;) {
    Stranger& stranger = strangers_[i];
    const bool open = stranger.inbox.read(stranger.socket.fd());
    const auto hello = stranger.inbox.next();
    if (!hello && open && !stranger.inbox.nonsense() && Clock::now() < stranger.until) continue;
    const size_t rank = hello ? static_cast<size_t>(hello->rank) : 0;
    if (hello && open && hello->type == PeerMessage::kHello && hello->text == text_of(door_.cookie) &&
        hello->rank > 0 && rank < links_.size() && !links_[rank].socket) {
      links_[rank] = {std::move(stranger.socket), std::move(stranger.inbox), false, false};
      send_message(links_[rank].socket.fd(),
                   {.type = PeerMessage::kAnswer, .rank = rank_, .text = text_of(door_.answer)});
      if (broken_)
        send_message(links_[rank].socket.fd(),
                     {.type = PeerMessage::kLeave, .rank = rank_, .code = break_.code, .text = break_.why});
    }
    strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void PeerWatch::Star::hear(int from, Link& link) {
  const bool open = link.inbox.read(link.socket.fd());
  while (const auto message = link.inbox.next()) {
    switch (message->type) {
      case PeerMessage::kConfirm: link.confirmed = true; break;
      case PeerMessage::kLeave: break_with(message->code, message->text, from, -1); break;
      case PeerMessage::kEnded: tell_of_end(message->rank, message->calls); break;
      case PeerMessage::kGoodbye: link.goodbye = true; break;
      case PeerMessage::kHello:
      case PeerMessage::kAnswer: break;
    }
  }
  if (open && !link.inbox.nonsense()) return;
  if (link.confirmed && !link.goodbye) lose(from, link.inbox.error(), link.inbox.nonsense());
  // One that has not confirmed may come again. The others' places stay taken.
  link.socket.close();
  if (!link.confirmed) link = {};
}

void PeerWatch::Star::lose(int rank, int error, bool nonsense) {
  std::string how = " has ended without a word";
  if (nonsense)
    how = " sends what no rank would";
  else if (error != 0 && error != ECONNRESET && error != EPIPE)
    how = std::string(" does not answer any more: its machine, or the network to it, is lost (") +
          std::strerror(error) + ")";
  break_with(ExchangeError::kLost, name_of(rank) + how, rank, rank);
}

PeerWatch::PeerWatch(int rank, std::vector<PeerCard> cards) : star_(std::make_unique<Star>(rank, std::move(cards))) {}
PeerWatch::~PeerWatch() = default;
const PeerDoor& PeerWatch::door() const { return star_->door_; }
bool PeerWatch::connect(const PeerDoor& door, std::chrono::milliseconds at_most) {
  return star_->connect(door, at_most);
}
const std::string& PeerWatch::why_not() const { return star_->why_not_; }
bool PeerWatch::broken() const noexcept { return star_->broken_; }
const PeerWatch::Break& PeerWatch::why_broken() const noexcept { return star_->why_broken(); }
void PeerWatch::leave(int code, const std::string& why) noexcept { star_->leave(code, why); }
void PeerWatch::ended(uint64_t calls) noexcept { star_->ended(calls); }
std::pair<uint64_t, int> PeerWatch::first_ended() const noexcept { return star_->first_ended(); }
void PeerWatch::goodbye() noexcept { star_->goodbye(); }
bool PeerWatch::wait_for_goodbyes(std::chrono::milliseconds at_most) const noexcept {
  return star_->wait_for_goodbyes(at_most);
}
void PeerWatch::wait_for_rank_0(std::chrono::milliseconds at_most) const noexcept { star_->wait_for_rank_0(at_most); }
void PeerWatch::end_process_when_broken(bool end) noexcept { star_->end_process_when_broken(end); }
std::string PeerWatch::name_of(int rank) const { return star_->name_of(rank); }

}  // namespace softamp
