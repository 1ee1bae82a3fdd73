// Who of the processes that train together is still there. MPI does not say when another process has ended: its calls
// wait for ever. So each rank holds a TCP connection to rank 0, over which next to nothing is sent. The kernel closes
// it when the process ends, whatever ended it, and finds out by keepalive where a whole machine is gone. A process that
// is slow, or was stopped, keeps its connection. Rank 0 tells all others.
//
//   cards of all ranks -> PeerWatch -> rank 0's door to all -> connect -> ... -> ended -> ... -> goodbye
//
// What travels before there are connections goes by way of the exchange itself. Nothing here knows MPI.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace softamp {

/// Who a rank is; plain bytes, to be sent. Texts end with a zero.
struct PeerCard {
  std::array<char, 64> host{};
  std::array<char, 96> machine{};  ///< equal where 127.0.0.1 leads from one to the other
  int32_t process = 0;
};
PeerCard own_peer_card();

/// Where rank 0 is to be reached, and what shows that a connection is one of ours; plain bytes.
struct PeerDoor {
  struct Address {
    int32_t family;  ///< AF_INET or AF_INET6
    std::array<unsigned char, 16> bytes;
  };
  std::array<unsigned char, 16> cookie{}, answer{};
  std::array<Address, 16> addresses{};
  uint32_t address_count = 0;
  uint16_t port = 0;  ///< 0: there is none
};

class PeerWatch {
 public:
  /// `cards`: by rank. Rank 0 listens from here on: at 127.0.0.1 alone where all are on its machine.
  PeerWatch(int rank, std::vector<PeerCard> cards);
  /// Closes connections without a goodbye, if there was none.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Rank 0's is to be given to all.
  const PeerDoor& door() const;
  /// Of a rank other than 0: connects to rank 0, which answers in a thread of its own. False: it was not reached, and
  /// why_not() says why; this rank's end will not be noticed by others, nor theirs by it. Rank 0: true.
  bool connect(const PeerDoor& door, std::chrono::milliseconds at_most = std::chrono::seconds(10));
  const std::string& why_not() const;

  /// Whether a rank is lost or has left. From any thread.
  bool broken() const noexcept;
  struct Break {
    int code = 0;
    std::string why;
  };
  /// What was said of it first; it does not change any more. Only when broken(). Takes no lock.
  const Break& why_broken() const noexcept;
  /// Ends it all for all ranks, with this code and reason; nothing happens if it is broken already. What would be
  /// ExchangeError::kLost is an interruption (ExchangeError::interrupted) where a signal has come to this rank.
  void leave(int code, const std::string& why) noexcept;

  /// This rank has made `calls` calls of the exchange and will make no more; to be followed by goodbye().
  void ended(uint64_t calls) noexcept;
  /// The fewest calls after which another rank has ended, and which; {UINT64_MAX, -1} while none has.
  std::pair<uint64_t, int> first_ended() const noexcept;
  /// From now on the other ranks may close, and this one's end is no loss.
  void goodbye() noexcept;

  /// Of rank 0: waits until each other rank has said goodbye or closed its connection. False: not within that time.
  bool wait_for_goodbyes(std::chrono::milliseconds at_most) const noexcept;
  /// Of a rank other than 0: waits until rank 0 has closed its connection.
  void wait_for_rank_0(std::chrono::milliseconds at_most) const noexcept;

  /// Where this process calls what waits for others and cannot be left: while set, a break ends the process, with its
  /// reason on standard error and its code.
  void end_process_when_broken(bool end) noexcept;

  /// "rank 2 (node7, process 4711)"
  std::string name_of(int rank) const;

 private:
  class Star;
  std::unique_ptr<Star> star_;
};

}  // namespace softamp
