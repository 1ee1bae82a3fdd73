// Sockets of peer_watch.h: those that close themselves, and the messages that go through them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace softamp {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() noexcept;
  int release() noexcept;

 private:
  int fd_ = -1;
};

struct PeerMessage {
  enum Type : uint8_t {
    kHello = 1,  ///< text: the cookie; rank
    kAnswer,     ///< text: the answer; rank 0 has noted the connection
    kConfirm,    ///< from here on its end is a loss
    kLeave,      ///< code, text: why
    kEnded,      ///< rank, calls
    kGoodbye,
  };
  Type type = kHello;
  int32_t rank = 0, code = 0;
  uint64_t calls = 0;
  std::string text;
};

/// Sends without waiting: what does not fit is lost, and the connection with it. False: so it was.
bool send_message(int fd, const PeerMessage& message) noexcept;

/// What arrives at one socket, put together to messages.
class PeerInbox {
 public:
  /// Reads what is there, without waiting. False: the other side is gone, error() says how; messages that came before
  /// are there.
  bool read(int fd);
  std::optional<PeerMessage> next();
  /// errno of the connection, or 0 where it was closed.
  int error() const { return error_; }
  /// Whether something came that is no message: nothing more will be understood.
  bool nonsense() const { return nonsense_; }

 private:
  std::vector<char> bytes_;
  bool nonsense_ = false;
  int error_ = 0;
};

/// Not blocking, closed by exec, without delay, and with keepalive by which the kernel finds within 20 s that the other
/// machine is gone.
void prepare_peer_socket(int fd) noexcept;

}  // namespace softamp
