// Ranks of an exchange as threads of a test.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "softamp/train/exchange.h"

namespace softamp::test {

/// Runs `work` on so many ranks, each with its exchange; what each threw ("" where nothing).
inline std::vector<std::string> on_ranks(int ranks, const std::function<void(Exchange& exchange)>& work) {
  std::vector<std::unique_ptr<Exchange>> exchanges = exchange_in_process(ranks);
  std::vector<std::string> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < errors.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        work(*exchanges[r]);
      } catch (const std::exception& e) {
        errors[r] = e.what();
        exchanges[r]->leave(2, "rank " + std::to_string(r) + ": " + e.what());
      }
    });
  for (std::thread& t : threads) t.join();
  return errors;
}

}  // namespace softamp::test
