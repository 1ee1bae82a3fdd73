// Standard output, which knows why it failed.
#pragma once

#include <array>
#include <streambuf>
#include <string>

namespace softamp::program {

/// Takes the place of std::cout's buffer while it lives. A stream says only that something failed; this keeps the
/// system's reason. Buffered; a terminal gets each line when it is whole.
class StandardOutput : private std::streambuf {
 public:
  StandardOutput();
  ~StandardOutput() override;

  /// Writes out what is left. Throws UsageError, "cannot write to standard output: No space left on device", if that or
  /// any write before it failed.
  void finish();

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

  std::array<char, 1 << 14> buffer_;
  std::streambuf* before_;
  bool terminal_;
  int error_ = 0;  ///< errno of the first write that failed
};

}  // namespace softamp::program
