// One rank of a run under mpirun, for mpi_run_test.cpp: mpi_check FOLDER MODE [ARGUMENT]
//   patterns       all_to_all and all_gather of many sizes, with the exchange in process as the judge
//   leave RANK     that rank leaves with code 7; the others end with it
//   kill RANK      that rank kills itself, while the others call all_to_all
//   kill_late RANK the same, while the others have ended, and wait in MPI_Finalize or before it
//   stop RANK      that rank prints "stopped PROCESS" and stops itself; the run goes on when it is continued
//   stay RANK      that rank stops itself for good, and rank 0 leaves with code 7
//   throw RANK     that rank destroys its exchange by an exception
//   early RANK     that rank destroys its exchange one call before the others
// Prints a line for each rank. Exit code: 0; 1: a difference; that of an ExchangeError.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "src/exchange/mpi_exchange.h"

namespace {

using namespace softamp;
using Buffers = std::vector<std::vector<std::byte>>;

/// The byte at `i` of what `from` sends to `to` in call `call`.
std::byte byte_at(size_t call, size_t from, size_t to, size_t i) {
  return static_cast<std::byte>((i * 2654435761u + call * 97 + from * 31 + to * 7) >> 5);
}

/// How many bytes `from` sends to `to`: equal ones, none, odd ones, and what differs for each pair.
size_t size_of(size_t call, size_t from, size_t to) {
  constexpr size_t kMany = (size_t{1} << 20) + 5;
  switch (call) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 3;
    case 3: return kMany;
    case 4: return (from * 5 + to * 3) % 4 * 1001;
    case 5: return from == 0 ? kMany * 9 : 0;  // more than a piece
    case 6: return from == to ? 17 : 0;
    default: return (from + 2 * to) % 3 == 0 ? 0 : 1 + call * call * 37 * (from + 1);
  }
}
constexpr size_t kCalls = 12;

Buffers made(size_t call, size_t from, size_t ranks) {
  Buffers all(ranks);
  for (size_t to = 0; to < ranks; ++to) {
    all[to].resize(size_of(call, from, to));
    for (size_t i = 0; i < all[to].size(); ++i) all[to][i] = byte_at(call, from, to, i);
  }
  return all;
}

/// What `exchange` receives in each call.
std::vector<Buffers> calls(Exchange& exchange) {
  const auto ranks = static_cast<size_t>(exchange.ranks()), own = static_cast<size_t>(exchange.rank());
  std::vector<Buffers> received;
  for (size_t call = 0; call < kCalls; ++call) {
    const Buffers sent = made(call, own, ranks);
    Buffers got(ranks), gathered(ranks);
    std::vector<Exchange::Bytes> to(sent.begin(), sent.end());
    std::vector<Exchange::Room> from, all;
    for (size_t r = 0; r < ranks; ++r) {
      got[r].resize(size_of(call, r, own));
      gathered[r].resize(size_of(call, r, 0));
      from.emplace_back(got[r]);
      all.emplace_back(gathered[r]);
    }
    exchange.all_to_all(to, from);
    received.push_back(got);
    if (call % 2 == 0) {  // from where it is to be
      gathered[own] = sent[0];
      exchange.all_gather(all[own], all);
    } else {
      exchange.all_gather(sent[0], all);
    }
    received.push_back(gathered);
    if (call % 4 == 0) exchange.barrier();
  }
  return received;
}

int patterns(MpiExchange& exchange) {
  const std::vector<Buffers> received = calls(exchange);
  std::vector<Buffers> expected;
  std::vector<std::unique_ptr<Exchange>> judges = exchange_in_process(exchange.ranks());
  std::vector<std::thread> threads;
  for (int r = 0; r < exchange.ranks(); ++r)
    threads.emplace_back([&, r] {
      std::vector<Buffers> mine = calls(*judges[static_cast<size_t>(r)]);
      if (r == exchange.rank()) expected = std::move(mine);
    });
  for (std::thread& t : threads) t.join();
  bool equal = received == expected;
  std::vector<float> values(1001, static_cast<float>(exchange.rank() + 1));
  exchange.all_reduce(values);
  const auto ranks = static_cast<float>(exchange.ranks());
  for (const float v : values) equal = equal && v == ranks * (ranks + 1) / 2;
  std::printf("rank %d of %d, local %d of %d, %s: %s\n", exchange.rank(), exchange.ranks(), exchange.local_rank(),
              exchange.local_ranks(), exchange.about().c_str(), equal ? "equal" : "DIFFERENT");
  return equal ? 0 : 1;
}

/// Calls of all_to_all that go on until something ends them.
void call(Exchange& exchange, int times) {
  const auto ranks = static_cast<size_t>(exchange.ranks());
  static Buffers sent, got;
  sent.resize(ranks), got.resize(ranks);
  for (auto* all : {&sent, &got})
    for (auto& one : *all) one.resize(100'000);
  const std::vector<Exchange::Bytes> to(sent.begin(), sent.end());
  const std::vector<Exchange::Room> from(got.begin(), got.end());
  for (int i = 0; i < times; ++i) exchange.all_to_all(to, from);
}

int run(std::unique_ptr<MpiExchange>& exchange, const std::string& mode, bool chosen) {
  if (mode == "patterns") return patterns(*exchange);
  call(*exchange, 50);
  if (mode == "leave") {
    if (chosen) {
      exchange->leave(7, "rank " + std::to_string(exchange->rank()) + " has no more disk");
      while (!exchange->broken()) {
      }
    }
    call(*exchange, 1000000);
  } else if (mode == "kill") {
    if (chosen) ::raise(SIGKILL);
    call(*exchange, 1000000);
  } else if (mode == "kill_late") {
    if (chosen) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      ::raise(SIGKILL);
    }
    exchange.reset();
    std::printf("ended\n");
    return ExchangeError::kLost;  // as would be the code of one that noticed it later
  } else if (mode == "stop") {
    if (chosen) {
      std::printf("stopped %d\n", static_cast<int>(::getpid()));
      std::fflush(stdout);
      ::raise(SIGSTOP);
    }
    call(*exchange, 200);
    std::printf("rank %d: done\n", exchange->rank());
  } else if (mode == "stay") {
    if (chosen) ::raise(SIGSTOP);
    if (exchange->rank() == 0) exchange->leave(7, "rank 0 has no more disk");
    call(*exchange, 1000000);
  } else if (mode == "throw") {
    if (chosen) {
      const std::unique_ptr<MpiExchange> taken = std::move(exchange);
      throw std::runtime_error("thrown");
    }
    call(*exchange, 1000000);
  } else if (mode == "early") {
    if (!chosen) call(*exchange, 1);
    exchange.reset();
    std::printf("destroyed\n");
    return 0;
  } else {
    std::fprintf(stderr, "mpi_check: mode '%s' is not known\n", mode.c_str());
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int rank = -1;
  try {
    const std::optional<MpiKind> kind = mpi_launcher();
    if (!kind) {
      std::fprintf(stderr, "mpi_check: started by no mpirun\n");
      return 2;
    }
    std::unique_ptr<MpiExchange> exchange = open_mpi_exchange(*kind, argv[1]);
    rank = exchange->rank();
    for (const std::string& warning : exchange->warnings()) std::printf("warning: %s\n", warning.c_str());
    return run(exchange, argv[2], argc > 3 && std::atoi(argv[3]) == rank);
  } catch (const ExchangeError& e) {
    std::printf("rank %d: %s\n", rank, e.what());
    std::fflush(stdout);
    return e.code();
  } catch (const std::exception& e) {
    std::printf("rank %d: other error: %s\n", rank, e.what());
    return 9;
  }
}
