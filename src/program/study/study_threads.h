// Work on several threads, or on as many as the system starts.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace softamp::program {

using StartThread = std::function<std::thread(const std::function<void()>& work)>;

/// Calls `work`, which throws nothing, on this thread and on count - 1 others, and waits for all. Where one cannot be
/// started (a limit on processes or memory), the others do the work: fewer(threads, why) is called once, before it.
inline void work_on_threads(
    size_t count, const std::function<void()>& work,
    const std::function<void(size_t threads, const std::string& why)>& fewer,
    const StartThread& start = [](const auto& body) { return std::thread(body); }) {
  std::vector<std::thread> others;
  try {
    others.reserve(count);
    while (others.size() + 1 < count) others.push_back(start(work));
  } catch (const std::exception& e) {
    fewer(others.size() + 1, e.what());
  }
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace softamp::program
