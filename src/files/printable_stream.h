// A stream whose texts are safe to print, whatever name of a file, or in a file, stands in them.
#pragma once

#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace softamp::files {

/// Takes the place of a stream's buffer while it lives: what goes there is printable() first, with ends of lines and
/// tabs as they are. Many threads may write.
class PrintableStream : private std::streambuf {
 public:
  explicit PrintableStream(std::ostream& stream);
  ~PrintableStream() override;
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool write(std::string_view text);

  std::ostream& stream_;
  std::streambuf* before_;
  std::string begun_;  ///< the first bytes of a character whose last are not there yet
  std::mutex mutex_;
};

}  // namespace softamp::files
