// The exchange by NCCL and its module, over a stand-in for NCCL and the CUDA runtime (fake_nccl.h): the bytes are those
// of the exchange in process, whatever the sizes; and where a call fails, or a rank is gone, all ranks end with the
// reason, and nothing stays behind. That NCCL itself does what the stand-in does is shown on a machine with a GPU
// (tests/gpu).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "src/exchange/nccl_exchange.h"
#include "tests/exchange/nccl/fake_nccl.h"

namespace {

using namespace softamp;
using fake_nccl::Machine;
using Bytes = std::vector<std::byte>;

/// Small, so that short messages take many rounds.
NcclSettings small_settings() {
  NcclSettings settings;
  settings.least = 64;
  settings.chunk = 1024;
  settings.patience = std::chrono::milliseconds(200);
  return settings;
}

std::byte byte_of(size_t call, size_t from, size_t to, size_t i) {
  return static_cast<std::byte>((call * 131 + from * 31 + to * 17 + i * 7 + i / 251) & 0xFF);
}

/// A call of all ranks: what each has for each.
struct Call {
  bool gather;
  std::vector<std::vector<size_t>> sizes;  ///< by sender and receiver; of a gather all of a row are alike
};

/// Makes the calls and gives all bytes that came in.
Bytes bytes_of(Exchange& exchange, const std::vector<Call>& calls, bool in_place) {
  Bytes all;
  const size_t me = static_cast<size_t>(exchange.rank()), ranks = static_cast<size_t>(exchange.ranks());
  for (size_t c = 0; c < calls.size(); ++c) {
    std::vector<Bytes> out(ranks), in(ranks);
    std::vector<Exchange::Bytes> to;
    std::vector<Exchange::Room> from;
    for (size_t i = 0; i < ranks; ++i) {
      out[i].resize(calls[c].sizes[me][i]);
      for (size_t k = 0; k < out[i].size(); ++k) out[i][k] = byte_of(c, me, calls[c].gather ? 0 : i, k);
      in[i].assign(calls[c].sizes[i][me], std::byte{0xEE});
      to.emplace_back(out[i]);
      from.emplace_back(in[i]);
    }
    if (!calls[c].gather) {
      exchange.all_to_all(to, from);
    } else if (in_place) {
      in[me] = out[me];
      exchange.all_gather(in[me], from);
    } else {
      exchange.all_gather(out[me], from);
    }
    if (c % 5 == 0) exchange.barrier();
    for (const Bytes& each : in) all.insert(all.end(), each.begin(), each.end());
  }
  return all;
}

/// Runs a rank's part on a thread each. What a part throws is its text; the exchange is closed before.
std::vector<std::string> on_threads(std::vector<std::unique_ptr<Exchange>> all,
                                    const std::function<void(std::unique_ptr<Exchange>)>& part) {
  std::vector<std::string> errors(all.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        part(std::move(all[i]));
      } catch (const ExchangeError& error) {
        errors[i] = std::to_string(error.code()) + ": " + error.what();
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  for (std::thread& each : threads) each.join();
  return errors;
}

std::vector<Call> random_calls(size_t ranks, unsigned seed) {
  std::mt19937 random(seed);
  const size_t sizes[] = {0, 1, 63, 64, 65, 255, 256, 257, 1000, 3000, 5000};
  const auto size = [&] { return sizes[random() % std::size(sizes)]; };
  std::vector<Call> calls;
  for (int c = 0; c < 24; ++c) {
    Call call{c % 2 == 1, std::vector(ranks, std::vector<size_t>(ranks))};
    const size_t like = size();
    for (auto& row : call.sizes) {
      // A gather of equal sizes, of nearly equal ones, of any.
      const size_t of_row = c % 6 == 1 ? like : c % 6 == 3 ? like + random() % 8 : size();
      for (size_t& each : row) each = call.gather ? of_row : c % 4 == 0 ? like : size();
    }
    calls.push_back(call);
  }
  return calls;
}

std::vector<Bytes> received(const Machine* machine, size_t ranks, const std::vector<Call>& calls,
                            const NcclSettings& settings, bool in_place) {
  std::vector<Bytes> bytes(ranks);
  const auto errors = on_threads(exchange_in_process(static_cast<int>(ranks)), [&](std::unique_ptr<Exchange> exchange) {
    if (machine) exchange = open_nccl_exchange(std::move(exchange), settings, softamp_nccl_table());
    bytes[static_cast<size_t>(exchange->rank())] = bytes_of(*exchange, calls, in_place);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return bytes;
}

void expect_clean(const Machine& machine) {
  EXPECT_EQ(machine.alive(), 0);
  for (const std::string& each : machine.faults()) ADD_FAILURE() << each;
}

TEST(NcclExchange, GivesTheBytesOfTheExchangeInProcess) {
  for (const size_t ranks : {1, 2, 3, 4, 7})
    for (const bool self : {false, true})
      for (const int looks : {0, 3}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, self " + std::to_string(self) + ", looks " +
                     std::to_string(looks));
        const auto calls = random_calls(ranks, static_cast<unsigned>(ranks * 2 + self));
        NcclSettings settings = small_settings();
        settings.self = self;
        Machine machine(static_cast<int>(ranks));
        machine.set_looks(looks);
        machine.set_delay(looks * 10);
        const auto expected = received(nullptr, ranks, calls, settings, false);
        EXPECT_EQ(received(&machine, ranks, calls, settings, false), expected);
        EXPECT_EQ(received(&machine, ranks, calls, settings, true), expected);
        expect_clean(machine);
        EXPECT_EQ(machine.calls("ncclSend") > 0, ranks > 1 || self);
        EXPECT_EQ(machine.calls("ncclCommAbort"), 0);
      }
}

TEST(NcclExchange, TakesTheWayOfTheSize) {
  const NcclSettings settings = small_settings();
  const auto calls_of = [&](bool gather, std::vector<std::vector<size_t>> sizes) {
    Machine machine(2);
    received(&machine, 2, {{gather, std::move(sizes)}}, settings, false);
    expect_clean(machine);
    return std::pair(machine.calls("ncclSend"), machine.calls("ncclAllGather"));
  };
  EXPECT_EQ(calls_of(false, {{9, 63}, {63, 999}}), std::pair(0, 0));  // short, and a rank's own
  EXPECT_EQ(calls_of(false, {{0, 64}, {0, 0}}), std::pair(1, 0));
  // A piece is half of 1024 bytes: three rounds of the one, two of the other.
  EXPECT_EQ(calls_of(false, {{0, 1025}, {1024, 0}}), std::pair(5, 0));
  EXPECT_EQ(calls_of(true, {{1024, 1024}, {1024, 1024}}), std::pair(0, 4));
  EXPECT_EQ(calls_of(true, {{1000, 1000}, {1024, 1024}}), std::pair(0, 4));  // a little is filled up
  EXPECT_EQ(calls_of(true, {{100, 100}, {500, 500}}), std::pair(2, 0));      // and much is not
  EXPECT_EQ(calls_of(true, {{64, 64}, {63, 63}}), std::pair(1, 0));
}

TEST(NcclExchange, HasTwoLanesUnderWay) {
  Machine machine(2);
  machine.set_delay(2000);
  received(&machine, 2, {{false, {{0, 4096}, {4096, 0}}}}, small_settings(), false);
  EXPECT_EQ(machine.most_lanes(), NcclTable::kLanes);
  expect_clean(machine);
}

TEST(NcclExchange, SaysWhatCarriesTheBytes) {
  Machine machine(1);
  const auto exchange = open_nccl_exchange(std::move(exchange_in_process(1)[0]), {}, softamp_nccl_table());
  EXPECT_EQ(exchange->about(), "NCCL 2.28.9, and in process for small messages");
  EXPECT_EQ(exchange->ranks(), 1);
  EXPECT_FALSE(exchange->broken());
}

/// Large messages to all, again and again.
void keep_sending(Exchange& exchange, int times = 3) {
  const size_t ranks = static_cast<size_t>(exchange.ranks());
  const std::vector<Call> calls(static_cast<size_t>(times),
                                {false, std::vector(ranks, std::vector<size_t>(ranks, 3000))});
  bytes_of(exchange, calls, false);
}

TEST(NcclExchange, WhereARankLeavesAllEndWithItsWords) {
  Machine machine(3);
  const auto errors = on_threads(exchange_in_process(3), [&](std::unique_ptr<Exchange> control) {
    const bool leaves = control->rank() == 1;
    const auto exchange = open_nccl_exchange(std::move(control), small_settings(), softamp_nccl_table());
    keep_sending(*exchange);
    if (leaves) {
      exchange->leave(3, "rank 1: the disk is full");
      EXPECT_TRUE(exchange->broken());
    }
    keep_sending(*exchange);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "3: rank 1: the disk is full");
  expect_clean(machine);
}

/// An exchange that breaks when it is told to, as one that watches its peers.
class Watched final : public Exchange {
 public:
  Watched(std::unique_ptr<Exchange> inner, const std::atomic<bool>& gone) : inner_(std::move(inner)), gone_(gone) {}
  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  int local_rank() const override { return inner_->local_rank(); }
  int local_ranks() const override { return inner_->local_ranks(); }
  std::string about() const override { return inner_->about(); }
  void all_to_all(std::span<const Exchange::Bytes> to, std::span<const Exchange::Room> from) override {
    check();
    inner_->all_to_all(to, from);
  }
  void all_gather(Exchange::Bytes mine, std::span<const Exchange::Room> all) override {
    check();
    inner_->all_gather(mine, all);
  }
  void barrier() override {
    check();
    inner_->barrier();
  }
  bool broken() const noexcept override { return gone_ || inner_->broken(); }
  void leave(int code, const std::string& why) noexcept override { inner_->leave(code, why); }

 private:
  void check() const {
    if (gone_) throw ExchangeError("rank 2 (node7, process 4711) has ended");
  }
  std::unique_ptr<Exchange> inner_;
  const std::atomic<bool>& gone_;
};

TEST(NcclExchange, IsNotKeptWaitingByARankThatIsGone) {
  for (const bool gather : {false, true}) {
    Machine machine(3);
    machine.hang(2, 2);
    std::atomic<bool> gone = false;
    std::thread death([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      gone = true;
    });
    const auto errors = on_threads(exchange_in_process(3), [&](std::unique_ptr<Exchange> control) {
      const auto exchange = open_nccl_exchange(std::make_unique<Watched>(std::move(control), gone), small_settings(),
                                               softamp_nccl_table());
      if (gather)
        bytes_of(*exchange, {{true, std::vector(3, std::vector<size_t>(3, 3000))}}, false);
      else
        keep_sending(*exchange);
    });
    death.join();
    for (const std::string& error : errors) EXPECT_EQ(error, "4: rank 2 (node7, process 4711) has ended");
    EXPECT_GE(machine.calls("ncclCommAbort"), 3);
    expect_clean(machine);
  }
}

TEST(NcclExchange, JoiningIsNotKeptWaitingEither) {
  Machine machine(2);
  std::atomic<bool> gone = false;
  const auto errors = on_threads(exchange_in_process(2), [&](std::unique_ptr<Exchange> control) {
    const bool dies = control->rank() == 1;
    if (dies) {
      NcclTable table = *softamp_nccl_table();
      table.open = [](int, int, int, const void*) -> Nccl* { return nullptr; };
      NcclSettings settings = small_settings();
      settings.patience = std::chrono::milliseconds(0);
      open_nccl_exchange(std::move(control), settings, &table);
    } else {
      open_nccl_exchange(std::make_unique<Watched>(std::move(control), gone), small_settings(), softamp_nccl_table());
    }
  });
  for (const std::string& error : errors) EXPECT_EQ(error.substr(0, 22), "4: rank 1: NCCL 2.28.9") << error;
  expect_clean(machine);
}

TEST(NcclExchange, AnErrorOfNcclGivesTheOthersTimeToSayWhoIsGone) {
  Machine machine(2);
  machine.fail("cudaEventQuery", 0, 1);
  std::atomic<bool> gone = false;
  std::thread death([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    gone = true;
  });
  NcclSettings settings = small_settings();
  settings.patience = std::chrono::seconds(20);
  const auto errors = on_threads(exchange_in_process(2), [&](std::unique_ptr<Exchange> control) {
    keep_sending(
        *open_nccl_exchange(std::make_unique<Watched>(std::move(control), gone), settings, softamp_nccl_table()));
  });
  death.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "4: rank 2 (node7, process 4711) has ended");
  expect_clean(machine);
}

TEST(NcclExchange, WhateverFailsAllRanksEndWithIt) {
  const std::vector<std::string> functions = {"cudaStreamCreateWithFlags",
                                              "cudaEventCreateWithFlags",
                                              "ncclCommInitRankConfig",
                                              "state",
                                              "cudaHostAlloc",
                                              "cudaMalloc",
                                              "cudaMemcpyAsync",
                                              "ncclGroupStart",
                                              "ncclGroupEnd",
                                              "ncclSend",
                                              "ncclRecv",
                                              "ncclAllGather",
                                              "cudaEventRecord",
                                              "cudaEventQuery",
                                              "ncclCommGetAsyncError",
                                              "cudaSetDevice"};
  for (const std::string& function : functions)
    for (const int number : {1, 2, 4}) {
      SCOPED_TRACE(function + ", call " + std::to_string(number));
      Machine machine(2);
      machine.set_looks(2);
      machine.fail(function, 1, number);
      const auto errors = on_threads(exchange_in_process(2), [&](std::unique_ptr<Exchange> control) {
        NcclSettings settings = small_settings();
        settings.patience = std::chrono::milliseconds(1);
        const auto exchange = open_nccl_exchange(std::move(control), settings, softamp_nccl_table());
        keep_sending(*exchange);
        bytes_of(*exchange, std::vector<Call>(3, {true, {{3000, 3000}, {3000, 3000}}}), false);
      });
      for (const std::string& error : errors) {
        const bool failed = machine.failed();  // else it is not called that often
        EXPECT_EQ(error.substr(0, 10), failed ? "4: rank 1:" : "") << error;
        EXPECT_EQ(error.find("as the test planned") != std::string::npos, failed) << error;
      }
      EXPECT_TRUE(machine.failed() || number > 1);
      expect_clean(machine);
    }
}

TEST(NcclExchange, AllRanksHearWhyItCannotBeOpened) {
  const auto why = [](int ranks, int devices, const std::function<void(int, NcclSettings&, NcclTable&)>& change) {
    Machine machine(devices);
    std::vector<std::string> asked(static_cast<size_t>(ranks));
    auto told = on_threads(exchange_in_process(ranks), [&](std::unique_ptr<Exchange> control) {
      const int rank = control->rank();
      NcclSettings settings = small_settings();
      NcclTable table = *softamp_nccl_table();
      change(rank, settings, table);
      asked[static_cast<size_t>(rank)] = why_no_nccl(*control, settings, &table);
      open_nccl_exchange(std::move(control), settings, &table);
    });
    for (const std::string& each : told) EXPECT_EQ(each, told[0]);
    EXPECT_EQ(asked, told);
    expect_clean(machine);
    return told[0];
  };
  EXPECT_EQ(why(2, 2, [](int, NcclSettings&, NcclTable&) {}), "");
  EXPECT_EQ(why(4, 3, [](int, NcclSettings&, NcclTable&) {}),
            "rank 0 (of 4): 4 ranks on this machine, and 3 GPUs; expected a GPU for each rank");
  EXPECT_EQ(why(2, 2, [](int rank, NcclSettings& s, NcclTable&) { s.device = rank * 2; }),
            "rank 1 (of 2): GPU 2; expected 0..1");
  EXPECT_EQ(why(2, 2,
                [](int rank, NcclSettings&, NcclTable& t) {
                  if (rank == 1) t.version = [] { return 22105; };
                }),
            "rank 1 (of 2) has NCCL 2.21.5, rank 0 has 2.28.9; expected the same on all ranks");
  EXPECT_EQ(why(2, 2, [](int rank, NcclSettings& s, NcclTable&) { s.least += static_cast<size_t>(rank); }),
            "rank 1 (of 2) has other NcclSettings than rank 0; expected the same on all ranks");
  EXPECT_EQ(why(2, 2, [](int rank, NcclSettings& s, NcclTable&) { s.least *= static_cast<size_t>(rank); }),
            "rank 0 (of 2): NcclSettings::least = 0; expected 1 or more");
  EXPECT_EQ(why(3, 3,
                [](int rank, NcclSettings&, NcclTable& t) {
                  if (rank == 2) t.version = [] { return 0; };
                  if (rank == 2) t.why = [] { return "no NCCL: libnccl.so.2 is not there"; };
                }),
            "rank 2 (of 3): no NCCL: libnccl.so.2 is not there");
}

/// As where each process sees a GPU of its own; two on the same are refused by NCCL.
TEST(NcclExchange, OneGpuMayBeEachRanksOwn) {
  Machine machine(1);
  on_threads(exchange_in_process(2), [&](std::unique_ptr<Exchange> control) {
    EXPECT_EQ(why_no_nccl(*control, {}, softamp_nccl_table()), "");
  });
}

TEST(NcclExchange, RefusesWhatNoCallIs) {
  Machine machine(1);
  const auto exchange =
      open_nccl_exchange(std::move(exchange_in_process(1)[0]), small_settings(), softamp_nccl_table());
  const auto refusal = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const std::logic_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Bytes two(2), three(3);
  const std::vector<Exchange::Bytes> to = {two};
  const std::vector<Exchange::Room> from = {three}, both = {two, three};
  EXPECT_EQ(refusal([&] { exchange->all_to_all(to, from); }), "exchange: rank 0 has 2 bytes for itself; expected 3");
  EXPECT_EQ(refusal([&] { exchange->all_gather(two, from); }), "exchange: rank 0 has 2 bytes for itself; expected 3");
  EXPECT_EQ(refusal([&] { exchange->all_to_all(to, both); }), "exchange: messages to 1 ranks and from 2; expected 1");
}

TEST(NcclExchange, ARankThatEndsByAnErrorIsNotWaitedFor) {
  Machine machine(2);
  const auto errors = on_threads(exchange_in_process(2), [&](std::unique_ptr<Exchange> control) {
    const bool fails = control->rank() == 1;
    const auto exchange = open_nccl_exchange(std::move(control), small_settings(), softamp_nccl_table());
    if (fails) throw std::runtime_error("no such file");
    keep_sending(*exchange);
  });
  EXPECT_EQ(errors[0], "4: rank 1 has ended");
  EXPECT_EQ(machine.calls("ncclCommFinalize"), 0);  // which would wait for the other
  expect_clean(machine);
}

/// The true module, where there is one: it can be loaded, and says whether it can be used.
TEST(NcclExchange, TheModuleIsLoadedOrItsPlacesAreNamed) {
  const auto control = std::move(exchange_in_process(1)[0]);
  const std::string why = why_no_nccl(*control);
  RecordProperty("why", why);
  if (const char* const module = std::getenv("SOFTAMP_NCCL_MODULE")) {
    EXPECT_EQ(why.find(module), std::string::npos) << why;
    EXPECT_EQ(why.find("cannot be loaded"), std::string::npos) << why;
  } else {
    EXPECT_NE(why.find("no NCCL module: there is no "), std::string::npos) << why;
    EXPECT_NE(why.find("/libsoftamp_nccl.so"), std::string::npos) << why;
  }
}

}  // namespace
