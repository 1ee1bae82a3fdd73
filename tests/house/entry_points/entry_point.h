// Entry points of the library, each as a call whose result is one text without a loss of bits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "softamp/graph/trace.h"
#include "softamp/tensor/tensor.h"
#include "tests/files.h"

namespace softamp::house {

struct EntryPoint {
  const char* header;  ///< below include/softamp/
  const char* call;
  std::function<std::string()> result;  ///< by itself it computes nothing: the environment is not the usual one
};

// Results as text, by integers alone.
inline std::string shown(const std::string& text) { return text + "\n"; }
inline std::string shown(const char* text) { return std::string(text) + "\n"; }
inline std::string shown(bool value) { return value ? "yes\n" : "no\n"; }
inline std::string shown(uint64_t code) { return std::to_string(code) + "\n"; }
inline std::string shown(int64_t value) { return std::to_string(value) + "\n"; }
inline std::string shown(double value) { return "b" + shown(__builtin_bit_cast(uint64_t, value)); }
inline std::string shown(float value) { return "s" + shown(uint64_t{__builtin_bit_cast(uint32_t, value)}); }
inline std::string shown(const Tensor& t) { return t.type().text() + " " + hash_text(t.data(), t.bytes()) + "\n"; }
template <class T>
std::string shown(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += shown(value);
  return text;
}
template <class... T>
std::string all(const T&... values) {
  return (shown(values) + ...);
}

/// A file in one folder for all. It is made once, in the usual environment: mkdtemp raises flags.
inline std::string scratch_file(const std::string& name) {
  static const test::TemporaryFolder folder;
  return folder.file(name);
}

/// The message of the error that `call` throws.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

/// Numbers that environments treat unlike: no sum of powers of two, ties, subnormals of every format.
inline const std::vector<double>& awkward_numbers() {
  static const std::vector<double> kNumbers = {
      0.1,   -0.1,   1.0 / 3,     2049.0,      -2051.0, 65519.999, 65520.0, 1e-5,     -3e-8, 2.98e-8, 6.1e-5,
      1e-40, -1e-45, 0x1.8p-1074, 5e-324,      -4e-310, 1e308,     -1e-38,  0.0,      -0.0,  1.0,     16777217.0,
      0.7,   1e22,   123.456,     0x1.fffp-15, 1e17,    9.9e-5,    3.14159, -2.71828, 42.0,  0x1p-133};
  return kNumbers;
}

}  // namespace softamp::house
