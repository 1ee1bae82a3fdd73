// Who is still there: killed, stopped and leaving processes, strangers, and ends in any order, without MPI.
#include "src/exchange/peer_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "softamp/machine/interrupt.h"
#include "src/exchange/peer_socket.h"

namespace softamp {
namespace {

using namespace std::chrono_literals;

bool soon(const std::function<bool()>& holds, std::chrono::milliseconds at_most = 10s) {
  for (const auto until = std::chrono::steady_clock::now() + at_most; std::chrono::steady_clock::now() < until;) {
    if (holds()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return holds();
}

/// All ranks in this process.
std::vector<std::unique_ptr<PeerWatch>> watches(size_t count, bool connect = true) {
  const std::vector<PeerCard> cards(count, own_peer_card());
  std::vector<std::unique_ptr<PeerWatch>> all;
  for (size_t r = 0; r < count; ++r) all.push_back(std::make_unique<PeerWatch>(static_cast<int>(r), cards));
  for (auto& watch : all) {
    if (!connect) break;
    EXPECT_TRUE(watch->connect(all[0]->door())) << watch->why_not();
  }
  return all;
}

/// What ranks in processes of their own show each other and the test.
struct Shared {
  std::atomic<int> cards{0}, doors{0}, connected{0}, unbroken{0}, go{0};
  PeerCard card[8];
  PeerDoor door;
  char why[8][256] = {};
};

class Ranks {
 public:
  Ranks(int count, const std::function<int(int, PeerWatch&, Shared&)>& rank)
      : shared_(new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Shared) {
    for (int r = 0; r < count; ++r) {
      const pid_t process = ::fork();
      if (process == 0) ::_exit(run(r, count, rank));
      processes_.push_back(process);
    }
  }
  ~Ranks() {
    for (const pid_t process : processes_) ::kill(process, SIGKILL), ::waitpid(process, nullptr, 0);
    ::munmap(shared_, sizeof(Shared));
  }
  Shared& shared() { return *shared_; }
  pid_t process(size_t rank) const { return processes_[rank]; }
  /// Its exit code, -signal where one ended it, or -1000 where it has not ended in time.
  int code(size_t rank) {
    int status = 0;
    const pid_t process = processes_[rank];
    if (!soon([&] { return ::waitpid(process, &status, WNOHANG) == process; })) return -1000;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int run(int r, int count, const std::function<int(int, PeerWatch&, Shared&)>& rank) {
    shared_->card[r] = own_peer_card();
    ++shared_->cards;
    if (!soon([&] { return shared_->cards == count; })) return 90;
    PeerWatch watch(r, std::vector<PeerCard>(shared_->card, shared_->card + count));
    if (r == 0) shared_->door = watch.door(), ++shared_->doors;
    if (!soon([&] { return shared_->doors == 1; })) return 91;
    if (!watch.connect(shared_->door)) return 92;
    ++shared_->connected;
    if (!soon([&] { return shared_->connected == count; })) return 93;
    const int code = rank(r, watch, *shared_);
    if (watch.broken()) watch.why_broken().why.copy(shared_->why[r], sizeof shared_->why[r] - 1);
    return code;
  }

  Shared* shared_;
  std::vector<pid_t> processes_;
};

TEST(PeerWatch, AKilledProcessIsNamedByAllOthers) {
  for (const size_t killed : {size_t{2}, size_t{0}}) {
    Ranks ranks(4, [&](int r, PeerWatch& watch, Shared&) {
      if (static_cast<size_t>(r) == killed) ::raise(SIGKILL);
      return soon([&] { return watch.broken(); }) ? watch.why_broken().code : 94;
    });
    for (size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(ranks.code(r), r == killed ? -SIGKILL : 4) << r;
      if (r == killed) continue;
      EXPECT_EQ(std::string(ranks.shared().why[r]),
                "rank " + std::to_string(killed) + " (" + own_peer_card().host.data() + ", process " +
                    std::to_string(ranks.process(killed)) + ") has ended without a word");
    }
  }
}

/// A launcher that is interrupted sends a signal to all, and kills the rest soon after.
TEST(PeerWatch, ALossAfterASignalAccusesNobody) {
  for (const size_t killed : {size_t{2}, size_t{0}})
    for (const bool cannot_be_left : {false, true}) {
      SCOPED_TRACE(std::to_string(killed) + (cannot_be_left ? ", in what cannot be left" : ""));
      Ranks ranks(4, [&](int r, PeerWatch& watch, Shared& shared) {
        const InterruptGuard guard;
        if (r != 3) ::raise(SIGTERM);  // the last one learns it from the others
        ++shared.unbroken;
        if (!soon([&] { return shared.unbroken == 4; })) return 94;
        if (static_cast<size_t>(r) == killed) ::raise(SIGKILL);
        if (cannot_be_left && r != 3) watch.end_process_when_broken(true);
        return soon([&] { return watch.broken(); }) ? watch.why_broken().code : 95;
      });
      const size_t teller = killed == 0 ? 1 : 0;
      for (size_t r = 0; r < 4; ++r) {
        // Where rank 0 is lost, nobody tells those to whom no signal has come.
        const int code = killed == 0 && r == 3 ? 4 : 128 + SIGTERM;
        EXPECT_EQ(ranks.code(r), r == killed ? -SIGKILL : code) << r;
        if (r == killed || cannot_be_left || code == 4) continue;
        EXPECT_EQ(std::string(ranks.shared().why[r]),
                  r == teller ? "interrupted, and ended before all processes had come to the end of the run" : "")
            << r;
      }
    }
}

TEST(PeerWatch, AStoppedProcessIsNotLost) {
  Ranks ranks(3, [](int r, PeerWatch& watch, Shared& shared) {
    if (r == 1) ::raise(SIGSTOP);
    if (r != 1 && !soon([&] { return shared.go == 1; })) return 94;
    if (watch.broken()) return 95;
    ++shared.unbroken;
    if (!soon([&] { return shared.unbroken == 3 || watch.broken(); })) return 96;
    watch.goodbye();
    return watch.broken() ? 97 : 0;
  });
  int status = 0;
  ASSERT_EQ(::waitpid(ranks.process(1), &status, WUNTRACED), ranks.process(1));
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(500ms);
  ranks.shared().go = 1;
  ::kill(ranks.process(1), SIGCONT);
  for (size_t r = 0; r < 3; ++r) EXPECT_EQ(ranks.code(r), 0) << r;
}

TEST(PeerWatch, AProcessThatCannotBeLeftEndsWithTheCodeOfTheLoss) {
  Ranks ranks(3, [](int r, PeerWatch& watch, Shared&) {
    if (r == 1) ::raise(SIGKILL);
    watch.end_process_when_broken(true);
    for (;;) ::pause();
    return 94;
  });
  EXPECT_EQ(ranks.code(0), 4);
  EXPECT_EQ(ranks.code(2), 4);
}

TEST(PeerWatch, WhoLeavesSaysWhy) {
  for (const size_t leaver : {size_t{0}, size_t{1}, size_t{3}}) {
    const auto all = watches(4);
    for (const auto& watch : all) EXPECT_FALSE(watch->broken());
    all[leaver]->leave(7, "no more disk");
    all[leaver]->leave(8, "said too late");
    for (const auto& watch : all) {
      ASSERT_TRUE(soon([&] { return watch->broken(); }));
      EXPECT_EQ(watch->why_broken().code, 7);
      EXPECT_EQ(watch->why_broken().why, "no more disk");
    }
  }
}

TEST(PeerWatch, WhoSaysGoodbyeIsNotLost) {
  for (size_t round = 0; round < 200; ++round) {
    auto all = watches(3);
    for (size_t n = 0; n < 3; ++n) {  // each order of ends is met
      auto& one = all[(round / 2 % 2 == 0 ? n + round : 2 * n + round) % 3];
      one->goodbye();
      one.reset();
      for (const auto& other : all) EXPECT_FALSE(other && other->broken());
    }
  }
}

TEST(PeerWatch, Rank0WaitsForTheGoodbyesOfAllThatAreThere) {
  auto all = watches(4);
  all[1]->goodbye();
  all[2].reset();
  EXPECT_FALSE(all[0]->wait_for_goodbyes(100ms));  // rank 3 has said nothing
  all[3]->goodbye();
  EXPECT_TRUE(all[0]->wait_for_goodbyes(10s));
}

TEST(PeerWatch, WithoutAGoodbyeItIs) {
  auto all = watches(3);
  all[2].reset();
  for (const size_t r : {size_t{0}, size_t{1}}) {
    ASSERT_TRUE(soon([&] { return all[r]->broken(); }));
    EXPECT_EQ(all[r]->why_broken().why, all[0]->name_of(2) + " has ended without a word");
  }
}

TEST(PeerWatch, TheFewestCallsAreTold) {
  const auto all = watches(4);
  EXPECT_EQ(all[1]->first_ended(), (std::pair<uint64_t, int>{UINT64_MAX, -1}));
  all[1]->ended(9);
  for (const size_t r : {size_t{0}, size_t{2}, size_t{3}})
    EXPECT_TRUE(soon([&] { return all[r]->first_ended() == std::pair<uint64_t, int>{9, 1}; })) << r;
  all[0]->ended(7);
  for (const size_t r : {size_t{1}, size_t{2}, size_t{3}})
    EXPECT_TRUE(soon([&] { return all[r]->first_ended() == std::pair<uint64_t, int>{7, 0}; })) << r;
  EXPECT_EQ(all[0]->first_ended(), (std::pair<uint64_t, int>{9, 1}));  // of others
}

Socket stranger(const PeerDoor& door) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(door.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return socket;
}

bool is_closed(const Socket& socket) {
  char byte;
  return soon([&] { return ::recv(socket.fd(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET; });
}

// A machine that is gone without a word is noticed within half a minute.
TEST(PeerWatch, SocketsAskWhetherTheOtherEndIsThere) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  prepare_peer_socket(fd);
  const int rows[][3] = {{IPPROTO_TCP, TCP_NODELAY, 1},  {SOL_SOCKET, SO_KEEPALIVE, 1},
                         {IPPROTO_TCP, TCP_KEEPIDLE, 5}, {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                         {IPPROTO_TCP, TCP_KEEPCNT, 3},  {IPPROTO_TCP, TCP_USER_TIMEOUT, 20000}};
  for (const auto& [level, option, expected] : rows) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, option, &value, &size), 0);
    EXPECT_EQ(value, expected) << level << " " << option;
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  ::close(fd);
}

TEST(PeerWatch, StrangersAreShutOut) {
  auto all = watches(3, false);
  const PeerDoor& door = all[0]->door();
  const auto hello = [&](int rank, std::string cookie) {
    return PeerMessage{.type = PeerMessage::kHello, .rank = rank, .text = std::move(cookie)};
  };
  const std::string cookie(door.cookie.begin(), door.cookie.end());
  const Socket silent = stranger(door), web = stranger(door), guess = stranger(door), nobody = stranger(door),
               rank0 = stranger(door), gone = stranger(door);
  const std::string request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";
  ASSERT_GT(::send(web.fd(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  ASSERT_TRUE(send_message(guess.fd(), hello(1, std::string(16, 'x'))));
  ASSERT_TRUE(send_message(nobody.fd(), hello(3, cookie)));
  ASSERT_TRUE(send_message(rank0.fd(), hello(0, cookie)));
  EXPECT_TRUE(is_closed(web));
  EXPECT_TRUE(is_closed(guess));
  EXPECT_TRUE(is_closed(nobody));
  EXPECT_TRUE(is_closed(rank0));
  ASSERT_TRUE(all[1]->connect(door));
  // A second one of the same rank, even with the cookie.
  const Socket twin = stranger(door);
  ASSERT_TRUE(send_message(twin.fd(), hello(1, cookie)));
  EXPECT_TRUE(is_closed(twin));
  ASSERT_TRUE(all[2]->connect(door));
  EXPECT_TRUE(is_closed(silent));  // all are here
  for (const auto& watch : all) EXPECT_FALSE(watch->broken());
}

TEST(PeerWatch, WhatCannotBeReachedIsSaid) {
  PeerDoor door;
  {
    const auto gone = watches(2, false);
    door = gone[0]->door();
  }
  PeerWatch watch(1, std::vector<PeerCard>(2, own_peer_card()));
  EXPECT_FALSE(watch.connect(door));
  EXPECT_EQ(watch.why_not(), "127.0.0.1 port " + std::to_string(door.port) + ": Connection refused");
  // One that listens, but is no rank 0, and one that does not answer.
  const auto other = watches(2, false);
  PeerDoor wrong = other[0]->door();
  wrong.cookie[0] ^= 1;
  PeerWatch second(1, std::vector<PeerCard>(2, own_peer_card()));
  EXPECT_FALSE(second.connect(wrong));
  EXPECT_NE(second.why_not().find("closes the connection"), std::string::npos) << second.why_not();
  door.port = 0;
  PeerWatch third(1, std::vector<PeerCard>(2, own_peer_card()));
  EXPECT_FALSE(third.connect(door));
  EXPECT_NE(third.why_not().find("cannot listen"), std::string::npos) << third.why_not();
}

}  // namespace
}  // namespace softamp
