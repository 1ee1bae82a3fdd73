#include "tests/exchange/nccl/fake_nccl.h"

#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

namespace {

constexpr int kHost = -1;

struct Block {
  size_t size;
  int where;  ///< a device, or kHost
};

/// What the Machine holds; under its own mutex, which is taken last.
struct Facts {
  std::mutex mutex;
  int devices = 1, looks = 0, delay = 0;
  std::map<std::pair<std::string, int>, int> calls;  ///< by function and device
  std::map<std::pair<std::string, int>, int> failing;
  std::map<int, int> hanging;  ///< by device
  std::map<const char*, Block> blocks;
  std::vector<std::unique_ptr<char[]>> freed;  ///< kept while a stream may still write to it: a fault, and no crash
  std::set<FakeStream*> streams;
  bool failed = false;
  int events = 0, comms = 0, most_lanes = 0;
  std::vector<std::string> faults;
  uint64_t random = 88172645463325252u;
};

Facts facts;
thread_local int current = 0;

void fault(const std::string& what) {
  const std::lock_guard lock(facts.mutex);
  facts.faults.push_back(what);
}

/// Counts a call; whether it is one that fails.
bool fails(const char* function) {
  const std::lock_guard lock(facts.mutex);
  const std::pair<std::string, int> key(function, current);
  const int number = ++facts.calls[key];
  const auto planned = facts.failing.find(key);
  if (planned == facts.failing.end() || planned->second != number) return false;
  facts.failed = true;
  return true;
}

/// Whether all of an array's part is there, on the host or a device.
bool expect_memory(const char* function, const void* memory, size_t bytes, int where) {
  const std::lock_guard lock(facts.mutex);
  const char* const begin = static_cast<const char*>(memory);
  auto block = facts.blocks.upper_bound(begin);
  if (block != facts.blocks.begin()) --block;
  const bool inside = block != facts.blocks.end() && begin >= block->first && block->second.where == where &&
                      begin + bytes <= block->first + block->second.size;
  if (!inside)
    facts.faults.push_back(std::string(function) + ": " + std::to_string(bytes) +
                           " bytes that are not all in an array of " +
                           (where == kHost ? "the host" : "device " + std::to_string(where)));
  return inside;
}

/// Getting and freeing memory may wait for the device.
void expect_idle(const char* function);

cudaError_t allocate(const char* function, void** to, size_t bytes, int where) {
  expect_idle(function);
  if (fails(function)) return cudaErrorMemoryAllocation;
  char* const memory = new (std::nothrow) char[bytes];
  if (!memory) return cudaErrorMemoryAllocation;
  std::memset(memory, 0xA5, bytes);
  const std::lock_guard lock(facts.mutex);
  facts.blocks[memory] = {bytes, where};
  *to = memory;
  return cudaSuccess;
}

cudaError_t release(const char* function, void* memory, bool host) {
  expect_idle(function);
  const std::lock_guard lock(facts.mutex);
  const auto block = facts.blocks.find(static_cast<char*>(memory));
  if (block == facts.blocks.end() || (block->second.where == kHost) != host) {
    facts.faults.push_back(std::string(function) + " of what is no array of its kind");
    return cudaErrorUnknown;
  }
  facts.freed.emplace_back(static_cast<char*>(memory));
  facts.blocks.erase(block);
  return cudaSuccess;
}

}  // namespace

// The device: a thread for each stream.

struct FakeStream {
  explicit FakeStream(int on) : device(on), thread([this] { run(); }) {}

  /// A mark is nothing that the device is busy with.
  void put(std::function<void()> work, bool mark = false) {
    {
      const std::lock_guard lock(mutex);
      queue.emplace_back(std::move(work), mark);
      if (!mark) ++pending;
    }
    changed.notify_all();
    const std::lock_guard lock(facts.mutex);
    int busy = 0;
    for (const FakeStream* each : facts.streams) busy += each->device == device && each->pending > 0;
    facts.most_lanes = std::max(facts.most_lanes, busy);
  }
  void run() {
    for (;;) {
      std::function<void()> work;
      bool mark = false;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ended || !queue.empty(); });
        if (queue.empty()) return;
        std::tie(work, mark) = std::move(queue.front());
        queue.pop_front();
      }
      int delay = 0;
      {
        const std::lock_guard lock(facts.mutex);
        facts.random ^= facts.random << 13, facts.random ^= facts.random >> 7, facts.random ^= facts.random << 17;
        delay = facts.delay == 0 ? 0 : static_cast<int>(facts.random % static_cast<unsigned>(facts.delay + 1));
      }
      if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
      work();
      if (!mark) --pending;
    }
  }
  void end() {
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_all();
    thread.join();
  }

  const int device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::function<void()>, bool>> queue;
  std::atomic<int> pending = 0;
  bool ended = false;
  std::thread thread;
};

namespace {
void expect_idle(const char* function) {
  const std::lock_guard lock(facts.mutex);
  for (const FakeStream* each : facts.streams)
    if (each->device == current && each->pending > 0)
      facts.faults.push_back(std::string(function) + " while the device is busy");
}
}  // namespace

struct FakeEvent {
  int recorded = 0;
  std::atomic<int> done = 0;
};

cudaError_t cudaGetDeviceCount(int* count) {
  if (fails("cudaGetDeviceCount")) return cudaErrorUnknown;
  const std::lock_guard lock(facts.mutex);
  *count = facts.devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= facts.devices) fault("cudaSetDevice: there is no such device");
  current = device;
  return fails("cudaSetDevice") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "as the test planned"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorPlanned"; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) fault("cudaStreamCreateWithFlags: a stream that waits for others");
  if (fails("cudaStreamCreateWithFlags")) return cudaErrorUnknown;
  *stream = new FakeStream(current);
  const std::lock_guard lock(facts.mutex);
  facts.streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->end();
  const std::lock_guard lock(facts.mutex);
  facts.streams.erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (fails("cudaEventCreateWithFlags")) return cudaErrorUnknown;
  *event = new FakeEvent;
  const std::lock_guard lock(facts.mutex);
  ++facts.events;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  const std::lock_guard lock(facts.mutex);
  --facts.events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (fails("cudaEventRecord")) return cudaErrorUnknown;
  const int number = ++event->recorded;
  stream->put([event, number] { event->done = number; }, true);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (fails("cudaEventQuery")) return cudaErrorUnknown;
  return event->done == event->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaHostAlloc(void** to, size_t bytes, unsigned) { return allocate("cudaHostAlloc", to, bytes, kHost); }
cudaError_t cudaFreeHost(void* memory) { return release("cudaFreeHost", memory, true); }
cudaError_t cudaMalloc(void** to, size_t bytes) { return allocate("cudaMalloc", to, bytes, current); }
cudaError_t cudaFree(void* memory) { return release("cudaFree", memory, false); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (fails("cudaMemcpyAsync")) return cudaErrorUnknown;
  const bool up = kind == cudaMemcpyHostToDevice;
  if (!expect_memory("cudaMemcpyAsync", from, bytes, up ? kHost : stream->device) ||
      !expect_memory("cudaMemcpyAsync", to, bytes, up ? stream->device : kHost))
    return cudaErrorUnknown;
  stream->put([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

// NCCL.

namespace {

struct Message {
  std::vector<char> bytes;
  char kind;  ///< 's': of a send; 'g': of a gather
  bool taken = false;
};

/// The ranks of one communicator.
struct Clique {
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 0, joined = 0, finishing = 0;
  std::set<int> devices;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> mail;  ///< by who sends and who receives
};

std::mutex cliques_mutex;
std::map<std::string, std::shared_ptr<Clique>> cliques;
std::atomic<int> next_id = 1;

struct Operation {
  bool send;
  char kind;
  int peer;
  char* memory;
  size_t bytes;
};

}  // namespace

struct FakeComm {
  FakeComm(std::shared_ptr<Clique> of, int as, int on) : clique(std::move(of)), rank(as), device(on) {}

  const std::shared_ptr<Clique> clique;
  const int rank, device;
  bool aborted = false, finishing = false;
  int begun = 0, done = 0;  ///< operations, which come one after the other
  int looks = 0;
  std::vector<std::pair<FakeStream*, std::function<void()>>> waiting;  ///< for the last look
};

namespace {

struct Group {
  int depth = 0;
  FakeComm* comm = nullptr;
  FakeStream* stream = nullptr;
  std::vector<Operation> operations;
};
thread_local Group group;

bool in_progress(FakeComm* comm) {
  const std::lock_guard lock(comm->clique->mutex);
  return comm->looks > 0 || comm->clique->joined < comm->clique->ranks || !comm->waiting.empty();
}

void transfer(FakeComm* comm, int number, const std::vector<Operation>& operations) {
  Clique& clique = *comm->clique;
  int hangs = 0;
  {
    const std::lock_guard lock(facts.mutex);
    const auto planned = facts.hanging.find(comm->device);
    hangs = planned == facts.hanging.end() ? 0 : planned->second;
  }
  std::unique_lock lock(clique.mutex);
  clique.changed.wait(lock, [&] { return comm->aborted || comm->done == number - 1; });
  if (hangs > 0 && number >= hangs) clique.changed.wait(lock, [&] { return comm->aborted; });
  if (comm->aborted) return;
  std::vector<std::shared_ptr<Message>> sent;
  for (const Operation& o : operations) {
    if (!o.send) continue;
    sent.push_back(std::make_shared<Message>(Message{{o.memory, o.memory + o.bytes}, o.kind}));
    clique.mail[{comm->rank, o.peer}].push_back(sent.back());
  }
  clique.changed.notify_all();
  for (const Operation& o : operations) {
    if (o.send) continue;
    auto& box = clique.mail[{o.peer, comm->rank}];
    clique.changed.wait(lock, [&] { return comm->aborted || !box.empty(); });
    if (comm->aborted) return;
    const std::shared_ptr<Message> message = box.front();
    box.pop_front();
    if (message->bytes.size() != o.bytes || message->kind != o.kind)
      fault("rank " + std::to_string(comm->rank) + " receives " + std::to_string(o.bytes) + " bytes of " + o.kind +
            " from rank " + std::to_string(o.peer) + ", which sends " + std::to_string(message->bytes.size()) + " of " +
            message->kind);
    else
      std::memcpy(o.memory, message->bytes.data(), o.bytes);
    message->taken = true;
    clique.changed.notify_all();
  }
  for (const auto& message : sent) clique.changed.wait(lock, [&] { return comm->aborted || message->taken; });
  comm->done = number;
  clique.changed.notify_all();
}

/// Puts operations into the stream, now or after some looks.
ncclResult_t issue(FakeComm* comm, FakeStream* stream, std::vector<Operation> operations) {
  if (in_progress(comm)) fault("NCCL is called while it is in progress");
  const int number = ++comm->begun;
  std::function<void()> work = [=, list = std::move(operations)] { transfer(comm, number, list); };
  int looks = 0;
  {
    const std::lock_guard lock(facts.mutex);
    looks = facts.looks;
  }
  if (looks == 0) {
    stream->put(std::move(work));
    return ncclSuccess;
  }
  const std::lock_guard lock(comm->clique->mutex);
  comm->looks = looks;
  comm->waiting.emplace_back(stream, std::move(work));
  return ncclInProgress;
}

ncclResult_t one(const char* function, bool send, void* memory, size_t bytes, int peer, FakeComm* comm,
                 FakeStream* stream) {
  if (fails(function)) return ncclInternalError;
  if (peer < 0 || peer >= comm->clique->ranks) fault(std::string(function) + ": there is no such rank");
  if (stream->device != comm->device || !expect_memory(function, memory, bytes, comm->device)) return ncclInternalError;
  if (group.depth == 0) fault(std::string(function) + " outside of a group");
  if ((group.comm && group.comm != comm) || (group.stream && group.stream != stream))
    fault(std::string(function) + ": a group of two communicators or streams");
  group.comm = comm;
  group.stream = stream;
  group.operations.push_back({send, 's', peer, static_cast<char*>(memory), bytes});
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (fails("ncclGetUniqueId")) return ncclSystemError;
  std::memset(id, 0, sizeof *id);
  const std::string text = "clique " + std::to_string(next_id++);
  std::memcpy(id->internal, text.data(), text.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (fails("ncclCommInitRankConfig")) return ncclSystemError;
  if (config->blocking != 0) fault("a communicator whose calls block");
  std::shared_ptr<Clique> clique;
  {
    const std::lock_guard lock(cliques_mutex);
    std::shared_ptr<Clique>& place = cliques[std::string(id.internal, sizeof id.internal)];
    if (!place) place = std::make_shared<Clique>();
    clique = place;
  }
  const std::lock_guard lock(clique->mutex);
  clique->ranks = ranks;
  ++clique->joined;
  if (!clique->devices.insert(current).second) fault("two ranks on one device");
  *comm = new FakeComm(clique, rank, current);
  const std::lock_guard lock_facts(facts.mutex);
  (*comm)->looks = facts.looks;
  ++facts.comms;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (fails("ncclCommGetAsyncError")) return ncclInternalError;
  if (fails("state")) {
    *error = ncclRemoteError;
    return ncclSuccess;
  }
  std::vector<std::pair<FakeStream*, std::function<void()>>> ready;
  {
    const std::lock_guard lock(comm->clique->mutex);
    *error = ncclInProgress;
    if (comm->clique->joined < comm->clique->ranks || (comm->looks > 0 && --comm->looks > 0)) return ncclSuccess;
    if (comm->finishing && comm->clique->finishing < comm->clique->ranks) return ncclSuccess;
    *error = ncclSuccess;
    std::swap(ready, comm->waiting);
  }
  for (auto& [stream, work] : ready) stream->put(std::move(work));
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (fails("ncclCommFinalize")) return ncclInternalError;
  if (in_progress(comm)) fault("ncclCommFinalize while NCCL is in progress");
  const std::lock_guard lock(comm->clique->mutex);
  comm->finishing = true;
  ++comm->clique->finishing;
  return ncclInProgress;
}

static ncclResult_t end(FakeComm* comm) {
  {
    // What lies in a stream ends, and nothing that waits for a look comes into one.
    const std::lock_guard lock(comm->clique->mutex);
    comm->aborted = true;
    comm->waiting.clear();
    comm->clique->changed.notify_all();
  }
  // The streams outlive it: their operations end before it is freed.
  std::vector<FakeStream*> streams;
  {
    const std::lock_guard lock(facts.mutex);
    --facts.comms;
    for (FakeStream* each : facts.streams)
      if (each->device == comm->device) streams.push_back(each);
  }
  for (FakeStream* each : streams)
    while (each->pending > 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  fails("ncclCommDestroy");
  if (!comm->finishing || comm->clique->finishing < comm->clique->ranks)
    fault("ncclCommDestroy of a communicator that has not parted");
  return end(comm);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  fails("ncclCommAbort");
  group = {};
  return end(comm);
}

ncclResult_t ncclGroupStart() {
  if (fails("ncclGroupStart")) return ncclInternalError;
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) fault("ncclGroupEnd without a group");
  const bool failing = fails("ncclGroupEnd");
  if (--group.depth > 0) return ncclSuccess;
  const Group ended = std::exchange(group, {});
  if (failing) return ncclInternalError;
  if (ended.operations.empty()) return ncclSuccess;
  return issue(ended.comm, ended.stream, ended.operations);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  return one("ncclSend", true, const_cast<void*>(from), count, peer, comm, stream);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  return one("ncclRecv", false, to, count, peer, comm, stream);
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t, ncclComm_t comm,
                           cudaStream_t stream) {
  if (fails("ncclAllGather")) return ncclInternalError;
  const size_t ranks = static_cast<size_t>(comm->clique->ranks);
  if (stream->device != comm->device || !expect_memory("ncclAllGather", from, count, comm->device) ||
      !expect_memory("ncclAllGather", to, count * ranks, comm->device))
    return ncclInternalError;
  std::vector<Operation> operations;
  for (size_t i = 0; i < ranks; ++i) {
    const int peer = static_cast<int>(i);
    operations.push_back({true, 'g', peer, static_cast<char*>(const_cast<void*>(from)), count});
    operations.push_back({false, 'g', peer, static_cast<char*>(to) + i * count, count});
  }
  return issue(comm, stream, std::move(operations));
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "a rank is gone, as the test planned" : "an error, as the test planned";
}
const char* ncclGetLastError(ncclComm_t) { return "as the test planned"; }

namespace softamp::fake_nccl {

Machine::Machine(int devices) {
  const std::lock_guard lock(facts.mutex);
  facts.devices = devices;
  facts.looks = facts.delay = facts.most_lanes = 0;
  facts.calls.clear();
  facts.failing.clear();
  facts.hanging.clear();
  facts.faults.clear();
  if (facts.streams.empty()) facts.freed.clear();
  facts.failed = false;
}
Machine::~Machine() {
  const std::lock_guard lock(cliques_mutex);
  cliques.clear();
}
void Machine::fail(const std::string& function, int device, int number) {
  const std::lock_guard lock(facts.mutex);
  facts.failing[{function, device}] = number;
}
void Machine::hang(int device, int number) {
  const std::lock_guard lock(facts.mutex);
  facts.hanging[device] = number;
}
void Machine::set_looks(int looks) {
  const std::lock_guard lock(facts.mutex);
  facts.looks = looks;
}
void Machine::set_delay(int microseconds) {
  const std::lock_guard lock(facts.mutex);
  facts.delay = microseconds;
}
bool Machine::failed() const {
  const std::lock_guard lock(facts.mutex);
  return facts.failed;
}
int Machine::calls(const std::string& function) const {
  const std::lock_guard lock(facts.mutex);
  int sum = 0;
  for (const auto& [key, count] : facts.calls)
    if (key.first == function) sum += count;
  return sum;
}
int Machine::most_lanes() const {
  const std::lock_guard lock(facts.mutex);
  return facts.most_lanes;
}
std::vector<std::string> Machine::faults() const {
  const std::lock_guard lock(facts.mutex);
  return facts.faults;
}
int Machine::alive() const {
  const std::lock_guard lock(facts.mutex);
  return static_cast<int>(facts.blocks.size() + facts.streams.size()) + facts.events + facts.comms;
}

}  // namespace softamp::fake_nccl
