// Memory of operator new that ends where a page begins that cannot be touched: what is read or written behind an array
// ends the test. A start that is aligned leaves at most 15 bytes behind the array (more where more was asked for).
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace {

constexpr size_t kPage = 4096, kLeast = 64;  // smaller ones come from malloc, as do those above the greatest class
constexpr size_t kClasses = 60, kRegion = size_t{1} << 30;  // of address space, for each class
constexpr size_t kMostSlots = 20000;                        // the system has 65,530 mappings for a process
constexpr size_t kFilled = 16384, kGivenBack = size_t{1} << 20;

/// Pages of class c: four classes for each doubling.
constexpr size_t pages_of(size_t c) { return c < 4 ? c + 1 : (5 + c % 4) << (c / 4 - 1); }

class Slots {
 public:
  void* take(size_t bytes, size_t alignment) {
    if (bytes < kLeast || alignment > kPage) return nullptr;
    size_t c = 0;
    while (c < kClasses && pages_of(c) * kPage < bytes + alignment - 1) ++c;
    if (c == kClasses) return nullptr;
    char* const slot = take_slot(c);
    if (!slot) return nullptr;
    char* const end = slot + pages_of(c) * kPage;
    char* const start = end - bytes - reinterpret_cast<uintptr_t>(end - bytes) % alignment;
    std::memset(start, 0xFF, bytes < kFilled ? bytes : kFilled);  // what is read before it is written is NaN
    return start;
  }

  /// False if it comes from malloc.
  bool give(void* memory) {
    const size_t at = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(start_);
    if (!start_ || at >= kClasses * kRegion) return false;
    const size_t c = at / kRegion, bytes = pages_of(c) * kPage;
    char* const slot = start_ + c * kRegion + at % kRegion / (bytes + kPage) * (bytes + kPage);
    if (bytes >= kGivenBack) ::madvise(slot, bytes, MADV_DONTNEED);
    const std::lock_guard lock(mutex_);
    std::memcpy(slot, &free_[c], sizeof(char*));
    free_[c] = slot;
    return true;
  }

 private:
  char* take_slot(size_t c) {
    const std::lock_guard lock(mutex_);
    if (!start_) {
      void* const all =
          ::mmap(nullptr, kClasses * kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (all == MAP_FAILED) return nullptr;
      start_ = static_cast<char*>(all);
    }
    if (char* const slot = free_[c]) {
      std::memcpy(&free_[c], slot, sizeof(char*));
      return slot;
    }
    const size_t bytes = pages_of(c) * kPage;
    if (made_ == kMostSlots || (used_[c] + 1) * (bytes + kPage) > kRegion) return nullptr;
    char* const slot = start_ + c * kRegion + used_[c] * (bytes + kPage);
    if (::mprotect(slot, bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
    ++used_[c], ++made_;
    return slot;
  }

  std::mutex mutex_;
  char* start_ = nullptr;
  char* free_[kClasses] = {};  ///< each begins with the address of the next one
  size_t used_[kClasses] = {}, made_ = 0;
};

constinit Slots slots;

void* allocated(size_t bytes, size_t alignment) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  if (void* const memory = slots.take(bytes, alignment)) return memory;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void freed(void* memory) {
  if (memory && !slots.give(memory)) std::free(memory);
}

}  // namespace

// The other forms of operator new and delete call these.
void* operator new(size_t bytes) { return allocated(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { freed(memory); }
void operator delete(void* memory, size_t) noexcept { freed(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { freed(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { freed(memory); }
