// softamp round --dequantize: codes and scales of blocks, to float32.
#include "src/program/round/round_block_pieces.h"

#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/tensor/block_bulk.h"
#include "src/machine/progress.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <iostream>

namespace softamp::program {
namespace {

using block::BlockFamily;
using npy::ElementType;

/// The shape of the array, from that of its codes.
std::vector<uint64_t> shape_of_codes(const RoundOptions& o, const npy::Header& codes) {
  if (!o.packed) return codes.shape;
  std::vector<uint64_t> shape = o.shape;
  if (shape.empty()) {
    shape = codes.shape;
    if (shape.empty()) throw UsageError(o.in + ": shape (); expected packed codes of at least one dimension");
    shape.back() *= 2;
    return shape;
  }
  npy::element_count(shape, 4, "--shape");
  if (packed_shape(shape) != codes.shape)
    throw UsageError(o.in + ": shape " + npy::shape_text(codes.shape) + "; expected " +
                     npy::shape_text(packed_shape(shape)) + ", two codes a byte of --shape " + npy::shape_text(shape));
  return shape;
}

/// Which tensors have scales. Those of fp32 are numbers, not codes.
std::vector<TensorAs> tensors_of_scales(const block::BlockFormat& f) {
  if (f.scale_bytes() == 4) return {{TensorElement::kF32, ElementType::kFloat32}};
  return {{scale_tensor_type(f), ElementType::kUint8}, {TensorElement::kU8, ElementType::kUint8}};
}

/// Where the scales lie: where --scales says, or beside the codes.
std::string place_of_scales(const RoundOptions& o) { return o.scales.empty() ? o.in + kScaleSuffix : o.scales; }

/// To what NVFP4's scales refer: --amax, or what lies beside the codes.
std::optional<uint32_t> tensor_amax(const RoundOptions& o, const block::BlockFormat& f, const ArrayReader& codes) {
  if (o.amax || !scales_refer_to_amax(f)) return o.amax;
  const std::string name = ArrayName(o.in).tensor + kAmaxSuffix;
  if (!codes.tensors().has(name))
    throw UsageError("--amax: expected the greatest magnitude of the array, which the scales of " + o.choice.blocks +
                     " refer to; " + ArrayName(o.in).file + " has no tensor " + name);
  ArrayReader reader(o.in + kAmaxSuffix, {{TensorElement::kF32, ElementType::kFloat32}});
  uint32_t amax = 0;
  if (reader.header().elements != 1 || reader.read(&amax, 1) != 1 || amax > 0x7F800000u)
    throw UsageError(reader.name() + ": expected one number, the greatest magnitude of the array");
  return amax;
}

/// The scales, all of them.
std::vector<uint8_t> scales_of_file(const RoundOptions& o, const block::BlockFormat& f, const BlockPieces& pieces) {
  std::vector<uint8_t> scales(pieces.scales() * f.scale_bytes());
  if (f.scale_bytes() == 0) return scales;
  const std::string place = place_of_scales(o);
  ArrayReader reader(place, tensors_of_scales(f));
  const npy::Header& header = reader.header();
  if (header.type != pieces.scales_type())
    throw UsageError(place + ": type " + type_text(reader) + "; expected scales of " + block_format_text(f) + ", " +
                     type_text(pieces.scales_type()));
  if (header.shape != pieces.scales_shape())
    throw UsageError(place + ": shape " + npy::shape_text(header.shape) + "; expected " +
                     npy::shape_text(pieces.scales_shape()) + ", " + pieces.scales_meaning());
  reader.read(scales.data(), pieces.scales());
  for (uint64_t i = 0; i < pieces.scales(); ++i) {
    if (f.family == BlockFamily::kNvfp4 && scales[i] > 0x7F)
      throw UsageError(place + ": scale " + std::to_string(i) + ": " + code_text(kE4m3, scales[i]) +
                       ": expected an e4m3 without a sign, 0x00..0x7f");
    if (f.family != BlockFamily::kFp8) continue;
    float scale;
    std::copy_n(scales.data() + 4 * i, 4, reinterpret_cast<uint8_t*>(&scale));
    if (scale <= 0)
      throw UsageError(place + ": scale " + std::to_string(i) + ": " + shortest_decimal(scale) +
                       ": expected a number above 0");
  }
  return scales;
}

}  // namespace

void block_values_file(const RoundOptions& o) {
  const block::BlockFormat f = block_format_of(o);
  CodeReader reader(o.in, o.packed, tensor_type(f.element));
  const std::vector<uint64_t> shape = shape_of_codes(o, reader.header());
  const BlockPieces pieces(f, shape, o.axis);
  const std::vector<uint8_t> scales = scales_of_file(o, f, pieces);
  const std::optional<uint32_t> amax = tensor_amax(o, f, reader.array());
  const std::string description = block_format_text(f) + " along axis " + std::to_string(o.axis) + ", codes to values" +
                                  (amax ? ", amax " + fp32_text(*amax) : "");
  RoundOutput out(o, {{o.out, "", ElementType::kFloat32, TensorElement::kF32, shape}}, description);
  const std::string element = f.element.integer ? "int8" : format_name(f.element.format);
  const uint32_t mask = static_cast<uint32_t>(f.element.code_mask());
  std::vector<uint8_t> codes(pieces.largest());
  std::vector<float> values(pieces.largest());
  Progress progress("round", pieces.elements(), "elements");
  uint64_t blocks_done = 0, nan = 0;
  for (uint64_t done = 0; done < pieces.elements();) {
    stop_if_interrupted();
    const bulk::BlockLayout layout = pieces.piece(done);
    const size_t count = layout.elements();
    const uint64_t blocks = bulk::scale_count(layout, f);
    reader.read(codes, count, done + count == pieces.elements(), mask, element);
    bulk::BulkOptions options;
    options.threads = o.threads;
    bulk::dequantize(std::span<const uint8_t>(codes.data(), count),
                     std::span(scales.data() + blocks_done * f.scale_bytes(), blocks * f.scale_bytes()), layout, f,
                     amax.value_or(0), std::span(values.data(), count), options);
    for (size_t i = 0; i < count; ++i) nan += std::isnan(values[i]);
    out.write(0, values.data(), count);
    done += count;
    blocks_done += blocks;
    progress.update(done);
  }
  out.commit();
  RoundSummary s = summary_of(reader.array(), out, "values");
  s.settings["format"] = block_format_text(f);
  s.settings["axis"] = o.axis;
  if (amax) s.settings["amax_code"] = code_text(kFp32, *amax);
  s.description = description;
  if (o.json) {
    Json json = summary_start(o, s);
    json["values_shape"] = shape;
    json["scales"] = place_of_scales(o);
    json["blocks"] = pieces.scales();
    json["nan_elements"] = nan;
    print_json(json);
    return;
  }
  print_summary_start(o, s);
  std::cerr << place_of_scales(o) << ": " << pieces.scales() << " scales, " << pieces.scales_meaning() << "; " << nan
            << " NaN elements\n";
}

}  // namespace softamp::program
