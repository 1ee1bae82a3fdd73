// softamp round to a format of blocks: codes and scales, or the values that they stand for.
#include "src/program/round/round_block_pieces.h"

#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/tensor/block_bulk.h"
#include "src/machine/progress.h"
#include "src/text/counted.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace softamp::program {
namespace {

using block::BlockFamily;
using npy::ElementType;

uint32_t fp32_code_of(float x) { return __builtin_bit_cast(uint32_t, x); }
constexpr uint32_t kInfinity32 = 0x7F800000u;

/// What became of the elements and the blocks.
struct Losses {
  uint64_t saturated = 0, zeroed = 0, nan_elements = 0, nan_blocks = 0;
};

bool is_nan_scale(const block::BlockFormat& f, const uint8_t* scales, uint64_t i) {
  if (f.family == BlockFamily::kMx) return scales[i] == e8m0::kNan;
  if (f.family == BlockFamily::kNvfp4) return (scales[i] & 0x7F) == 0x7F;
  float scale;
  std::copy_n(scales + 4 * i, 4, reinterpret_cast<uint8_t*>(&scale));
  return std::isnan(scale);
}

// implements: N471
void count_losses(const block::BlockFormat& f, const std::vector<float>& in, const std::vector<uint8_t>& codes,
                  const std::vector<float>& values, const std::vector<uint8_t>& scales, size_t count, uint64_t blocks,
                  Losses& losses) {
  // The greatest code of each sign stands for the largest number; two's complement has no sign bit.
  const uint64_t most = f.element.max_code(), mask = f.element.code_mask();
  const uint64_t least = f.element.integer ? (mask + 1 - most) & mask : most | f.element.format.sign_mask();
  for (size_t i = 0; i < count; ++i) {
    const uint32_t x = fp32_code_of(in[i]) & 0x7FFFFFFFu, v = fp32_code_of(values[i]) & 0x7FFFFFFFu;
    if (x > kInfinity32 || v > kInfinity32) {
      ++losses.nan_elements;
    } else {
      losses.saturated += (codes[i] == most || codes[i] == least) && x > v && v != 0;
      losses.zeroed += x != 0 && v == 0;
    }
  }
  if (f.scale_bytes() == 0) return;
  for (uint64_t b = 0; b < blocks; ++b) losses.nan_blocks += is_nan_scale(f, scales.data(), b);
}

/// The greatest magnitude of a whole file, for NVFP4's scale of the array.
uint32_t greatest_in_file(const RoundOptions& o, bool nan_counts) {
  ArrayReader reader(o.in, tensors_of_values());
  std::vector<float> piece(std::min<uint64_t>(kRoundChunk, reader.header().elements));
  uint32_t greatest = 0;
  while (const size_t count = reader.read(piece.data(), piece.size())) {
    stop_if_interrupted();
    greatest = std::max(greatest, bulk::greatest_magnitude(std::span(piece.data(), count), nan_counts, o.threads));
  }
  return greatest;
}

Json block_settings(const RoundOptions& o, const block::BlockFormat& f) {
  Json json;
  json["format"] = block_format_text(f);
  json["axis"] = o.axis;
  json["rounding"] = name_of(f.rounding().mode);
  if (!f.rounding().stochastic()) return json;
  json["bits"] = f.rounding().random_bits;
  json["variant"] = name_of(f.rounding().variant);
  json["random"] = name_of(o.rounding.engine);
  json["seed"] = o.rounding.seed;
  json["step"] = o.rounding_step;
  return json;
}

std::string block_description(const RoundOptions& o, const block::BlockFormat& f) {
  std::string text =
      block_format_text(f) + " along axis " + std::to_string(o.axis) + ", rounding " + name_of(f.rounding().mode);
  if (!f.rounding().stochastic()) return text;
  return text + " (" + name_of(f.rounding().variant) + ", " + counted(f.rounding().random_bits, "bit") + ", " +
         name_of(o.rounding.engine) + ", seed " + std::to_string(o.rounding.seed) + ", step " +
         std::to_string(o.rounding_step) + ")";
}

struct BlockRun {
  uint32_t amax = 0;                  ///< of the array as it was read
  uint32_t tensor_amax = 0;           ///< to which NVFP4's scales refer
  uint64_t first_nan = ~uint64_t{0};  ///< a block whose scale is NaN
  Losses losses;
};

/// What a scale of the array says, where there is one.
Json tensor_scale_json(const block::BlockFormat& f, uint32_t amax) {
  const block::Nvfp4Tensor tensor = block::nvfp4_tensor(amax, f.nvfp4);
  Json json;
  json["amax"] = value_of(kFp32, amax);
  for (const auto& [name, code] :
       {std::pair{"amax_code", tensor.amax}, {"encode_code", tensor.encode}, {"decode_code", tensor.decode}})
    json[name] = code_text(kFp32, code);
  return json;
}

/// Scales have a file of their own, or lie beside the codes.
bool writes_scales(const RoundOptions& o, const block::BlockFormat& f) {
  return !o.scales.empty() || (o.into_tensors() && !o.values && f.scale_bytes() != 0);
}

/// Codes or values, then scales and, of an array that NVFP4's scales refer to, its greatest magnitude.
std::vector<RoundResult> results_of(const RoundOptions& o, const block::BlockFormat& f, const BlockPieces& pieces,
                                    const std::vector<uint64_t>& shape) {
  const bool halves = tensor_type(f.element) == TensorElement::kF4 && o.into_tensors() && !o.values && !o.packed;
  if (halves && pieces.elements() % 2 != 0)
    throw UsageError(
        o.out + ": " + std::to_string(pieces.elements()) +
        " codes of 4 bits; expected an even number for a tensor of F4, or --packed beside it, which makes one "
        "of U8");
  std::vector<RoundResult> results;
  if (o.values)
    results.push_back({o.out, "", ElementType::kFloat32, TensorElement::kF32, shape});
  else
    results.push_back({o.out, "", ElementType::kUint8, o.packed ? TensorElement::kU8 : tensor_type(f.element),
                       o.packed ? packed_shape(shape) : shape});
  if (!writes_scales(o, f)) return results;
  results.push_back({o.scales, kScaleSuffix, pieces.scales_type(), scale_tensor_type(f), pieces.scales_shape()});
  if (o.into_tensors() && scales_refer_to_amax(f))
    results.push_back({"", kAmaxSuffix, ElementType::kFloat32, TensorElement::kF32, {}});
  return results;
}

void report_blocks(const RoundOptions& o, const RoundSummary& s, const block::BlockFormat& f, const BlockPieces& pieces,
                   const RoundOutput& out, const BlockRun& run) {
  const uint64_t blocks = pieces.scales();
  const bool has_scales = writes_scales(o, f);
  const bool nvfp4 = f.family == BlockFamily::kNvfp4;
  if (o.json) {
    Json json = summary_start(o, s);
    if (has_scales) {
      json["scales"] = out.place(1);
      json["scales_shape"] = pieces.scales_shape();
      json["scales_type"] = out.type_name(1);
    }
    json["blocks"] = blocks;
    json["amax"] = value_of(kFp32, run.amax);
    json["amax_code"] = code_text(kFp32, run.amax);
    if (nvfp4) json["tensor"] = tensor_scale_json(f, run.tensor_amax);
    json["saturated"] = run.losses.saturated;
    json["zeroed"] = run.losses.zeroed;
    json["nan_elements"] = run.losses.nan_elements;
    json["nan_blocks"] = run.losses.nan_blocks;
    if (run.losses.nan_blocks) json["first_nan_block"] = run.first_nan;
    print_json(json);
    return;
  }
  print_summary_start(o, s);
  if (has_scales)
    std::cerr << out.place(1) << ": " << blocks << " scales as '" << out.type_name(1) << "' of shape "
              << npy::shape_text(pieces.scales_shape()) << ", " << pieces.scales_meaning() << '\n';
  std::cerr << "greatest magnitude " << fp32_text(run.amax) << '\n';
  if (nvfp4) {
    const block::Nvfp4Tensor tensor = block::nvfp4_tensor(run.tensor_amax, f.nvfp4);
    std::cerr << "tensor: amax " << fp32_text(tensor.amax) << ", encode scale " << fp32_text(tensor.encode)
              << ", decode scale " << fp32_text(tensor.decode) << '\n';
  }
  std::cerr << "lost: " << run.losses.saturated << " saturated, " << run.losses.zeroed
            << " zeroed; NaN: " << run.losses.nan_elements << " elements, " << run.losses.nan_blocks << " of " << blocks
            << " blocks";
  if (run.losses.nan_blocks) std::cerr << " (first: block " << run.first_nan << ')';
  std::cerr << '\n';
}

}  // namespace

block::BlockFormat block_format_of(const RoundOptions& o) {
  std::string text = o.choice.blocks;
  for (const auto& [name, value] : o.block_options)
    text += (text.find(':') == std::string::npos ? ":" : ",") + name + "=" + value;
  try {
    return parse_block_format(text);
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("--format: ") + e.what());
  }
}

void check_block_options(const RoundOptions& o, const cli::App& app) {
  const block::BlockFormat f = block_format_of(o);
  const std::string with = " with --format " + o.choice.blocks;
  for (const char* other : {"--chip", "--cast", "--overflow", "--saturation", "--random-words"})
    if (app.option(other).count() > 0)
      throw UsageError(std::string(other) + ": expected none" + with + ": elements of blocks saturate" +
                       (other == std::string("--random-words") ? ", and draw from the generator" : ""));
  if (o.rounding.preset != Preset::kIeee) throw UsageError("--preset: 'ipu': expected ieee" + with);
  if (o.rounding.engine == RandomEngine::kXoroshiro128aox)
    throw UsageError("--random: 'xoroshiro128aox': expected philox or philox7" + with);
  if (o.packed && f.element.storage_bits() != 4)
    throw UsageError("--packed: " + o.choice.blocks + " has codes of " + std::to_string(f.element.storage_bits()) +
                     " bits; expected a format of 4 bits, mxfp4 or nvfp4");
  if (o.packed && o.values) throw UsageError("--packed: expected codes; --values writes float32");
  if (!o.back && !o.scales.empty() && (o.into_tensors() || ArrayName(o.scales).in_safetensors))
    throw UsageError(
        "--scales: '" + o.scales +
        "': expected a .npy file beside a .npy file OUT; in a .safetensors file OUT scales lie beside codes");
  const bool in_one_file = o.back ? ArrayName(o.in).in_safetensors : o.into_tensors();
  if (f.scale_bytes() != 0 && o.scales.empty() && !o.values && !in_one_file)
    throw UsageError("--scales: expected a file, in which the scales " +
                     std::string(o.back ? "lie" : "are written: codes say nothing without them"));
  if (o.amax && f.family != BlockFamily::kNvfp4)
    throw UsageError("--amax: expected nvfp4, whose scales refer to it, not " + o.choice.blocks);
  if (scales_refer_to_amax(f) && o.back && !o.amax && !in_one_file)
    throw UsageError("--amax: expected the greatest magnitude of the array, which the scales of " + o.choice.blocks +
                     " refer to; softamp round prints it");
  if (!o.back && !o.shape.empty()) throw UsageError("--shape: expected --dequantize --packed beside it");
  if (o.back && !o.shape.empty() && !o.packed)
    throw UsageError("--shape: expected --packed beside it; codes of a byte each have their own shape");
}

void round_blocks_file(const RoundOptions& o) {
  const block::BlockFormat f = block_format_of(o);
  ArrayReader reader(o.in, tensors_of_values());
  const npy::Header& header = reader.header();
  check_input_type(reader, true, "of which blocks are made");
  const BlockPieces pieces(f, header.shape, o.axis);
  BlockRun run;
  const bool nvfp4 = f.family == BlockFamily::kNvfp4;
  if (pieces.largest() > kRoundChunk)
    std::cerr << "softamp round: " << o.in << " is held in memory in pieces of " << pieces.largest()
              << " elements, 10 bytes each: a piece has whole blocks, and these lie along axis " << o.axis << '\n';
  const bool with_scales = writes_scales(o, f);
  RoundOutput out(o, results_of(o, f, pieces, header.shape), block_description(o, f));
  CodeWriter codes_out(out, o.packed || (o.into_tensors() && tensor_type(f.element) == TensorElement::kF4));
  if (nvfp4) run.tensor_amax = o.amax ? *o.amax : greatest_in_file(o, f.nan_poisons_block());

  std::vector<float> in(pieces.largest()), values(in.size());
  std::vector<uint8_t> codes(in.size()), scales;
  Progress progress("round", header.elements, "elements");
  uint64_t blocks_done = 0;
  // An array without elements may have a scale.
  for (uint64_t done = 0; done < header.elements || blocks_done < pieces.scales();) {
    stop_if_interrupted();
    const bulk::BlockLayout layout = pieces.piece(done);
    const size_t count = layout.elements();
    const uint64_t blocks = bulk::scale_count(layout, f);
    reader.read(in.data(), count);
    scales.resize(blocks * f.scale_bytes());
    bulk::BulkOptions options;
    options.threads = o.threads;
    options.random = {o.rounding.engine, o.rounding.seed, 0, o.rounding_step, done, nullptr};
    const std::span<const float> from(in.data(), count);
    const uint32_t amax = bulk::quantize(from, layout, f, std::span(codes.data(), count), scales, options,
                                         nvfp4 ? &run.tensor_amax : nullptr);
    bulk::dequantize(std::span<const uint8_t>(codes.data(), count), scales, layout, f, amax,
                     std::span(values.data(), count), options);
    run.amax = std::max(run.amax, bulk::greatest_magnitude(from, true, o.threads));
    const uint64_t before = run.losses.nan_blocks;
    count_losses(f, in, codes, values, scales, count, blocks, run.losses);
    if (before == 0 && run.losses.nan_blocks != 0)
      for (uint64_t b = blocks; b-- > 0;)
        if (is_nan_scale(f, scales.data(), b)) run.first_nan = blocks_done + b;
    if (o.values)
      out.write(0, values.data(), count);
    else
      codes_out.write(codes, count);
    if (with_scales) out.write(1, scales.data(), blocks);
    done += count;
    blocks_done += blocks;
    progress.update(done);
  }
  codes_out.finish();
  if (with_scales && o.into_tensors() && scales_refer_to_amax(f)) out.write(2, &run.tensor_amax, 1);
  out.commit();
  RoundSummary s = summary_of(reader, out, o.values ? "values" : o.packed ? "codes, two a byte" : "codes");
  s.settings = block_settings(o, f);
  s.description = block_description(o, f);
  report_blocks(o, s, f, pieces, out, run);
}

}  // namespace softamp::program
