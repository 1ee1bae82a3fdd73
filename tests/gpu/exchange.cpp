// The exchange by NCCL on one GPU: one rank that sends to itself, through its device, against the exchange in process:
//   gpu_exchange [--json FILE]
// Messages of all kinds of sizes, then the rate of large ones. One GPU shows that NCCL is found, joined, called and
// left as it should be, and that bytes arrive; what other ranks do with them it cannot show. Tests run the same program
// over a stand-in for NCCL. Exit code 0: equal; 1: a difference, or an error; 2: usage; 77: no GPU; 78: no NCCL.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/exchange/nccl_exchange.h"
#include "tests/gpu/json_file.h"

#if defined(SOFTAMP_SERIAL_GRID)
#include "tests/exchange/nccl/fake_nccl.h"
#else
#include "cuda/engine.h"
#endif

namespace {

using namespace softamp;
using Message = std::vector<std::byte>;

Message message(size_t bytes, size_t seed) {
  Message made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 2654435761u + seed * 40503u) >> 13 & 0xFF);
  return made;
}

/// What one rank gets of itself: by all_to_all, and by all_gather, at its own place and from elsewhere.
Message received(Exchange& exchange, size_t bytes) {
  const Message mine = message(bytes, bytes);
  Message all, room(bytes), own = mine;
  const std::vector<Exchange::Bytes> to = {mine};
  std::vector<Exchange::Room> from = {room};
  exchange.all_to_all(to, from);
  all.insert(all.end(), room.begin(), room.end());
  room.assign(bytes, std::byte{0xEE});
  exchange.all_gather(mine, from);
  all.insert(all.end(), room.begin(), room.end());
  from = {own};
  exchange.all_gather(own, from);
  all.insert(all.end(), own.begin(), own.end());
  exchange.barrier();
  return all;
}

double gigabytes_a_second(Exchange& exchange, size_t bytes, int times) {
  const Message mine = message(bytes, 1);
  Message room(bytes);
  const std::vector<Exchange::Bytes> to = {mine};
  const std::vector<Exchange::Room> from = {room};
  exchange.all_to_all(to, from);  // NCCL connects where it is first used
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) exchange.all_to_all(to, from);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return static_cast<double>(bytes) * times / seconds * 1e-9;
}

int run(const char* json_file, const NcclTable* table, size_t large) {
  NcclSettings settings;
  settings.self = true;
  if (const std::string why = why_no_nccl(*exchange_in_process(1)[0], settings, table); !why.empty()) {
    std::printf("no NCCL: %s\n", why.c_str());
    return 78;
  }
  const auto expected = std::move(exchange_in_process(1)[0]);
  std::string differing, about;
  int calls = 0;
  double rate = 0;
  for (const size_t chunk : {settings.chunk, size_t{64} << 10}) {
    settings.chunk = chunk;
    const auto exchange = open_nccl_exchange(std::move(exchange_in_process(1)[0]), settings, table);
    about = exchange->about();
    for (const size_t bytes : {size_t{0}, size_t{1}, settings.least - 1, settings.least, settings.least + 1, chunk - 1,
                               chunk, chunk + 1, 2 * chunk, 5 * chunk + 12345}) {
      ++calls;
      if (received(*exchange, bytes) != received(*expected, bytes)) differing += " " + std::to_string(bytes);
    }
    if (rate == 0) rate = gigabytes_a_second(*exchange, large, 5);
  }
  if (!differing.empty()) std::printf("DIFFERS messages of bytes%s\n", differing.c_str());
  std::printf("%s: %d sizes, %s; %.2f GB/s of %zu bytes to itself\n", about.c_str(), calls,
              differing.empty() ? "equal to the exchange in process" : "not equal", rate, large);
  gpu::Object json;
  json.add("about", gpu::quoted(about)).add("sizes", gpu::number(static_cast<uint64_t>(calls)));
  json.add("differing", gpu::quoted(differing)).add("gigabytes_a_second", gpu::number(rate));
  if (json_file && !json.write(json_file)) {
    std::fprintf(stderr, "gpu_exchange: %s cannot be written\n", json_file);
    return 1;
  }
  return differing.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 && !(argc == 3 && std::string(argv[1]) == "--json")) {
    std::fputs("gpu_exchange: expected [--json FILE]\n", stderr);
    return 2;
  }
  const char* const json_file = argc == 3 ? argv[2] : nullptr;
  try {
#if defined(SOFTAMP_SERIAL_GRID)
    const fake_nccl::Machine machine(1);
    return run(json_file, softamp_nccl_table(), size_t{1} << 20);
#else
    if (std::string why; cuda::device_name(&why).empty()) {
      std::printf("no GPU: %s\n", why.c_str());
      return 77;
    }
    setenv("SOFTAMP_NCCL_MODULE", SOFTAMP_NCCL_MODULE, 0);
    return run(json_file, nullptr, size_t{256} << 20);
#endif
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_exchange: ERROR %s\n", error.what());
    return 1;
  }
}
