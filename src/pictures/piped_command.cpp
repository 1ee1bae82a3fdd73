#include "src/pictures/piped_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace softamp {
namespace {

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

/// Both ends of a pipe, closed with it. Its first end is ours.
class Pipe {
 public:
  /// to_child: sockets, because only they can be written to without a signal where nobody reads any more.
  explicit Pipe(bool to_child) {
    int ends[2];
    if ((to_child ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : ::pipe2(ends, O_CLOEXEC)) != 0)
      fail(errno);
    // Not one of the three that the child gets, even where this process has closed its own.
    for (int i = 0; i < 2; ++i) {
      ends_[i] = ::fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      ::close(ends[i]);
    }
    if (ends_[0] < 0 || ends_[1] < 0) {
      close(0), close(1);
      fail(EMFILE);
    }
  }
  ~Pipe() { close(0), close(1); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int ours() const { return ends_[0]; }
  int theirs() const { return ends_[1]; }
  void close(int end) {
    if (ends_[end] >= 0) ::close(std::exchange(ends_[end], -1));
  }

 private:
  int ends_[2] = {-1, -1};
};

pid_t start(const std::vector<std::string>& words, const Pipe& in, const Pipe& out, const Pipe& said) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, said.theirs(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(error);
  return child;
}

/// Adds what is there to read; false at the end, or at an error.
bool take(int from, std::string& text, int& error) {
  char part[65536];
  const ssize_t n = ::read(from, part, sizeof part);
  if (n > 0) text.append(part, static_cast<size_t>(n));
  if (n < 0 && errno != EINTR) error = errno;
  return n > 0 || (n < 0 && errno == EINTR);
}

/// Sends what is taken of the text; false where there is no more to send, or nobody to read it.
bool give(int to, std::string_view& text) {
  const ssize_t n = ::send(to, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  text.remove_prefix(static_cast<size_t>(n));
  return !text.empty();
}

}  // namespace

PipedCommand run_piped(const std::vector<std::string>& words, std::string_view input) {
  Pipe in(true), out(false), said(false);
  PipedCommand result;
  const pid_t child = start(words, in, out, said);
  for (Pipe* pipe : {&in, &out, &said}) pipe->close(1);
  while (out.ours() >= 0 || said.ours() >= 0) {
    pollfd ends[] = {{in.ours(), POLLOUT, 0}, {out.ours(), POLLIN, 0}, {said.ours(), POLLIN, 0}};
    if (::poll(ends, 3, -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (ends[0].revents && !give(in.ours(), input)) in.close(0);
    if (ends[1].revents && !take(out.ours(), result.output, result.error)) out.close(0);
    if (ends[2].revents && !take(said.ours(), result.said, result.error)) said.close(0);
  }
  for (Pipe* pipe : {&in, &out, &said}) pipe->close(0);
  while (::waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace softamp
