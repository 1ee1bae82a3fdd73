// A command that is sent a signal while it works.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace softamp::test {

/// Runs a line of the shell, which must replace the shell (`exec`), sends it `signal` as soon as it is `begun`, within
/// 20 seconds, and waits for its end. Its status as waitpid gives it; -1 where there is none.
template <class Begun>
int status_after(int signal, const std::string& line, const Begun& begun) {
  const pid_t child = fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);  // a shell that runs the tests in the background has it ignored
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!begun() && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, signal);
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace softamp::test
