// A library that is preloaded into a program (LD_PRELOAD): it counts the calls by which the program works with files,
// threads and memory, and lets the N-th of them fail, or kills the program there. For Linux with glibc.
//
//   SOFTAMP_FAULT=KIND:N:WHAT     what happens at the N-th call of KIND, counted from 1. WHAT is the name of an error
//                                 (ENOSPC), SHORT (half of the bytes are read or written), or KILL (before the call)
//   SOFTAMP_FAULT=KIND:N+:WHAT    at that call and all later ones, as a disk that is full stays full
//   SOFTAMP_FAULT_PROGRAM=NAME    the program that is meant [=softamp]; in others that it starts nothing happens
//   SOFTAMP_FAULT_LOG=FILE        a line "KIND N PLACE" for each counted call, with "!" before those that failed
//
// The kinds are the names in kKindNames; `any` counts all of them together. Calls on files of the system (kSystem) and
// on standard error are not counted: the loader is left alone, and a message can be read. What the C library does
// within itself cannot be seen from here, and oneTBB's and Abseil's own memory is left alone: of a stream (FILE) the
// calls are counted that write out what it has gathered.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// As in kKindNames.
enum Kind {
  kOpen,
  kCreate,
  kRead,
  kWrite,
  kSync,
  kRename,
  kClose,
  kMap,
  kThread,
  kTruncate,
  kMkdir,
  kRemove,
  kLock,
  kSpawn,
  kAny,
  kKinds
};
constexpr const char* kKindNames[kKinds] = {"open",   "create",   "read",  "write",  "sync", "rename", "close", "map",
                                            "thread", "truncate", "mkdir", "remove", "lock", "spawn",  "any"};
struct {
  const char* name;
  int number;
} constexpr kErrors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EACCES", EACCES}, {"EINTR", EINTR},
                         {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
                         {"EMFILE", EMFILE}, {"ENOLCK", ENOLCK}, {"EXDEV", EXDEV},   {"EPERM", EPERM}};
constexpr const char* kSystem[] = {"/proc/", "/sys/", "/usr/", "/lib/", "/lib64/", "/etc/", "/var/"};
constexpr int kShort = -1, kKill = -2, kNothing = 0;

/// What the environment asks for.
struct Plan {
  bool here = false;  ///< this is the program that is meant
  Kind kind = kAny;
  long first = 0;
  bool lasting = false;
  int what = kNothing;
  int log = -1;

  Plan() {
    const char* program = getenv("SOFTAMP_FAULT_PROGRAM");
    here = strcmp(program_invocation_short_name, program ? program : "softamp") == 0;
    if (!here) return;
    if (const char* file = getenv("SOFTAMP_FAULT_LOG"))
      log = static_cast<int>(syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (log >= 0) {
      // Out of the way of the numbers that the program gets.
      const int high = static_cast<int>(syscall(SYS_fcntl, log, F_DUPFD_CLOEXEC, 500));
      syscall(SYS_close, log);
      log = high;
    }
    const char* fault = getenv("SOFTAMP_FAULT");
    if (!fault || !*fault) return;
    const std::string text = fault;
    const size_t colon = text.find(':'), second = text.find(':', colon + 1);
    if (second == std::string::npos) refuse(fault);
    int named = 0;
    while (named < kKinds && text.compare(0, colon, kKindNames[named]) != 0) ++named;
    char* end = nullptr;
    first = strtol(fault + colon + 1, &end, 10);
    lasting = *end == '+';
    const std::string word = text.substr(second + 1);
    what = word == "SHORT" ? kShort : word == "KILL" ? kKill : kNothing;
    for (const auto& error : kErrors)
      if (word == error.name) what = error.number;
    if (named == kKinds || first < 1 || what == kNothing) refuse(fault);
    kind = static_cast<Kind>(named);
  }

  [[noreturn]] static void refuse(const char* fault) {
    const std::string message = std::string("SOFTAMP_FAULT: '") + fault + "': expected KIND:N:WHAT\n";
    syscall(SYS_write, 2, message.data(), message.size());
    _exit(125);
  }
};

const Plan& plan() {
  static const Plan the_plan;
  return the_plan;
}

std::atomic<long> counts[kKinds];

bool of_the_system(const std::string& file) {
  for (const char* folder : kSystem)
    if (file.compare(0, strlen(folder), folder) == 0) return true;
  return file.compare(0, 5, "/dev/") == 0 && file.compare(0, 9, "/dev/shm/") != 0;
}

/// The file of a descriptor; "" where there is no such descriptor.
std::string place_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  char target[4096];
  const long length = syscall(SYS_readlink, link.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

/// The file as an absolute name; nothing is looked up.
std::string place_of(int folder, const char* name) {
  if (name == nullptr) return {};
  if (*name == '/') return name;
  char current[4096] = "";
  if (folder == AT_FDCWD)
    syscall(SYS_getcwd, current, sizeof current);
  else
    strncpy(current, place_of(folder).c_str(), sizeof current - 1);
  return std::string(current) + "/" + name;
}

/// Counts a call on `place`. What is to happen to it: kNothing, kShort, or an error, which is in errno then.
int count(Kind kind, const std::string& place) {
  const int before = errno;
  const Plan& p = plan();
  if (!p.here || place.empty() || of_the_system(place)) return kNothing;
  const long n = ++counts[kind], of_any = ++counts[kAny];
  const long reached = p.kind == kAny ? of_any : n;
  const bool chosen = p.what != kNothing && (p.kind == kAny || p.kind == kind) &&
                      (reached == p.first || (p.lasting && reached > p.first));
  if (p.log >= 0) {
    const std::string line =
        std::string(chosen ? "! " : "") + kKindNames[kind] + " " + std::to_string(n) + " " + place + "\n";
    syscall(SYS_write, p.log, line.data(), line.size());
  }
  if (chosen && p.what == kKill) syscall(SYS_kill, getpid(), SIGKILL);
  errno = chosen && p.what > 0 ? p.what : before;
  return chosen ? p.what : kNothing;
}

int count(Kind kind, int descriptor) {
  if (!plan().here || descriptor == 2) return kNothing;
  return count(kind, place_of(descriptor));
}

bool fails(int what) { return what > 0; }

/// The function that would be called without this library.
#define NEXT(name) (reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name)))

Kind opening(int flags) { return (flags & (O_CREAT | O_ACCMODE)) != 0 ? kCreate : kOpen; }
Kind opening(const char* mode) { return strcspn(mode, "wa+") < strlen(mode) ? kCreate : kOpen; }

/// A call that writes out what the stream has gathered; `more` bytes come to that.
bool stream_fails(FILE* stream, size_t more) {
  if (stream == nullptr || __fpending(stream) + more == 0 || !__fwritable(stream)) return false;
  return fails(count(kWrite, fileno(stream)));
}

}  // namespace

extern "C" {

int open(const char* file, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails(count(opening(flags), place_of(AT_FDCWD, file)))) return -1;
  return NEXT(open)(file, flags, mode);
}
int openat(int folder, const char* file, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails(count(opening(flags), place_of(folder, file)))) return -1;
  return NEXT(openat)(folder, file, flags, mode);
}
int creat(const char* file, mode_t mode) {
  return fails(count(kCreate, place_of(AT_FDCWD, file))) ? -1 : NEXT(creat)(file, mode);
}
FILE* fopen(const char* file, const char* mode) {
  return fails(count(opening(mode), place_of(AT_FDCWD, file))) ? nullptr : NEXT(fopen)(file, mode);
}
FILE* tmpfile() { return fails(count(kCreate, "/tmp/(a nameless file)")) ? nullptr : NEXT(tmpfile)(); }
int mkstemp(char* pattern) { return fails(count(kCreate, place_of(AT_FDCWD, pattern))) ? -1 : NEXT(mkstemp)(pattern); }
DIR* opendir(const char* folder) {
  return fails(count(kOpen, place_of(AT_FDCWD, folder))) ? nullptr : NEXT(opendir)(folder);
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  const int what = count(kRead, descriptor);
  if (fails(what)) return -1;
  return NEXT(read)(descriptor, bytes, what == kShort ? (size + 1) / 2 : size);
}
ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  const int what = count(kRead, descriptor);
  if (fails(what)) return -1;
  return NEXT(pread)(descriptor, bytes, what == kShort ? (size + 1) / 2 : size, offset);
}
size_t fread(void* bytes, size_t size, size_t n, FILE* stream) {
  return fails(count(kRead, fileno(stream))) ? 0 : NEXT(fread)(bytes, size, n, stream);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const int what = count(kWrite, descriptor);
  if (fails(what)) return -1;
  return NEXT(write)(descriptor, bytes, what == kShort ? (size + 1) / 2 : size);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  const int what = count(kWrite, descriptor);
  if (fails(what)) return -1;
  return NEXT(pwrite)(descriptor, bytes, what == kShort ? (size + 1) / 2 : size, offset);
}
ssize_t writev(int descriptor, const struct iovec* parts, int n) {
  const int what = count(kWrite, descriptor);
  if (fails(what)) return -1;
  if (what == kShort && n > 0 && parts->iov_len > 0)
    return NEXT(write)(descriptor, parts->iov_base, (parts->iov_len + 1) / 2);
  return NEXT(writev)(descriptor, parts, n);
}
size_t fwrite(const void* bytes, size_t size, size_t n, FILE* stream) {
  // Only where the bytes do not fit into the stream: otherwise nothing is written yet.
  const bool written = __fpending(stream) + size * n > __fbufsize(stream);
  if (written && stream_fails(stream, size * n)) return 0;
  return NEXT(fwrite)(bytes, size, n, stream);
}
int fflush(FILE* stream) {
  if (stream_fails(stream, 0)) {
    __fpurge(stream);  // else the end of the program would write it after all
    return EOF;
  }
  return NEXT(fflush)(stream);
}
int fclose(FILE* stream) {
  const int descriptor = fileno(stream);
  const bool lost = stream_fails(stream, 0);
  const int why = errno;
  if (lost) __fpurge(stream);
  const bool bad_close = !lost && fails(count(kClose, descriptor));
  const int result = NEXT(fclose)(stream);
  if (!lost && !bad_close) return result;
  errno = lost ? why : plan().what;
  return EOF;
}

int fsync(int descriptor) { return fails(count(kSync, descriptor)) ? -1 : NEXT(fsync)(descriptor); }
int fdatasync(int descriptor) { return fails(count(kSync, descriptor)) ? -1 : NEXT(fdatasync)(descriptor); }
int close(int descriptor) {
  const bool bad = fails(count(kClose, descriptor));
  const int result = NEXT(close)(descriptor);  // Linux closes it, whatever it says
  if (!bad) return result;
  errno = plan().what;
  return -1;
}
int flock(int descriptor, int operation) noexcept {
  return fails(count(kLock, descriptor)) ? -1 : NEXT(flock)(descriptor, operation);
}

int rename(const char* from, const char* to) noexcept {
  return fails(count(kRename, place_of(AT_FDCWD, to))) ? -1 : NEXT(rename)(from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return fails(count(kRename, place_of(to_folder, to))) ? -1 : NEXT(renameat)(from_folder, from, to_folder, to);
}
int ftruncate(int descriptor, off_t size) noexcept {
  return fails(count(kTruncate, descriptor)) ? -1 : NEXT(ftruncate)(descriptor, size);
}
int truncate(const char* file, off_t size) noexcept {
  return fails(count(kTruncate, place_of(AT_FDCWD, file))) ? -1 : NEXT(truncate)(file, size);
}
int mkdir(const char* folder, mode_t mode) noexcept {
  return fails(count(kMkdir, place_of(AT_FDCWD, folder))) ? -1 : NEXT(mkdir)(folder, mode);
}
int unlink(const char* file) noexcept {
  return fails(count(kRemove, place_of(AT_FDCWD, file))) ? -1 : NEXT(unlink)(file);
}
int unlinkat(int folder, const char* file, int flags) noexcept {
  return fails(count(kRemove, place_of(folder, file))) ? -1 : NEXT(unlinkat)(folder, file, flags);
}
int remove(const char* file) noexcept {
  return fails(count(kRemove, place_of(AT_FDCWD, file))) ? -1 : NEXT(remove)(file);
}

void* mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
  // oneTBB 2022 waits for itself if its first one fails: emu/parallel_tbb.cpp looks for memory before. Abseil, on which
  // RE2 and protobuf stand in newer systems, ends the process if one of its own fails.
  Dl_info caller;
  if (::dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
      (std::strstr(caller.dli_fname, "/libtbb") || std::strstr(caller.dli_fname, "/libabsl")))
    return NEXT(mmap)(at, size, protection, flags, descriptor, offset);
  const std::string place = descriptor >= 0 ? place_of(descriptor) : "(memory)";
  return fails(count(kMap, place)) ? MAP_FAILED : NEXT(mmap)(at, size, protection, flags, descriptor, offset);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  if (fails(count(kThread, "(thread)"))) return plan().what;
  return NEXT(pthread_create)(thread, attributes, body, argument);
}
int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  if (fails(count(kSpawn, std::string("(program) ") + file))) return plan().what;
  return NEXT(posix_spawnp)(child, file, actions, attributes, arguments, environment);
}

// With 64 bits of address these are the same functions under a second name.
static_assert(sizeof(off_t) == sizeof(off64_t));
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
FILE* fopen64(const char*, const char*) __attribute__((alias("fopen")));
FILE* tmpfile64() __attribute__((alias("tmpfile")));
ssize_t pread64(int, void*, size_t, off64_t) __attribute__((alias("pread")));
ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
int ftruncate64(int, off64_t) noexcept __attribute__((alias("ftruncate")));
void* mmap64(void*, size_t, int, int, int, off64_t) noexcept __attribute__((alias("mmap")));

}  // extern "C"
