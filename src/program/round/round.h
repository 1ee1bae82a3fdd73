// softamp round: what its files share. round.cpp reads the options; the others carry out what they say.
#pragma once

#include "src/program/format_choice.h"
#include "src/program/options.h"
#include "src/program/round/array_reader.h"
#include "src/program/round/round_output.h"

#include "softamp/data/npy.h"
#include "softamp/numerics/status.h"
#include "softamp/tensor/chip_round.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace softamp::program {

struct RoundOptions {
  std::string in, out, random_bits;
  FormatChoice choice;
  FloatFormat format = kFp16;  ///< of a choice that is a format of numbers
  RoundingOptions rounding;
  uint32_t rounding_step = 0;  ///< --step
  p3109::Saturation saturation = p3109::Saturation::kNone;
  std::string backend = "emu";
  int threads = 0;
  bool packed = false;
  bool values = false;
  bool back = false;  ///< --dequantize

  // Of formats of blocks.
  std::string scales;  ///< the file of --scales
  int axis = -1;
  std::optional<uint32_t> amax;                                    ///< fp32 code of --amax
  std::vector<uint64_t> shape;                                     ///< --shape; empty: not given
  std::vector<std::pair<std::string, std::string>> block_options;  ///< what is added to the text of the format

  bool json = false;

  /// Whether OUT is a .safetensors file.
  bool into_tensors() const { return ArrayName(out).in_safetensors; }
};

/// What the tensors beside NAME are called.
inline constexpr const char *kScaleSuffix = "_scale", *kAmaxSuffix = "_amax";

inline constexpr size_t kRoundChunk = size_t{1} << 22;  ///< elements read, rounded and written at a time

/// Thrown between two chunks when the user interrupts; the writer then removes its temporary file.
struct RoundInterrupted {
  int signal;
};
/// Throws it where a signal has come.
void stop_if_interrupted();

/// The chip's conversion; with --chip alone.
ChipRounding round_conversion(const RoundOptions& o);

/// "'<f4'".
std::string type_text(npy::ElementType type);
std::string type_text(const ArrayReader& reader);

/// Throws UsageError, naming the file and its type, where it is none of float32 and float64 (`only_float32`: not the
/// first). `for_what`: "which e8m0 is made from".
void check_input_type(const ArrayReader& reader, bool only_float32, const std::string& for_what);

/// Random words from a file instead of the generator: unsigned integers of any width, widened to 32 bits. Without a
/// chip the low bits are R; with one it is the chip's random word, from which the chip takes its part for value 0 of a
/// packed result, as `softamp chips --word` does. --packed: one word for as many elements as the chip's word serves.
class RandomWords {
 public:
  /// bits: how many of a word are read, where no chip says it.
  RandomWords(const std::string& path, const npy::Header& like, const RoundOptions& o, int bits);
  /// Those of the next `count` elements: of kRoundChunk, or of all that are left.
  const uint32_t* next(size_t count);

 private:
  template <typename T>
  void read();

  ArrayReader reader_;
  std::optional<ChipRounding> part_;
  size_t per_word_ = 1;
  std::vector<uint32_t> words_;
};

/// What was read and written, for the two reports.
struct RoundSummary {
  npy::Header in;
  std::string in_type, out_type;  ///< as the files spell them
  std::string out;                ///< the file, or file and tensor
  const char* content;            ///< "codes", "values"
  Json settings;
  std::string description;  ///< the settings for people
};
/// The members that every report begins with.
Json summary_start(const RoundOptions& o, const RoundSummary& s);
/// The same for people, on standard error, three lines.
void print_summary_start(const RoundOptions& o, const RoundSummary& s);
/// The summary of a run but for its settings.
RoundSummary summary_of(const ArrayReader& in, const RoundOutput& out, const char* content);

/// Codes of a format of P3109's, or of E8M0, as float32.
class SmallValues {
 public:
  explicit SmallValues(const FormatChoice& choice);
  bool is_nan(uint32_t code) const;
  bool is_infinity(uint32_t code) const;
  float value(uint32_t code) const;
  double greatest() const { return greatest_; }  ///< the largest number
  /// Throws UsageError for a format with values beyond float32.
  void check_float32_holds_all() const;

 private:
  double wide_value(uint32_t code) const;

  const FormatChoice& choice_;
  double greatest_;
};

/// Throws UsageError where options of random bits do not fit the rounding. cure: what makes it stochastic.
void check_random_options(const RoundOptions& o, const cli::App& app, bool stochastic, const std::string& cure);

/// To a format of numbers. Also settles the backend.
void check_number_options(const RoundOptions& o, const cli::App& app);
void settle_round_device(RoundOptions& o);
void round_number_file(const RoundOptions& o);

/// To a format of P3109's, or to E8M0.
void round_small_file(const RoundOptions& o);
/// Throws UsageError where options were given that such a format has no use for.
void check_small_options(const RoundOptions& o, const cli::App& app);

/// Throws UsageError: "codes.npy: element 5: 0x1f: expected a code of e2m1, 0x00..0x0f".
[[noreturn]] void refuse_code(const std::string& path, uint64_t index, uint32_t code, const std::string& format,
                              uint32_t most);

/// --dequantize: codes of a format that has no blocks, to float32.
void values_file(const RoundOptions& o);

/// The same of a format of blocks, with its scales.
void block_values_file(const RoundOptions& o);

/// To a format of blocks.
void check_block_options(const RoundOptions& o, const cli::App& app);
void round_blocks_file(const RoundOptions& o);

}  // namespace softamp::program
