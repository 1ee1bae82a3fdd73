// A stream whose texts are safe to print, whatever name of a file, or in a file, stands in them.
#pragma once

#include <cstdint>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace softamp::files {

/// Takes the place of a stream's buffer while it lives: what goes there is printable() first, with ends of lines as
/// they are. Many threads may write.
class PrintableStream : public std::streambuf {
 public:
  /// kMessages: tabs are escaped, too. kTables: they stay, and so do ends of lines as CSV has them, "\r\n".
  enum class Texts : uint8_t { kMessages, kTables };
  /// descriptor: what the stream writes to.
  PrintableStream(std::ostream& stream, int descriptor, Texts texts);
  ~PrintableStream() override;
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

 private:
  friend void write_bytes(std::ostream& stream, std::string_view text);
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool write(std::string_view text);

  std::ostream& stream_;
  std::streambuf* before_;
  std::string begun_;  ///< the first bytes of a character, or of an end of a line, whose last are not there yet
  const bool is_terminal_;
  const Texts texts_;
  std::mutex mutex_;
};

/// A text that is wanted for its bytes, as one that a network of bytes wrote: it is printable() on a terminal alone.
void write_bytes(std::ostream& stream, std::string_view text);

}  // namespace softamp::files
