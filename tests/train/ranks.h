// Ranks of an exchange as threads of a test.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "softamp/train/exchange.h"

namespace softamp::test {

/// An exchange whose other ranks are lost before its call number `last`, from 0.
class LostExchange final : public Exchange {
 public:
  LostExchange(Exchange& exchange, int last) : exchange_(exchange), left_(last) {}
  int rank() const override { return exchange_.rank(); }
  int ranks() const override { return exchange_.ranks(); }
  int local_rank() const override { return exchange_.local_rank(); }
  int local_ranks() const override { return exchange_.local_ranks(); }
  std::string about() const override { return exchange_.about(); }
  void all_to_all(std::span<const Bytes> to, std::span<const Room> from) override {
    count();
    exchange_.all_to_all(to, from);
  }
  void all_gather(Bytes mine, std::span<const Room> all) override {
    count();
    exchange_.all_gather(mine, all);
  }
  void barrier() override {
    count();
    exchange_.barrier();
  }
  bool broken() const noexcept override { return exchange_.broken(); }
  void leave(int code, const std::string& why) noexcept override { exchange_.leave(code, why); }

 private:
  void count() {
    if (left_-- <= 0) exchange_.leave(kLost, "lost");
  }
  static constexpr int kLost = ExchangeError::kLost;
  Exchange& exchange_;
  std::atomic<int> left_;
};

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
