// A device of cuda/device.h made of the host: kernels run when they are put into the queue, block by block and thread
// by thread (cuda/grid.h), forwards or, with SOFTAMP_SERIAL_GRID=backwards, from the last block and thread to the
// first (by_slice: of an odd SOFTAMP_SLICE). It is stricter than a GPU where a GPU would let a mistake pass: device
// memory can be touched by kernels and copies alone, begins as garbage, ends at a page that nobody can touch, and every
// copy must lie in one allocation. And it fails where only a GPU would: a kernel that follows an address of the host's
// memory, which came in its structure, ends the program with a line that names it.
#include "cuda/device.h"

#include "cuda/device_check.h"
#include "tests/serial_grid/serial_grid.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace softamp::cuda {

std::set<std::string>& launched();  // serial_grid.h

namespace {

constexpr size_t kPage = 4096, kAlign = 64;
size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
/// Bytes of an allocation, which end where the page behind it begins.
size_t room(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
std::byte* first_page(std::byte* at, size_t bytes) { return at + room(bytes) - pages(room(bytes)); }
void protect(std::byte* at, size_t bytes, int protection) {
  mprotect(first_page(at, bytes), pages(room(bytes)), protection);
}
void unmap(std::byte* at, size_t bytes) { munmap(first_page(at, bytes), pages(room(bytes)) + kPage); }

/// Whether an address is of memory that the host can read. Asked only from 0x5000'0000'0000 on, where programs that are
/// position-independent, their heaps, stacks and libraries lie (of x86-64 and AArch64): below, a word is more likely
/// two small numbers.
bool is_readable(uintptr_t address) {
  constexpr uintptr_t kLowest = 0x500000000000;
  if (address < kLowest || address >> 48 != 0) return false;
  // The kernel reads the set before it sees that -1 is nothing to do with it.
  return syscall(SYS_rt_sigprocmask, -1, address / 8 * 8, nullptr, 8) != 0 && errno != EFAULT;
}

/// Above all addresses. What is hidden keeps its lower 48 bits: in the padding behind small members there may be the
/// rest of an old address.
constexpr uintptr_t kNowhere = uintptr_t{0xDEAD} << 48;

thread_local const char* running = "";  ///< the kernel
struct sigaction before_us;

/// Says what the kernel did, and leaves the rest to whoever handled the signal before.
void on_fault(int, siginfo_t* info, void*) {
  // x86-64 does not tell an address that is none.
  if (info->si_code == SI_KERNEL || reinterpret_cast<uintptr_t>(info->si_addr) >> 48 != 0) {
    const char* const parts[] = {"serial grid: kernel '", running,
                                 "' follows an address of the host's memory, or one off its alignment\n"};
    for (const char* part : parts)
      if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  sigaction(SIGSEGV, &before_us, nullptr);
}

void watch_faults() {
  [[maybe_unused]] static const bool once = [] {
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO;
    return sigaction(SIGSEGV, &ours, &before_us) == 0;
  }();
}

class WorkRecording final : public Recording {
 public:
  std::vector<std::function<void()>> work;
};

}  // namespace

Machine& machine() {
  static Machine only;
  return only;
}

struct Device::State {
  std::map<std::byte*, size_t> allocations;
  std::string operation;
  std::vector<std::function<void()>>* recording = nullptr;
  int open = 0;
  bool locked = false;
  size_t used = 0;   ///< bytes of all allocations
  std::string lost;  ///< the kernel at which the device was lost

  void expect_alive() const {
    if (!lost.empty())
      throw DeviceError("backend cuda: " + failure_text("kernel " + lost + " (or one that follows it)",
                                                        {"cudaErrorECCUncorrectable", "a fault that a test planted"}));
  }

  /// The allocation that holds [at, at + bytes).
  void expect_inside(const void* at, size_t bytes, const char* what) const {
    auto* const first = const_cast<std::byte*>(static_cast<const std::byte*>(at));
    auto it = allocations.upper_bound(first);
    if (it != allocations.begin()) {
      --it;
      if (first + bytes <= it->first + it->second) return;
    }
    throw DeviceError(std::string(what) + ": " + std::to_string(bytes) + " bytes are not in the device's memory, at " +
                      operation);
  }
  /// Whether it points into an allocation, or to its end.
  bool holds(uintptr_t address) const {
    auto it = allocations.upper_bound(reinterpret_cast<std::byte*>(address));
    if (it == allocations.begin()) return false;
    --it;
    return address <= reinterpret_cast<uintptr_t>(it->first) + room(it->second);
  }
  /// Device memory can be touched between the two. Taking it away again would be most of the work of small kernels: it
  /// is done the first thousand times, then once in sixteen, and not where there are many allocations.
  void unlock() {
    if (open++ != 0 || !locked) return;
    for (const auto& [at, bytes] : allocations) protect(at, bytes, PROT_READ | PROT_WRITE);
    locked = false;
  }
  void lock() {
    constexpr size_t kMost = 24;
    static std::atomic<unsigned> times = 0;
    if (--open != 0 || allocations.size() > kMost) return;
    if (const unsigned n = times++; n >= 1000 && n % 16 != 0) return;
    for (const auto& [at, bytes] : allocations) protect(at, bytes, PROT_NONE);
    locked = true;
  }
  /// Between host and device; `there` is the address on the device.
  void transfer(void* to, const void* from, size_t bytes, const void* there, const char* what) {
    if (bytes == 0) return;
    expect_alive();
    expect_inside(there, bytes, what);
    unlock();
    std::memcpy(to, from, bytes);
    lock();
  }
};

std::set<std::string>& launched() {
  thread_local std::set<std::string> names;
  return names;
}

Device::Device(int ordinal)
    : properties_{"the host, serially", 9, 0, 2, size_t{1} << 30}, state_(std::make_unique<State>()) {
  if (const std::string why = why_unusable({13000, 13000, {}, 1, ordinal, {}, "the host", 9, 0, {}, {}}); !why.empty())
    throw DeviceError("backend cuda: " + why);
  const char *const order = std::getenv("SOFTAMP_SERIAL_GRID"), *const slice = std::getenv("SOFTAMP_SLICE");
  const std::string_view word = order ? order : "forwards";
  watch_faults();
  backwards_ = word == "backwards" || (word == "by_slice" && slice && std::atoll(slice) % 2 == 1);
}

Device::~Device() {
  for (const auto& [at, bytes] : state_->allocations) unmap(at, bytes);
}

void* Device::allocate(size_t bytes) {
  if (state_->recording) throw DeviceError("an allocation while a step is recorded, at " + state_->operation);
  state_->expect_alive();
  expect_memory("an array", bytes);
  void* const mapped =
      mmap(nullptr, pages(room(bytes)) + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw DeviceError("out of memory: " + std::to_string(bytes) + " bytes");
  std::byte* const guard = static_cast<std::byte*>(mapped) + pages(room(bytes));
  mprotect(guard, kPage, PROT_NONE);
  std::byte* const memory = guard - room(bytes);
  std::memset(memory, 0xA5, room(bytes));
  if (state_->locked) protect(memory, bytes, PROT_NONE);
  state_->allocations[memory] = bytes;
  state_->used += bytes;
  return memory;
}

void Device::expect_memory(const std::string& what, size_t bytes) const {
  const size_t all = machine().memory, left = all - std::min(all, state_->used);
  if (bytes > left) throw DeviceError("backend cuda: " + memory_text(what, bytes, properties_.name, left, all));
}

void Device::release(void* memory) noexcept {
  const auto it = state_->allocations.find(static_cast<std::byte*>(memory));
  if (it == state_->allocations.end()) std::abort();
  unmap(it->first, it->second);
  state_->used -= it->second;
  state_->allocations.erase(it);
}

void Device::upload(void* to, const void* from, size_t bytes) {
  if (bytes != 0 && state_->recording) throw DeviceError("an upload while a step is recorded, at " + state_->operation);
  state_->transfer(to, from, bytes, to, "upload");
}

void Device::download(void* to, const void* from, size_t bytes) { state_->transfer(to, from, bytes, from, "download"); }

void Device::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  state_->expect_inside(to, bytes, "copy to");
  state_->expect_inside(from, bytes, "copy from");
  put([=, this] {
    state_->unlock();
    std::memcpy(to, from, bytes);
    state_->lock();
  });
}

void Device::fill(void* to, unsigned char byte, size_t bytes) {
  if (bytes == 0) return;
  state_->expect_inside(to, bytes, "fill");
  put([=, this] {
    state_->unlock();
    std::memset(to, byte, bytes);
    state_->lock();
  });
}

void Device::store(uint32_t* to, uint32_t value) {
  if (state_->recording) throw DeviceError("a word stored while a step is recorded, at " + state_->operation);
  state_->transfer(to, &value, sizeof value, to, "store");
}

void Device::hide_host_memory(void* words, size_t bytes) const {
  for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
    std::byte* const place = static_cast<std::byte*>(words) + at;
    uintptr_t word;
    std::memcpy(&word, place, sizeof word);
    if (!is_readable(word) || state_->holds(word)) continue;
    word |= kNowhere;
    std::memcpy(place, &word, sizeof word);
  }
}

void Device::put(std::function<void()> work) {
  if (state_->recording)
    state_->recording->push_back(std::move(work));
  else
    work();
}

void Device::begin_operation(std::string operation) { state_->operation = std::move(operation); }

Device::Note Device::begin_launch(const char* name, const Grid& grid) {
  if (grid.threads < 1 || grid.threads > 1024 || grid.blocks > 0x7FFFFFFFu || grid.shared > Grid::kMostShared)
    throw DeviceError(std::string("launch of ") + name + " of " + state_->operation + ": " +
                      std::to_string(grid.blocks) + " blocks of " + std::to_string(grid.threads) + " threads with " +
                      std::to_string(grid.shared) + " bytes: no such launch");
  running = name;
  launched().emplace(name);
  if (machine().launches_until_lost >= 0 && machine().launches_until_lost-- == 0)
    state_->lost = std::string(name) + " of " + state_->operation;
  state_->unlock();
  return {};
}

void Device::end_launch() { state_->lock(); }
void Device::wait_for_all() { state_->expect_alive(); }
void Device::wait() { state_->expect_alive(); }
bool Device::pace(const std::function<bool()>&) {
  state_->expect_alive();
  return false;  // all has run
}

void Device::begin_recording() { state_->recording = new std::vector<std::function<void()>>; }

std::unique_ptr<Recording> Device::end_recording() {
  auto recording = std::make_unique<WorkRecording>();
  recording->work = std::move(*state_->recording);
  delete std::exchange(state_->recording, nullptr);
  return recording;
}

void Device::abandon_recording() noexcept { delete std::exchange(state_->recording, nullptr); }

void Device::replay(const Recording& recording) {
  state_->unlock();
  for (const auto& work : static_cast<const WorkRecording&>(recording).work) work();
  state_->lock();
}

}  // namespace softamp::cuda
