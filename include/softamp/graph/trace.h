// A trace: one hash per tensor per step, as JSON lines, so that two runs can be compared, from any machine or backend,
// and the first tensor that differs is found.
//
// Line 1: {"softamp_trace":1,"arithmetic":5,"backend":"emu","settings":{...}}; the version of the arithmetic
// (numerics/version.h) may make two traces of equal settings differ. Older traces have "spec":1 instead. Then, in the
// order in which tensors are computed: {"step":0,"tensor":"y","op":"MatMul","dtype":"float16","shape":[2,3],"hash":"<32
// hexadecimal digits>"}; the hash is XXH3-128 of the elements' bytes, little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "softamp/files/hash_text.h"
#include "softamp/graph/executor.h"

namespace softamp {

/// The settings that decide an executor's results, as a JSON object. Equal settings, except for the backend, give equal
/// traces.
std::string settings_json(const ExecutorOptions& options);

/// Writes a trace; set ExecutorOptions::observe to `observer()`.
class TraceWriter {
 public:
  /// The file appears under its name when the trace is closed; until then it is .FILE.part beside it, which the
  /// destructor removes if the trace was not closed. A pipe or a device is written to as it is. Nobody else writes the
  /// file meanwhile.
  /// option: what messages begin with, "--trace" [=the file's name alone].
  /// Throws std::runtime_error where it cannot be written, or another writer is at work.
  TraceWriter(const std::filesystem::path& file, const ExecutorOptions& options, const std::string& option = {});
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Throws std::runtime_error where it cannot be written, a full disk, say; the trace is then gone.
  void write(uint32_t step, const Node& node, int port, const TensorType& type, const void* data);
  /// Puts the file in place, synchronised. Throws std::runtime_error; what was there before is then as it was.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The first difference of two traces.
struct TraceDifference {
  uint64_t line = 0;  ///< of both files, from 1
  int64_t step = 0;
  std::string tensor, op;  ///< of the first trace; of the second if the first has ended
  std::string what;        ///< "hash 0123... is 4567...", "is missing in B"
};

struct TraceComparison {
  uint64_t tensors = 0;                       ///< equal before the difference
  std::optional<TraceDifference> difference;  ///< none: the traces are equal
  std::string settings;                       ///< settings that differ, "seed: 0 is 1"; empty if none does
  std::string backend_a, backend_b;           ///< not settings, since they change no bit; empty if a trace names none
  /// Of the arithmetic; 0 in older traces.
  int version_a = 0, version_b = 0;
};

/// Traces of different versions can be compared: what did not change between the versions is equal. Throws
/// std::invalid_argument (file, line, what was expected) if one is no trace.
TraceComparison compare_traces(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace softamp
