#include "src/exchange/peer_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace softamp {
namespace {

constexpr size_t kMostText = 4096;

/// As it travels. The ranks of a run are of one build: the same order of bytes and the same sizes.
struct Header {
  uint32_t mark, text;
  int32_t rank, code;
  uint64_t calls;
  uint32_t type, unused;
};
constexpr uint32_t kMark = 0x736d7001;

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(fd_);  // not again after EINTR: Linux has closed it
  fd_ = -1;
}

int Socket::release() noexcept {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

bool send_message(int fd, const PeerMessage& message) noexcept {
  std::array<char, sizeof(Header) + kMostText> bytes;
  const Header header = {kMark,
                         static_cast<uint32_t>(std::min(message.text.size(), kMostText)),
                         message.rank,
                         message.code,
                         message.calls,
                         message.type,
                         0};
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, message.text.data(), header.text);
  const size_t size = sizeof header + header.text;
  for (;;) {
    const ssize_t sent = ::send(fd, bytes.data(), size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    return sent == static_cast<ssize_t>(size);
  }
}

bool PeerInbox::read(int fd) {
  for (;;) {
    std::array<char, 4096> part;
    const ssize_t size = ::recv(fd, part.data(), part.size(), MSG_DONTWAIT);
    if (size > 0) {
      bytes_.insert(bytes_.end(), part.begin(), part.begin() + size);
      // No more at a time than what messages need, whatever a stranger sends.
      if (bytes_.size() > 16 * kMostText) return true;
      continue;
    }
    if (size == 0) return false;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    error_ = errno;
    return false;
  }
}

std::optional<PeerMessage> PeerInbox::next() {
  Header header;
  if (nonsense_ || bytes_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.mark != kMark || header.text > kMostText || header.type < PeerMessage::kHello ||
      header.type > PeerMessage::kGoodbye) {
    nonsense_ = true;
    bytes_.clear();
    return std::nullopt;
  }
  const size_t size = sizeof header + header.text;
  if (bytes_.size() < size) return std::nullopt;
  PeerMessage message;
  message.type = static_cast<PeerMessage::Type>(header.type);
  message.rank = header.rank;
  message.code = header.code;
  message.calls = header.calls;
  message.text.assign(bytes_.data() + sizeof header, header.text);
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
  return message;
}

void prepare_peer_socket(int fd) noexcept {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20000);  // milliseconds that what was sent may go without an answer
}

}  // namespace softamp
