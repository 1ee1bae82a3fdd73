#include "src/program/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string_view>

#include "src/program/usage.h"

namespace softamp::program {

StandardOutput::StandardOutput() : before_(std::cout.rdbuf(this)), terminal_(::isatty(STDOUT_FILENO) == 1) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

StandardOutput::~StandardOutput() {
  sync();
  std::cout.rdbuf(before_);
}

void StandardOutput::finish() {
  std::cout.flush();
  if (error_ != 0 || !std::cout)
    throw UsageError("cannot write to standard output" + (error_ ? std::string(": ") + std::strerror(error_) : ""));
}

StandardOutput::int_type StandardOutput::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char letter = traits_type::to_char_type(c);
  return xsputn(&letter, 1) == 1 ? c : traits_type::eof();
}

std::streamsize StandardOutput::xsputn(const char* text, std::streamsize size) {
  for (std::streamsize done = 0; done < size;) {
    const std::streamsize part = std::min<std::streamsize>(size - done, epptr() - pptr());
    std::memcpy(pptr(), text + done, static_cast<size_t>(part));
    pbump(static_cast<int>(part));
    done += part;
    if (pptr() == epptr() && sync() != 0) return done - part;
  }
  if (terminal_ && std::string_view(text, static_cast<size_t>(size)).find('\n') != std::string_view::npos) sync();
  return error_ ? 0 : size;
}

/// What could not be written is dropped: the stream is bad from then on.
int StandardOutput::sync() {
  const char* at = pbase();
  while (error_ == 0 && at < pptr()) {
    const ssize_t n = ::write(STDOUT_FILENO, at, static_cast<size_t>(pptr() - at));
    if (n >= 0)
      at += n;
    else if (errno != EINTR)
      error_ = errno;
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0 ? 0 : -1;
}

}  // namespace softamp::program
