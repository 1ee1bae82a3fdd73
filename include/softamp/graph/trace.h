// A trace: one hash per tensor per step, as JSON lines, so that two runs can be laid side by side and the first tensor
// that differs be named, whatever machine or backend they come from.
//
// Line 1: {"softamp_trace":1,"spec":1,"backend":"emu","settings":{...}}. Then, in the order in which tensors are
// computed:
// {"step":0,"tensor":"y","op":"MatMul","dtype":"float16","shape":[2,3],"hash":"<32 hexadecimal digits>"}; the hash is
// XXH3-128 of the elements' bytes, little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "softamp/graph/executor.h"

namespace softamp {

/// Raised with any change of any bit of any result (N65).
inline constexpr int kSpecVersion = 1;

/// XXH3-128 of the bytes, as 32 hexadecimal digits.
std::string hash_text(const void* data, size_t bytes);

/// What decides the results of an executor's runs, as a JSON object: backend apart, equal settings give equal traces.
std::string settings_json(const ExecutorOptions& options);

/// Writes a trace; hand `observer()` to ExecutorOptions::observe.
class TraceWriter {
 public:
  /// The file appears under its name when the trace is closed; until then it is FILE.partial, which a writer that is
  /// never closed takes away.
  /// Throws std::runtime_error where it cannot be written.
  TraceWriter(const std::filesystem::path& file, const ExecutorOptions& options);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void write(uint32_t step, const Node& node, int port, const TensorType& type, const void* data);
  /// Throws std::runtime_error if not all was written.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Where two traces part.
struct TraceDifference {
  uint64_t line = 0;  ///< of both files, from 1
  int64_t step = 0;
  std::string tensor, op;  ///< of the first trace; of the second where the first has ended
  std::string what;        ///< "hash 0123... is 4567...", "is missing in B"
};

struct TraceComparison {
  uint64_t tensors = 0;                       ///< equal before the difference
  std::optional<TraceDifference> difference;  ///< none: the traces are equal
  std::string settings;                       ///< settings that differ, "seed: 0 is 1"; empty where none does
  std::string backend_a, backend_b;           ///< no setting: they change no bit; empty where a trace names none
};

/// Throws std::invalid_argument (file, line, what was expected) where one is no trace, or of another spec version.
TraceComparison compare_traces(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace softamp
