// The threads of a study: where one cannot be started, the others do its work.
#include "src/program/study/study_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <system_error>

namespace softamp::program {
namespace {

/// Ten pieces of work on `count` threads, of which the system starts `most`; what was said.
std::vector<std::string> ten_pieces(size_t count, size_t most) {
  std::atomic<int> next{0}, done{0};
  size_t started = 0;
  std::vector<std::string> said;
  work_on_threads(
      count,
      [&] {
        while (next++ < 10) ++done;
      },
      [&](size_t threads, const std::string& why) { said.push_back(std::to_string(threads) + ": " + why); },
      [&](const std::function<void()>& work) {
        if (started == most) throw std::system_error(EAGAIN, std::generic_category());
        ++started;
        return std::thread(work);
      });
  EXPECT_EQ(done, 10) << count << ", " << most;
  EXPECT_EQ(started, std::min(most, count - 1)) << "this thread works, too";
  return said;
}

TEST(StudyThreads, AsManyAsTheSystemStarts) {
  EXPECT_TRUE(ten_pieces(1, 0).empty());
  EXPECT_TRUE(ten_pieces(4, 3).empty());
  EXPECT_EQ(ten_pieces(4, 2), std::vector<std::string>{"3: Resource temporarily unavailable"});
  EXPECT_EQ(ten_pieces(4, 0), std::vector<std::string>{"1: Resource temporarily unavailable"});
}

}  // namespace
}  // namespace softamp::program
