// The module libsoftamp_nccl.so (src/exchange/nccl_table.h): NCCL and the CUDA runtime behind plain functions, compiled
// where nvcc and nccl.h are. libnccl is looked for when the module is first asked something, so that the module loads,
// and says what it misses, where there is none. Tests compile it against a stand-in for both
// (tests/exchange/nccl).
#include <cuda_runtime.h>
#include <nccl.h>

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "src/exchange/nccl_table.h"

namespace softamp {
namespace {

#define SOFTAMP_NCCL_FUNCTIONS(X) \
  X(ncclGetVersion)               \
  X(ncclGetUniqueId)              \
  X(ncclCommInitRankConfig)       \
  X(ncclCommGetAsyncError)        \
  X(ncclCommFinalize)             \
  X(ncclCommDestroy)              \
  X(ncclCommAbort)                \
  X(ncclGroupStart)               \
  X(ncclGroupEnd)                 \
  X(ncclSend)                     \
  X(ncclRecv)                     \
  X(ncclAllGather)                \
  X(ncclGetErrorString)           \
  X(ncclGetLastError)

/// The functions of libnccl, and why there are none.
struct Library {
#define SOFTAMP_ROW(name) decltype(&::name) name = nullptr;
  SOFTAMP_NCCL_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
  int version = 0;
  std::string missing;
};

constexpr int kOldest = 21400;  // that joins and parts without blocking the caller

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

#if defined(SOFTAMP_NCCL_STAND_IN)
void find_functions(Library& library) {
#define SOFTAMP_ROW(name) library.name = &::name;
  SOFTAMP_NCCL_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
}
#else
void find_functions(Library& library) {
  const char* const named = std::getenv("SOFTAMP_LIBNCCL");
  std::string tried;
  void* file = nullptr;
  for (const char* const place : {named, "libnccl.so.2", SOFTAMP_NCCL_LIBRARY}) {
    if (!place || !*place || file || (place != named && named && *named)) continue;
    file = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    if (file) break;
    const char* const reason = dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(reason ? reason : place);
  }
  if (!file) {
    library.missing =
        "no NCCL: " + tried +
        "; expected libnccl.so.2 where the loader looks, or its place in the environment's SOFTAMP_LIBNCCL";
    return;
  }
#define SOFTAMP_ROW(name)                                                 \
  library.name = reinterpret_cast<decltype(&::name)>(dlsym(file, #name)); \
  if (!library.name && library.missing.empty())                           \
    library.missing = "libnccl.so.2 has no " #name "; expected NCCL 2.14 or newer";
  SOFTAMP_NCCL_FUNCTIONS(SOFTAMP_ROW)
#undef SOFTAMP_ROW
}
#endif

const Library& nccl() {
  static const Library found = [] {
    Library library;
    find_functions(library);
    if (library.missing.empty() && library.ncclGetVersion(&library.version) != ncclSuccess)
      library.missing = "libnccl.so.2 does not tell its version";
    if (library.missing.empty() && library.version < kOldest)
      library.missing =
          "NCCL is " + version_text(library.version) + "; expected " + version_text(kOldest) + " or newer";
    if (!library.missing.empty()) library.version = 0;
    return library;
  }();
  return found;
}

std::string& last_failure() {
  thread_local std::string text;
  return text;
}

bool succeeded(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  last_failure() = std::string(what) + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  cudaGetLastError();  // it is told once
  return false;
}

/// What is still in progress is no failure: `state` tells when it is done.
bool succeeded(ncclResult_t result, const char* what, ncclComm_t comm) {
  if (result == ncclSuccess || result == ncclInProgress) return true;
  last_failure() = std::string(what) + ": " + nccl().ncclGetErrorString(result);
  const char* const more = comm ? nccl().ncclGetLastError(comm) : nullptr;
  if (more && *more) last_failure() += std::string(" (") + more + ")";
  return false;
}

struct Lane {
  cudaStream_t stream = nullptr;
  cudaEvent_t arrived = nullptr;
  char *host_out = nullptr, *host_in = nullptr, *out = nullptr, *in = nullptr;

  void free_room() {
    if (host_out) cudaFreeHost(host_out);
    if (host_in) cudaFreeHost(host_in);
    if (out) cudaFree(out);
    if (in) cudaFree(in);
    host_out = host_in = out = in = nullptr;
  }
};

}  // namespace

struct Nccl {
  int device = 0;
  ncclComm_t comm = nullptr;
  Lane lanes[NcclTable::kLanes];
};

namespace {

using Found = NcclTable::Found;

const char* why() {
  if (!nccl().missing.empty()) return nccl().missing.c_str();
  return last_failure().c_str();
}

int version() { return nccl().version; }

int devices() {
  int count = 0;
  return succeeded(cudaGetDeviceCount(&count), "counting the GPUs") ? count : -1;
}

bool new_id(void* to) {
  ncclUniqueId id;
  static_assert(sizeof id == NcclTable::kIdBytes);
  if (!succeeded(nccl().ncclGetUniqueId(&id), "ncclGetUniqueId", nullptr)) return false;
  std::memcpy(to, &id, sizeof id);
  return true;
}

void close(Nccl* n, bool finished) {
  cudaSetDevice(n->device);
  if (n->comm) {
    if (finished)
      nccl().ncclCommDestroy(n->comm);
    else
      nccl().ncclCommAbort(n->comm);
  }
  for (Lane& lane : n->lanes) {
    if (lane.stream) cudaStreamDestroy(lane.stream);
    if (lane.arrived) cudaEventDestroy(lane.arrived);
    lane.free_room();
  }
  delete n;
}

Nccl* open(int device, int ranks, int rank, const void* id_bytes) {
  Nccl* const n = new Nccl;
  n->device = device;
  bool good = succeeded(cudaSetDevice(device), "cudaSetDevice");
  for (Lane& lane : n->lanes)
    good = good && succeeded(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "cudaStreamCreate") &&
           succeeded(cudaEventCreateWithFlags(&lane.arrived, cudaEventDisableTiming), "cudaEventCreate");
  ncclUniqueId id;
  std::memcpy(&id, id_bytes, sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (good &&
      succeeded(nccl().ncclCommInitRankConfig(&n->comm, ranks, id, rank, &config), "ncclCommInitRankConfig", nullptr))
    return n;
  close(n, false);
  return nullptr;
}

Found state(Nccl* n) {
  ncclResult_t result = ncclSuccess;
  if (!succeeded(nccl().ncclCommGetAsyncError(n->comm, &result), "ncclCommGetAsyncError", n->comm))
    return NcclTable::kFailed;
  if (result == ncclInProgress) return NcclTable::kUnderWay;
  return succeeded(result, "NCCL", n->comm) ? NcclTable::kDone : NcclTable::kFailed;
}

bool use(Nccl* n) { return succeeded(cudaSetDevice(n->device), "cudaSetDevice"); }

bool finish(Nccl* n) { return succeeded(nccl().ncclCommFinalize(n->comm), "ncclCommFinalize", n->comm); }

bool reserve(Nccl* n, int number, size_t out, size_t in, void** host_out, void** host_in) {
  Lane& lane = n->lanes[number];
  lane.free_room();
  const auto on_host = [](char*& to, size_t bytes) {
    return bytes == 0 || succeeded(cudaHostAlloc(reinterpret_cast<void**>(&to), bytes, cudaHostAllocDefault),
                                   "pinned memory of the host");
  };
  const auto on_device = [](char*& to, size_t bytes) {
    return bytes == 0 || succeeded(cudaMalloc(reinterpret_cast<void**>(&to), bytes), "memory of the GPU");
  };
  const bool good =
      on_host(lane.host_out, out) && on_host(lane.host_in, in) && on_device(lane.out, out) && on_device(lane.in, in);
  *host_out = lane.host_out;
  *host_in = lane.host_in;
  return good;
}

bool upload(Nccl* n, int number, size_t bytes) {
  const Lane& lane = n->lanes[number];
  return bytes == 0 ||
         succeeded(cudaMemcpyAsync(lane.out, lane.host_out, bytes, cudaMemcpyHostToDevice, lane.stream), "upload");
}

bool begin_group(Nccl* n) { return succeeded(nccl().ncclGroupStart(), "ncclGroupStart", n->comm); }
bool end_group(Nccl* n) { return succeeded(nccl().ncclGroupEnd(), "ncclGroupEnd", n->comm); }

bool send(Nccl* n, int number, size_t offset, size_t bytes, int to) {
  const Lane& lane = n->lanes[number];
  return succeeded(nccl().ncclSend(lane.out + offset, bytes, ncclUint8, to, n->comm, lane.stream), "ncclSend", n->comm);
}

bool receive(Nccl* n, int number, size_t offset, size_t bytes, int from) {
  const Lane& lane = n->lanes[number];
  return succeeded(nccl().ncclRecv(lane.in + offset, bytes, ncclUint8, from, n->comm, lane.stream), "ncclRecv",
                   n->comm);
}

bool gather(Nccl* n, int number, size_t bytes) {
  const Lane& lane = n->lanes[number];
  return succeeded(nccl().ncclAllGather(lane.out, lane.in, bytes, ncclUint8, n->comm, lane.stream), "ncclAllGather",
                   n->comm);
}

bool download(Nccl* n, int number, size_t bytes) {
  const Lane& lane = n->lanes[number];
  return (bytes == 0 ||
          succeeded(cudaMemcpyAsync(lane.host_in, lane.in, bytes, cudaMemcpyDeviceToHost, lane.stream), "download")) &&
         succeeded(cudaEventRecord(lane.arrived, lane.stream), "cudaEventRecord");
}

Found arrived(Nccl* n, int number) {
  const cudaError_t error = cudaEventQuery(n->lanes[number].arrived);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return NcclTable::kUnderWay;
  }
  return succeeded(error, "the GPU's work") ? NcclTable::kDone : NcclTable::kFailed;
}

constexpr NcclTable kTable = {
    NcclTable::kLayout, why,       version, devices, new_id, open,     state,  use, finish, close, reserve, upload,
    begin_group,        end_group, send,    receive, gather, download, arrived};

}  // namespace
}  // namespace softamp

extern "C" __attribute__((visibility("default"))) const softamp::NcclTable* softamp_nccl_table() {
  return &softamp::kTable;
}
