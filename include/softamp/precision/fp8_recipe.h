// Training with 8 and 4 bits: which operands of a linear layer's three products are quantised how, as data, and the
// pass that does it (N499 to N503).
//
// A linear layer y = x W is three products: fprop y = x W, dgrad dx = g W^T, wgrad dW = x^T g. A recipe says for each
// operand of each of them in which block format it goes into the product (names/block_format_names.h); what is named
// "" stays float32. Blocks lie along the axis that the product sums; tiles over the last axis. The products themselves
// stay those of the graph, of the values that the codes stand for, with the executor's accumulator, or become
// ScaledMatMul (`accumulation`). Convolutions count
// as linear layers: their blocks lie along the channels, in wgrad along the batch, as microxcaling has them. Attention
// (products of two activations), depthwise convolutions, norms, embeddings and the update stay float32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/precision_report.h"

namespace softamp {

/// How operands of formats without a scale get one.
enum class Fp8Scaling : uint8_t {
  kFormat,   ///< "format": the format has scales of its own
  kDelayed,  ///< "delayed": one factor for a tensor, from the greatest magnitudes of earlier steps (TransformerEngine)
  kUnit,     ///< "unit": factors that follow from shapes: weights sqrt(summed elements), gradients the rows of a batch
             ///< (Blake et al. 2023)
};

/// JSON keys are the names of the fields; all may be left out.
// implements: N499
struct Fp8Recipe {
  /// The formats of two operands, as texts of block formats; "": not quantised.
  struct Operands {
    std::string first, second;
    bool operator==(const Operands&) const = default;
  };
  std::string name = "custom";
  std::string about;
  Operands fprop;  ///< {"input": ..., "weight": ...}
  Operands dgrad;  ///< {"gradient": ..., "weight": ...}
  Operands wgrad;  ///< {"gradient": ..., "input": ...}
  Fp8Scaling scaling = Fp8Scaling::kFormat;
  int64_t hadamard = 0;                   ///< (0: none; a power of two up to 4096) transform of wgrad's operands before
  std::string hadamard_signs;             ///< "+-+-...", as many as `hadamard`, at most 64 [="": all +]
  int64_t amax_history_len = 1024;        ///< (1 .. 65536) of kDelayed
  std::string amax_compute_algo = "max";  ///< (max, most_recent) of kDelayed
  int64_t margin = 0;                     ///< (-64 .. 64) of kDelayed
  bool zero_keeps_history = true;         ///< kDelayed: an amax of 0 moves nothing (the fused kernel); false: it counts
  /// How products of matrices are summed: an `accumulation` of ScaledMatMul, which the product then becomes [="": the
  /// product stays, of the values, with the executor's accumulator]. Only with kFormat.
  std::string accumulation;
  std::string promotion = "scales_first";  ///< ScaledMatMul's, of hopper
  int64_t promote_every = 128;             ///< ScaledMatMul's, of hopper
  int64_t keep_first = 0;                  ///< (0 ..) linear layers at the beginning that stay float32
  int64_t keep_last = 1;                   ///< (0 ..) at the end: the head

  bool operator==(const Fp8Recipe&) const = default;

  /// "fp8_delayed", "fp8_current", "fp8_block", "deepseek_v3", "mxfp8", "mxfp6", "mxfp4", "nvfp4", "nvfp4_nearest",
  /// "nvfp4_4over6", "unit_scaling".
  static std::vector<std::string> names();
  /// One of these, or the path of a file. Throws std::invalid_argument: neither.
  static Fp8Recipe find(std::string_view name_or_path);
  /// A JSON object, at most 4 MiB. Throws std::invalid_argument with place: no JSON, an unknown field (with the
  /// nearest), a value out of range, a format that is none, formats and a scaling that do not go together.
  static Fp8Recipe parse(std::string_view text, std::string_view place = "recipe");
  static Fp8Recipe load(const std::filesystem::path& path);
  /// What parse reads back as an equal recipe.
  std::string to_json() const;
};

/// Puts the quantisations in front of the products of a training graph, or of one that only goes forward. Under
/// kDelayed every quantised tensor has three variables, "fp8/<node>/<operand>/amax_history", ".../scale", ".../amax",
/// which the graph itself moves. Throws GraphError as the builder does; std::invalid_argument where a tile's format
/// does not fit.
// implements: N499
GraphRewrite quantize_products(const Graph& graph, const Fp8Recipe& recipe, ListView<std::string> fetches = {});

}  // namespace softamp
