// softamp round to a format of numbers.
#include "src/program/backend_option.h"
#include "src/program/idle_options.h"
#include "src/program/round/round.h"

#include "src/machine/progress.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace softamp::program {
namespace {

using npy::ElementType;

constexpr const char* kFlagWords[kFlagCount] = {"inexact", "underflow", "overflow", "divide-by-zero", "invalid"};

/// The type of the output: fp16 for fp16 codes, else the narrowest unsigned integer that holds the codes.
ElementType output_type(const RoundOptions& o) {
  if (o.values) return ElementType::kFloat32;
  if (o.format == kFp16) return ElementType::kFloat16;
  const int bits = o.format.storage_bits();
  return bits <= 8 ? ElementType::kUint8 : bits <= 16 ? ElementType::kUint16 : ElementType::kUint32;
}

/// Rounds everything that `reader` holds into `writer`; In is the element type read, Out the one written.
template <typename In, typename Out>
FpStatus round_all(const RoundOptions& o, ArrayReader& reader, RandomWords* words, RoundOutput& out_file) {
  const uint64_t total = reader.header().elements;
  std::vector<In> in(std::min<uint64_t>(kRoundChunk, total));
  std::vector<Out> out(in.size());
  const Semantics semantics = o.rounding.semantics(o.format);
  Progress progress("round", total, "elements");
  FpStatus all;
  for (uint64_t done = 0; done < total;) {
    stop_if_interrupted();
    const size_t count = reader.read(in.data(), in.size());
    FpStatus status;
    bulk::BulkOptions options;
    options.threads = o.threads;
    options.random = {
        o.rounding.engine, o.rounding.seed, 0, o.rounding_step, done, words ? words->next(count) : nullptr};
    options.status = &status;
    if (o.packed) options.random.slice = round_conversion(o).slice;
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
    out_file.write(0, out.data(), count);
    for (uint64_t& index : status.first_index)
      if (index != FpStatus::kNever) index += done;
    all.merge(status);
    done += count;
    progress.update(done);
  }
  return all;
}

template <typename In>
FpStatus round_from(const RoundOptions& o, ArrayReader& reader, RandomWords* words, RoundOutput& out_file) {
  switch (output_type(o)) {
    case ElementType::kFloat32: return round_all<In, float>(o, reader, words, out_file);
    case ElementType::kUint8: return round_all<In, uint8_t>(o, reader, words, out_file);
    case ElementType::kUint32: return round_all<In, uint32_t>(o, reader, words, out_file);
    default: return round_all<In, uint16_t>(o, reader, words, out_file);
  }
}

Json flags_json(const FpStatus& status) {
  Json json = Json::object();
  for (int b = kFlagCount; b-- > 0;)
    if (status.flags >> b & 1) json[kFlagWords[b]] = {{"first_index", status.first_index[b]}};
  return json;
}

void print_flags(const FpStatus& status) {
  std::cerr << "flags:";
  for (int b = kFlagCount; b-- > 0;)
    if (status.flags >> b & 1)
      std::cerr << ' ' << kFlagWords[b] << " (first at element " << status.first_index[b] << ')';
  std::cerr << (status.flags == 0 ? " none\n" : "\n");
}

}  // namespace

void check_random_options(const RoundOptions& o, const cli::App& app, bool stochastic, const std::string& cure) {
  if (o.rounding.engine == RandomEngine::kXoroshiro128aox)
    throw UsageError(
        "--random: 'xoroshiro128aox': expected philox or philox7; its numbers come in the order of the hardware: pass "
        "them with --random-words");
  const detail::RandomUse use{.stochastic = stochastic, .generator = o.random_bits.empty()};
  refuse_idle_random(app, {&use, 1}, {.stochastic = cure});
}

void check_number_options(const RoundOptions& o, const cli::App& app) {
  const bool stochastic = o.rounding.policy(o.format).stochastic();  // also refuses modes that the preset does not have
  if (o.rounding.chip && chip_rounding(*o.rounding.chip, o.format).from != kFp32)
    throw UsageError("--chip: " + name_of(*o.rounding.chip) + " makes " + format_name(o.format) + " from " +
                     format_name(chip_rounding(*o.rounding.chip, o.format).from) +
                     ": expected a format that it makes from fp32");
  if (o.packed && !o.rounding.chip) throw UsageError("--packed: expected --chip beside it, whose words they are");
  check_random_options(o, app, stochastic, "--rounding stochastic or --chip");
}

/// "auto" becomes "emu" or "cuda". A device rounds arrays to codes as NVIDIA's instruction does, and no others.
void settle_round_device(RoundOptions& o) {
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

void round_number_file(const RoundOptions& o) {
  ArrayReader reader(o.in, tensors_of_values());
  const npy::Header& header = reader.header();
  check_input_type(reader, false, "");
  if (o.rounding.chip) check_input_type(reader, true, "which --chip " + name_of(*o.rounding.chip) + " rounds");
  std::optional<RandomWords> words;
  if (!o.random_bits.empty()) words.emplace(o.random_bits, header, o, o.rounding.policy(o.format).random_bits);
  const bool steps = o.rounding_step != 0 && words == std::nullopt && o.rounding.policy(o.format).stochastic();
  const std::string description = o.rounding.description(o.format, o.random_bits) + (o.packed ? ", packed" : "") +
                                  (steps ? ", step " + std::to_string(o.rounding_step) : "");
  RoundOutput out(o,
                  {{o.out, "", output_type(o), o.values ? TensorElement::kF32 : tensor_type(o.choice), header.shape}},
                  description);
  RandomWords* const given = words ? &*words : nullptr;
  const FpStatus status = header.type == ElementType::kFloat32 ? round_from<float>(o, reader, given, out)
                                                               : round_from<double>(o, reader, given, out);
  out.commit();
  RoundSummary s = summary_of(reader, out, o.values ? "values" : "codes");
  s.settings = o.rounding.settings(o.format);
  s.description = description;
  if (o.packed) s.settings["packed"] = true;
  if (steps) s.settings["step"] = o.rounding_step;
  if (o.json) {
    Json json = summary_start(o, s);
    json["flags"] = flags_json(status);
    print_json(json);
  } else {
    print_summary_start(o, s);
    print_flags(status);
  }
}

}  // namespace softamp::program
