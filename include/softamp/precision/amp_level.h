// MindSpore's levels of automatic mixed precision (MIXED_PRECISION M02, M04, M15, M16; levels of r1.5, O1 of
// 2.x).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softamp/precision/layer_rule.h"
#include "softamp/precision/loss_scale.h"

namespace softamp {

enum class AmpLevel : uint8_t {
  kO0,    ///< float32
  kO1,    ///< operations of the white list in low precision, each cast in and out
  kO2,    ///< every cell in low precision except BatchNorm; loss float32; dynamic loss scale
  kO3,    ///< BatchNorm too; no loss scale
  kAuto,  ///< O2 on a GPU, O3 on Ascend
};
const char* name_of(AmpLevel level);  ///< "O0", ..., "auto"
/// Throws std::invalid_argument that names the allowed set.
AmpLevel parse_amp_level(std::string_view text);

/// What a level means, after overrides.
struct AmpSettings {
  AmpLevel level = AmpLevel::kO0;  ///< never kAuto
  DType cast_model_type = DType::kFloat32;
  bool keep_batchnorm_fp32 = true;
  LossScaleOptions loss_scale = LossScaleOptions::none();
};
/// device_target ("CPU", "GPU", "Ascend") decides what "auto" is: throws std::invalid_argument, "Level `auto` only
/// support when `device_target` is GPU or Ascend." low: [=float16]
AmpSettings amp_settings(AmpLevel level, std::string_view device_target = "GPU", DType low = DType::kFloat16);

/// O0, O2 and O3 as a rule for networks and finished graphs.
LayerRule layer_rule(const AmpSettings& settings);

/// O1 on a finished graph: white-listed operations; a cast at each edge between low and float32 (two casts that cancel
/// each other are left out). Layers of the black list keep float32 inside.
Colouring colour_o1(const OpGraph& graph, DType low = DType::kFloat16);
std::span<const std::string> o1_white_operations();
std::span<const std::string> o1_white_cells();
std::span<const std::string> o1_black_cells();

}  // namespace softamp
