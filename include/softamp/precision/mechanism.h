// One choice among the mechanisms, as programs take it: which system decides what is in low precision, and whether it
// acts on a finished graph or while one is built.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/amp_level.h"
#include "softamp/precision/fp8_recipe.h"
#include "softamp/precision/graph_rewrite.h"
#include "softamp/precision/policy.h"
#include "softamp/precision/recipe.h"

namespace softamp {

/// A value; default: none, float32 everywhere.
struct Mechanism {
  enum class Kind : uint8_t {
    kNone,        ///< "none"
    kTensorFlow,  ///< "tensorflow", "tensorflow=2.3", "tensorflow=2019", "tensorflow=mkl"
    kRecipe,      ///< "recipe=full", "recipe=basic", "recipe=FILE.json"
    kPolicy,      ///< "policy=mixed_float16", ...
    kLevel,       ///< "level=O0", ..., "level=auto"
    kFp8,         ///< "fp8=mxfp8", "fp8=nvfp4", ..., "fp8=FILE.json": Fp8Recipe::find
  };
  Kind kind = Kind::kNone;
  std::string value;           ///< "2.3", "full", "mixed_float16", "O2"
  std::optional<DType> low{};  ///< (float16, bfloat16) [=the system's own: recipes bfloat16, others float16]

  /// Reads the forms above, with an optional ",dtype=bf16". Throws std::invalid_argument: an unknown mechanism, preset,
  /// policy, level (each with the known ones and the nearest), a dtype that the mechanism cannot have.
  static Mechanism parse(std::string_view text);
  std::string text() const;
  bool operator==(const Mechanism&) const = default;

  /// What is converted becomes this: float32 if nothing is (none, policy=float32, level=O0, fp8); float64 under
  /// policy=float64.
  DType low_dtype() const;
  /// Acts on a finished graph, after gradients: tensorflow, recipe, level=O1, fp8; the others act while a network is
  /// built.
  bool rewrites() const;
  /// The system's own loss scale: tensorflow: tensorflow; recipe: none; policy mixed_float16: keras; level O2:
  /// mindspore; others: none.
  LossScaleOptions loss_scale() const;
  /// For a finished graph, whatever the mechanism: `softamp rewrite`. fp8 colours nothing: it quantises operands.
  Colouring colour(const OpGraph& graph) const;
  GraphPass pass() const;
  /// While a network is built; nothing where rewrites() or none.
  std::optional<LayerRule> layer_rule() const;
};

}  // namespace softamp
