// Names and texts of block formats, as options, settings and attributes of graphs write them.
//
//   NAME[:OPTION=VALUE[,OPTION=VALUE...]]       mxfp4   nvfp4:rounding=stochastic,bits=8   e4m3_1x128:block=64
//
// NAME, with the other names of the field that are read:
//   mxfp8_e4m3 (mxfp8), mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4 (mxfp4_e2m1), mxint8     OCP MX, 32 to a scale
//   nvfp4, nvfp4_16x16                                                                     NVIDIA's, 16 to a scale
//   e4m3_tensor, e4m3_row, e4m3_1x128, e4m3_128x128 (fp8_e4m3_tensor, ...); e5m2_...       scales of fp32
//   e4m3, e5m2, f143, f152, e2m1, e2m3, e3m2                                               no scale: each by itself
//
// OPTION (values) [=default]; one that the format has no use for is refused:
//   scale_rule      MX (floor, ceil, even, rceil, microxcaling) [=floor];
//                   NVFP4 (transformer_engine, torchao, one_level) [=transformer_engine]; FP8 (transformer_engine,
//                   deepseek, deepgemm) [=transformer_engine]
//   block           (1 .. 1048576) elements to a scale; of MX, NVFP4 and the FP8 that has such blocks
//   rows            (1 .. 1048576) rows to a scale; of the same
//   rounding        (nearest, nearest-away, zero, up, down, stochastic, odd) [=nearest] of elements
//   variant         (carry, half, rne, odd, at-least) [=carry] of a stochastic rounding
//   bits            (1 .. 32) [=13] random bits of a stochastic rounding
//   nan             (poison, skip) [=poison] whether a NaN makes the scale NaN, or counts as absent
//   infinity        (nan, saturate) [=nan] MX with rceil: what an infinity makes of the scale
//   three_quarters  (true, false) [=false] MX: elements are 3/4 x / X
//   4over6          (none, mae, mse) [=none] NVFP4 of transformer_engine: of two scales that with the lesser error
//   e4m3_max        (256, 448) [=448; 256 with 4over6] of the same: the scale of the greatest block
//   powers_of_two   (true, false) [=false] FP8: the scale is a power of two
//
// Words are read without regard to case, and '_' as '-'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softamp/numerics/block/block_format.h"

namespace softamp {

/// A block format with a name.
struct NamedBlockFormat {
  block::BlockFormat format;
  std::vector<std::string> names;  ///< ours first, then other common spellings
  std::string about;               ///< one line: elements, scale, whose it is
};

/// All of them, in the order above.
const std::vector<NamedBlockFormat>& named_block_formats();

/// The format of a text as above. Throws UnknownName (names/names.h) for a name or word that is not known, with the
/// nearest; std::invalid_argument for an option that the format does not have, one given twice, a value out of range.
block::BlockFormat parse_block_format(std::string_view text);

/// The shortest such text: the name, and the options that differ from its defaults. Throws std::invalid_argument for a
/// format that no text gives.
std::string block_format_text(const block::BlockFormat& format);

/// Scale rules by name. Throw UnknownName.
block::ScaleRule scale_rule_from_name(std::string_view name);
block::Nvfp4Rule nvfp4_rule_from_name(std::string_view name);
block::Fp8Rule fp8_rule_from_name(std::string_view name);
std::string name_of(block::ScaleRule rule);
std::string name_of(block::Nvfp4Rule rule);
std::string name_of(block::Fp8Rule rule);

}  // namespace softamp
