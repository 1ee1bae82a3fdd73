// Output written from front to back, by pieces of any length. Past the caches whole cache lines bypass them: a plain
// store would first read the line that it is about to fill. A line that pieces share is gathered first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace softamp::emu {

constexpr size_t kLineBytes = 64;
/// Bytes of an operation's output from which its stores bypass the caches.
constexpr size_t kCopyStreamFrom = size_t{16} << 20;

/// One line; `to` is at the start of one.
inline void stream_line(std::byte* to, const std::byte* from) {
#if defined(__SSE2__)
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
#else
  std::memcpy(to, from, kLineBytes);
#endif
}

/// Streamed lines are seen by other threads after this.
inline void end_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

inline size_t place_in_line(const std::byte* p) { return reinterpret_cast<uintptr_t>(p) % kLineBytes; }

class LineWriter {
 public:
  LineWriter(std::byte* out, bool stream) : out_(out), stream_(stream) {}
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter() {
    flush();
    if (stream_) end_stream();
  }

  /// Goes on at `out`; what lies in between is left as it is.
  void move_to(std::byte* out) {
    if (out == out_) return;
    flush();
    out_ = out;
  }

  void put(const std::byte* from, size_t bytes) {
    if (!stream_) {
      std::memcpy(out_, from, bytes);
      out_ += bytes;
      return;
    }
    if (place_in_line(out_) != 0) {
      const size_t head = std::min(bytes, kLineBytes - place_in_line(out_));
      gather(from, head);
      from += head;
      bytes -= head;
    }
    for (; bytes >= kLineBytes; bytes -= kLineBytes, from += kLineBytes, out_ += kLineBytes) stream_line(out_, from);
    if (bytes > 0) gather(from, bytes);
  }

  /// Writes up to `end`, from a line that repeats a code.
  void fill_to(const std::byte* end, const std::byte* line) {
    while (out_ < end) put(line, std::min(kLineBytes, static_cast<size_t>(end - out_)));
  }

 private:
  /// Bytes within one line.
  void gather(const std::byte* from, size_t bytes) {
    const size_t at = place_in_line(out_);
    if (gathered_ == 0) start_ = at;
    std::memcpy(line_ + at, from, bytes);
    gathered_ += bytes;
    out_ += bytes;
    if (at + bytes == kLineBytes) flush();
  }
  void flush() {
    if (gathered_ == kLineBytes)
      stream_line(out_ - kLineBytes, line_);
    else if (gathered_ > 0)
      std::memcpy(out_ - gathered_, line_ + start_, gathered_);
    gathered_ = 0;
  }

  std::byte* out_;
  bool stream_;
  size_t start_ = 0, gathered_ = 0;  // of line_, which ends where out_ is
  alignas(kLineBytes) std::byte line_[kLineBytes];
};

}  // namespace softamp::emu
