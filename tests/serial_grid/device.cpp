// A device of cuda/device.h made of the host: kernels run when they are put into the queue, block by block and thread
// by thread (cuda/grid.h), forwards or, with SOFTAMP_SERIAL_GRID=backwards, from the last block and thread to the
// first (by_day: on odd SOFTAMP_SLICE). It is stricter than a GPU where a GPU would let a mistake pass: device memory
// can be touched by kernels and copies alone, begins as garbage, ends at a page that nobody can touch, and every copy
// must lie in one allocation.
#include "cuda/device.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace softamp::cuda {
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

class WorkRecording final : public Recording {
 public:
  std::vector<std::function<void()>> work;
};

}  // namespace

struct Device::State {
  std::map<std::byte*, size_t> allocations;
  std::string operation;
  const char* kernel = "";
  std::vector<std::function<void()>>* recording = nullptr;
  int open = 0;
  bool locked = false;

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
};

int Device::count(std::string*) { return 1; }

Device::Device(int ordinal)
    : properties_{"the host, serially", 9, 0, 2, size_t{1} << 30}, state_(std::make_unique<State>()) {
  if (ordinal != 0) throw DeviceError("device " + std::to_string(ordinal) + "; expected 0..0");
  const char *const order = std::getenv("SOFTAMP_SERIAL_GRID"), *const day = std::getenv("SOFTAMP_SLICE");
  const std::string_view word = order ? order : "forwards";
  backwards_ = word == "backwards" || (word == "by_day" && day && std::atoi(day) % 2 == 1);
}

Device::~Device() {
  for (const auto& [at, bytes] : state_->allocations) unmap(at, bytes);
}

void* Device::allocate(size_t bytes) {
  if (state_->recording) throw DeviceError("an allocation while a step is recorded, at " + state_->operation);
  void* const mapped =
      mmap(nullptr, pages(room(bytes)) + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw DeviceError("out of memory: " + std::to_string(bytes) + " bytes");
  std::byte* const guard = static_cast<std::byte*>(mapped) + pages(room(bytes));
  mprotect(guard, kPage, PROT_NONE);
  std::byte* const memory = guard - room(bytes);
  std::memset(memory, 0xA5, room(bytes));
  if (state_->locked) protect(memory, bytes, PROT_NONE);
  state_->allocations[memory] = bytes;
  return memory;
}

void Device::release(void* memory) noexcept {
  const auto it = state_->allocations.find(static_cast<std::byte*>(memory));
  if (it == state_->allocations.end()) std::abort();
  unmap(it->first, it->second);
  state_->allocations.erase(it);
}

void Device::upload(void* to, const void* from, size_t bytes) {
  if (state_->recording) throw DeviceError("an upload while a step is recorded, at " + state_->operation);
  state_->expect_inside(to, bytes, "upload");
  state_->unlock();
  std::memcpy(to, from, bytes);
  state_->lock();
}

void Device::download(void* to, const void* from, size_t bytes) {
  state_->expect_inside(from, bytes, "download");
  state_->unlock();
  std::memcpy(to, from, bytes);
  state_->lock();
}

void Device::copy(void* to, const void* from, size_t bytes) {
  state_->expect_inside(to, bytes, "copy to");
  state_->expect_inside(from, bytes, "copy from");
  put([=, this] {
    state_->unlock();
    std::memcpy(to, from, bytes);
    state_->lock();
  });
}

void Device::fill(void* to, unsigned char byte, size_t bytes) {
  state_->expect_inside(to, bytes, "fill");
  put([=, this] {
    state_->unlock();
    std::memset(to, byte, bytes);
    state_->lock();
  });
}

void Device::put(std::function<void()> work) {
  if (state_->recording)
    state_->recording->push_back(std::move(work));
  else
    work();
}

void Device::begin_operation(std::string operation) { state_->operation = std::move(operation); }

uint32_t Device::begin_launch(const char* name, const Grid& grid) {
  if (grid.threads < 1 || grid.threads > 1024 || grid.blocks > 0x7FFFFFFFu || grid.shared > 49152)
    throw DeviceError(std::string("launch of ") + name + " of " + state_->operation + ": " +
                      std::to_string(grid.blocks) + " blocks of " + std::to_string(grid.threads) + " threads with " +
                      std::to_string(grid.shared) + " bytes: no such launch");
  state_->kernel = name;
  state_->unlock();
  return 0;
}

void Device::end_launch() { state_->lock(); }
void Device::wait() {}

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
