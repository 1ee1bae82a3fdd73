// softamp round: an array in a .npy file, rounded to a format.
#include "src/program/backend_option.h"
#include "src/program/options.h"
#include "src/program/program.h"

#include "softamp/data/npy.h"
#include "softamp/report/interrupt.h"
#include "softamp/tensor/chip_round.h"
#include "src/files/run_files.h"
#include "src/report/progress.h"

#include <csignal>
#include <iostream>
#include <limits>
#include <optional>
#include <vector>

namespace softamp::program {
namespace {

using npy::ElementType;

constexpr size_t kChunk = size_t{1} << 22;  // elements read, rounded and written at a time
constexpr const char* kFlagWords[kFlagCount] = {"inexact", "underflow", "overflow", "divide-by-zero", "invalid"};

struct RoundOptions {
  std::string in, out, random_bits;
  FloatFormat format = kFp16;
  RoundingOptions rounding;
  std::string backend = "emu";
  int threads = 0;
  bool packed = false;
  bool values = false;
  bool json = false;
};

/// The chip's conversion; with --chip alone.
ChipRounding conversion(const RoundOptions& o) { return chip_rounding(*o.rounding.chip, o.format, o.rounding.bits); }

/// Thrown between two chunks when the user interrupts; the writer then removes its temporary file.
struct Interrupted {
  int signal;
};

/// The type of the output: fp16 for fp16 codes, else the narrowest unsigned integer that holds the codes.
ElementType output_type(const RoundOptions& o) {
  if (o.values) return ElementType::kFloat32;
  if (o.format == kFp16) return ElementType::kFloat16;
  const int bits = o.format.storage_bits();
  return bits <= 8 ? ElementType::kUint8 : bits <= 16 ? ElementType::kUint16 : ElementType::kUint32;
}

std::string type_text(ElementType type) { return std::string("'") + npy::descr(type) + "'"; }

/// Random words from a file instead of the generator: unsigned integers of any width, widened to 32 bits. Without a
/// chip the low bits are R; with one it is the chip's random word, from which the chip takes its part for value 0 of a
/// packed result, as `softamp chips --word` does. --packed: one word for as many elements as the chip's word serves.
class RandomWords {
 public:
  RandomWords(const std::string& path, const npy::Header& like, const RoundOptions& o) : reader_(path) {
    const npy::Header& header = reader_.header();
    if (header.type < ElementType::kUint8)
      throw UsageError(path + ": type " + type_text(header.type) +
                       "; expected unsigned numbers: '|u1', '<u2' or '<u4'");
    if (o.packed) {
      per_word_ = static_cast<size_t>(conversion(o).lanes());
      const uint64_t words = (like.elements + per_word_ - 1) / per_word_;
      if (header.type != ElementType::kUint32)
        throw UsageError(path + ": type " + type_text(header.type) + "; expected whole words with --packed, '<u4'");
      if (header.elements != words)
        throw UsageError(path + ": " + std::to_string(header.elements) + " words; expected " + std::to_string(words) +
                         ", one for every " + std::to_string(per_word_) + " of " + std::to_string(like.elements) +
                         " elements");
      return;
    }
    if (header.shape != like.shape)
      throw UsageError(path + ": shape " + npy::shape_text(header.shape) + "; expected one number per element, shape " +
                       npy::shape_text(like.shape));
    if (o.rounding.chip) part_ = conversion(o);
    const int first = part_ ? part_->first_bit() : 0;
    const int last = part_ ? part_->last_bit() : o.rounding.policy(o.format).random_bits - 1;
    if (last >= 8 * static_cast<int>(npy::size_of(header.type)))
      throw UsageError(path + ": type " + type_text(header.type) + "; expected " +
                       (last < 16 ? "'<u2' or '<u4'" : "'<u4'") + ": bits " + std::to_string(first) + " to " +
                       std::to_string(last) + " are read");
  }

  /// Those of the next `count` elements: of kChunk, or of all that are left.
  const uint32_t* next(size_t count) {
    words_.resize((count + per_word_ - 1) / per_word_);
    switch (npy::size_of(reader_.header().type)) {
      case 1: read<uint8_t>(); break;
      case 2: read<uint16_t>(); break;
      default: reader_.read(words_.data(), words_.size());
    }
    if (part_)
      for (uint32_t& word : words_) word = chip_random(*part_, word);
    return words_.data();
  }

 private:
  template <typename T>
  void read() {
    std::vector<T> narrow(words_.size());
    reader_.read(narrow.data(), narrow.size());
    words_.assign(narrow.begin(), narrow.end());
  }

  npy::Reader reader_;
  std::optional<ChipRounding> part_;
  size_t per_word_ = 1;
  std::vector<uint32_t> words_;
};
static_assert(kChunk % 4 == 0, "a chunk ends with a word");

/// Rounds everything that `reader` holds into `writer`; In is the element type read, Out the one written.
template <typename In, typename Out>
FpStatus round_all(const RoundOptions& o, npy::Reader& reader, RandomWords* words, npy::Writer& writer) {
  const uint64_t total = reader.header().elements;
  std::vector<In> in(std::min<uint64_t>(kChunk, total));
  std::vector<Out> out(in.size());
  const Semantics semantics = o.rounding.semantics(o.format);
  Progress progress("round", total, "elements");
  FpStatus all;
  for (uint64_t done = 0; done < total;) {
    if (const int signal = InterruptGuard::pending()) throw Interrupted{signal};
    const size_t count = reader.read(in.data(), in.size());
    FpStatus status;
    bulk::BulkOptions options;
    options.threads = o.threads;
    options.random = {o.rounding.engine, o.rounding.seed, 0, 0, done, words ? words->next(count) : nullptr};
    options.status = &status;
    if (o.packed) options.random.slice = conversion(o).slice;
    const std::span<const In> from(in.data(), count);
    constexpr bool kCodesOfFloats = std::is_same_v<In, float> && !std::is_same_v<Out, float>;
    if (o.backend == "cuda") {
      if constexpr (kCodesOfFloats)
        bulk::round_as({*o.rounding.chip, o.format, o.rounding.chip_overflow(), o.rounding.bits}, from,
                       std::span(out.data(), count), options, o.backend);
    } else if constexpr (std::is_same_v<Out, float>)
      bulk::round_values(from, o.format, std::span(out.data(), count), semantics, options);
    else
      bulk::round(from, o.format, std::span(out.data(), count), semantics, options);
    writer.write(out.data(), count);
    for (uint64_t& index : status.first_index)
      if (index != FpStatus::kNever) index += done;
    all.merge(status);
    done += count;
    progress.update(done);
  }
  return all;
}

template <typename In>
FpStatus round_from(const RoundOptions& o, npy::Reader& reader, RandomWords* words, npy::Writer& writer) {
  switch (output_type(o)) {
    case ElementType::kFloat32: return round_all<In, float>(o, reader, words, writer);
    case ElementType::kUint8: return round_all<In, uint8_t>(o, reader, words, writer);
    case ElementType::kUint32: return round_all<In, uint32_t>(o, reader, words, writer);
    default: return round_all<In, uint16_t>(o, reader, words, writer);
  }
}

void check_options(const RoundOptions& o, const CLI::App& app) {
  const bool stochastic = o.rounding.policy(o.format).stochastic();  // also refuses modes that the preset does not have
  if (o.rounding.chip && chip_rounding(*o.rounding.chip, o.format).from != kFp32)
    throw UsageError("--chip: " + name_of(*o.rounding.chip) + " makes " + format_name(o.format) + " from " +
                     format_name(chip_rounding(*o.rounding.chip, o.format).from) +
                     ": expected a format that it makes from fp32");
  if (o.rounding.engine == RandomEngine::kXoroshiro128aox)
    throw UsageError(
        "--random: 'xoroshiro128aox': expected philox or philox7; its numbers come in the order of the hardware: pass "
        "them with --random-bits");
  if (o.packed && !o.rounding.chip) throw UsageError("--packed: expected --chip beside it, whose words they are");
  if (o.random_bits.empty()) return;
  if (!stochastic) throw UsageError("--random-bits: expected --rounding stochastic beside it");
  for (const char* other : {"--seed", "--random"})
    if (app.get_option(other)->count() > 0)
      throw UsageError(std::string("--random-bits takes the place of the generator; expected no ") + other +
                       " beside it");
}

/// "auto" becomes "emu" or "cuda". A device rounds arrays to codes as NVIDIA's instruction does, and no others.
void settle_device(RoundOptions& o) {
  const bool served =
      o.packed && !o.values && (o.rounding.chip == Chip::kNvidiaSm100 || o.rounding.chip == Chip::kNvidiaSm103);
  if (o.backend == "cuda" && !served)
    throw UsageError(
        "--backend: 'cuda': rounds to codes with --packed --chip nvidia_sm100 or nvidia_sm103; expected these beside "
        "it, no --values, or emu, which gives the same bits");
  if (o.backend == "auto" && !served)
    o.backend = "emu";
  else
    settle_backend(o.backend, "softamp round");
}

Json summary_json(const RoundOptions& o, const npy::Header& header, const FpStatus& status) {
  Json json;
  json["input"] = o.in;
  json["output"] = o.out;
  json["shape"] = header.shape;
  json["elements"] = header.elements;
  json["input_type"] = npy::descr(header.type);
  json["output_type"] = npy::descr(output_type(o));
  json["content"] = o.values ? "values" : "codes";
  json["settings"] = o.rounding.settings(o.format);
  if (o.packed) json["settings"]["packed"] = true;
  if (!o.random_bits.empty()) {
    json["settings"]["random"] = o.random_bits;
    json["settings"].erase("seed");
  }
  json["flags"] = Json::object();
  for (int b = kFlagCount; b-- > 0;)
    if (status.flags >> b & 1) json["flags"][kFlagWords[b]] = {{"first_index", status.first_index[b]}};
  return json;
}

void print_summary(const RoundOptions& o, const npy::Header& header, const FpStatus& status) {
  std::cerr << o.in << ": " << header.elements << " elements, " << type_text(header.type) << " of shape "
            << npy::shape_text(header.shape) << '\n'
            << o.out << ": " << (o.values ? "values" : "codes") << " as " << type_text(output_type(o)) << '\n'
            << o.rounding.description(o.format) << (o.packed ? ", packed" : "");
  if (!o.random_bits.empty()) std::cerr << "; random bits from " << o.random_bits;
  std::cerr << "\nflags:";
  for (int b = kFlagCount; b-- > 0;)
    if (status.flags >> b & 1)
      std::cerr << ' ' << kFlagWords[b] << " (first at element " << status.first_index[b] << ')';
  std::cerr << (status.flags == 0 ? " none\n" : "\n");
}

void round_file(const RoundOptions& o) {
  npy::Reader reader(o.in);
  const npy::Header& header = reader.header();
  if (header.type != ElementType::kFloat32 && header.type != ElementType::kFloat64)
    throw UsageError(o.in + ": type " + type_text(header.type) + "; expected '<f4' or '<f8'");
  if (o.rounding.chip && header.type != ElementType::kFloat32)
    throw UsageError(o.in + ": type " + type_text(header.type) + "; expected '<f4', which --chip " +
                     name_of(*o.rounding.chip) + " rounds");
  std::optional<RandomWords> words;
  if (!o.random_bits.empty()) words.emplace(o.random_bits, header, o);
  npy::Writer writer(o.out, output_type(o), header.shape);
  RandomWords* const given = words ? &*words : nullptr;
  const FpStatus status = header.type == ElementType::kFloat32 ? round_from<float>(o, reader, given, writer)
                                                               : round_from<double>(o, reader, given, writer);
  writer.commit();
  if (o.json)
    print_json(summary_json(o, header, status));
  else
    print_summary(o, header, status);
}

/// An array may be rounded in its file, which is replaced by a complete one.
void check_files(const RoundOptions& o) {
  constexpr const char* kArray = "the array that is read";
  files::RunFiles()
      .reads(kArray, o.in)
      .reads("the file of --random-bits", o.random_bits)
      .replaces("OUT", o.out, kArray)
      .check();
}

int run_round(RoundOptions& o, const CLI::App& app) {
  check_options(o, app);
  settle_device(o);
  check_files(o);
  try {
    const InterruptGuard guard;
    round_file(o);
    return kSuccess;
  } catch (const Interrupted& stop) {
    std::cerr << "softamp round: interrupted; " << o.out << " was not written\n";
    std::raise(stop.signal);  // ends the program by the signal, now that the temporary file is gone
    return kUsage;
  }
}

}  // namespace

Verb add_round(CLI::App& program) {
  CLI::App* app = program.add_subcommand("round", "Round an array in a .npy file to a format");
  const auto o = std::make_shared<RoundOptions>();
  app->add_option("IN", o->in, "the array: float32 or float64, C order")->required()->type_name("IN.npy");
  app->add_option("OUT", o->out,
                  "the codes: fp16 as 'f2', other formats as 'u1', 'u2' or 'u4'; an existing file is replaced only by "
                  "a complete one")
      ->required()
      ->type_name("OUT.npy");
  add_compute_format(*app, o->format, "target, see `softamp formats`")->required();
  o->rounding.add_rounding(*app);
  o->rounding.add_bits(*app);
  o->rounding.add_seed(*app);
  add_word(*app, "--random", o->rounding.engine, engine_from_name, "philox (10 rounds), philox7 [=philox]");
  offer(*app, "--random", {"philox", "philox7"});
  app->add_option(
         "--random-bits", o->random_bits,
         "one unsigned number ('u1', 'u2', 'u4') per element instead of the generator: its low --bits bits are read; "
         "with --chip it is the chip's random word, of which the chip reads its part (AMD's the top bits of 32)")
      ->type_name("R.npy");
  o->rounding.add_overflow(*app);
  o->rounding.add_preset(*app);
  o->rounding.add_chip(*app);
  app->add_flag("--packed", o->packed,
                "with --chip: a random word of 32 bits serves as many neighbours as in the chip's instruction, each by "
                "its part of it; --random-bits then has one 'u4' for so many");
  add_backend(*app, o->backend);
  app->add_flag("--values", o->values, "write the rounded values as float32 instead of codes");
  add_whole(*app, "--threads", o->threads, 0, 1024, "threads; 0: all [=0]. The result does not depend on it");
  app->add_flag("--json", o->json, "print a summary as one JSON document (otherwise to standard error, for people)");
  app->footer(
      "Element i takes the random bits of index i, operation 0, step 0; with --packed value\n"
      "i mod n of word i / n, where a word serves n. Examples:\n"
      "  softamp round in.npy out.npy --format fp16\n"
      "  softamp round in.npy out.npy --format fp16 --rounding stochastic --bits 13 --seed 1\n"
      "  softamp round in.npy out.npy --format e4m3 --overflow saturate --values\n"
      "  softamp round in.npy out.npy --format fp16 --rounding stochastic --bits 8 --random-bits r.npy\n"
      "  softamp round in.npy out.npy --format e4m3 --chip amd_cdna4 --overflow saturate\n"
      "  softamp round in.npy out.npy --format e4m3 --chip nvidia_sm100 --packed");
  return {app, [o, app] { return run_round(*o, *app); }};
}

}  // namespace softamp::program
