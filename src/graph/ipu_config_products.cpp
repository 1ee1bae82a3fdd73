// Poplar's options of products, under their own names.
#include "softamp/graph/ipu_config.h"

#include <algorithm>

#include "softamp/names/names.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/decimal.h"
#include "src/text/joined.h"

namespace softamp {
namespace {

/// An option, its values ("*": any text), and whether matrix products and convolutions have it.
struct Known {
  const char* key;
  std::vector<std::string> values;
  bool matmuls, convolutions;
};

// implements: N112
const std::vector<Known>& known_options() {
  static const std::vector<std::string> kPartials = {"half", "float"}, kBool = {"true", "false"};
  static const std::vector<Known> kAll = {
      {"partialsType", kPartials, true, true},
      {"partialsType.interTile", kPartials, true, true},
      {"partialsType.interIPU", kPartials, true, true},
      {"disableSRForAMPVertices", kBool, true, true},
      {"availableMemoryProportion", {"*"}, true, true},
      {"planConstraints", {"*"}, true, true},
      {"fullyConnectedPass", {"NONE", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU"}, true, false},
      {"pass",
       {"NONE", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU", "FC_INFERENCE_FWD", "FC_TRAINING_FWD",
        "FC_TRAINING_BWD", "FC_TRAINING_WU"},
       false,
       true},
      {"inputRHSIsPreArranged", kBool, true, false},
      {"use128BitConvUnitLoad", kBool, true, true},
      {"enableFastReduce", kBool, true, true},
      {"enableMultiStageReduce", kBool, true, true},
      {"enableConvDithering", kBool, false, true},
      {"gatherConvOutput", kBool, false, true},
      {"gatherOutput", kBool, true, false},
      {"remapOutputTensor", kBool, true, true},
      {"experimental.slicVmac16", kBool, false, true},
  };
  return kAll;
}

/// 0 <= x <= 1, as Poplar asks of availableMemoryProportion.
bool is_proportion(const std::string& text) {
  const ParsedNumber x = parse_number(text);
  if (x.kind != ParsedNumber::Kind::kFinite) return false;
  const uint64_t code = to_code(kBinary64, x).code;
  return code == kBinary64.sign_mask() || code <= fp::from_double(kBinary64, 1);
}

}  // namespace

// implements: N112
ProductOptions product_options(const PoplarOptions& options, std::string_view category) {
  const bool matmuls = category == "matmuls";
  ProductOptions result;
  bool half_between_tiles = false;
  for (const auto& [key, value] : options) {
    const std::string place = std::string(category) + ".poplar_options: ";
    const Known* known = nullptr;
    std::vector<std::string> keys;
    for (const Known& k : known_options()) {
      if (!(matmuls ? k.matmuls : k.convolutions)) continue;
      keys.emplace_back(k.key);
      if (key == k.key) known = &k;
    }
    if (!known) throw std::invalid_argument(place + unknown_name_message("option", key, keys));
    if (known->values.front() != "*" &&
        std::find(known->values.begin(), known->values.end(), value) == known->values.end())
      throw std::invalid_argument(place + key + " is '" + value + "'; expected one of " + joined(known->values));
    if (key == "availableMemoryProportion" && !is_proportion(value))
      throw std::invalid_argument(place + key + " is '" + value + "'; expected a number in 0..1");
    const bool half = value == "half", yes = value == "true";
    if (key == "partialsType") result.half_partials = half;
    if (key == "partialsType.interTile") half_between_tiles = half;
    if (key == "disableSRForAMPVertices") result.stochastic_off = yes;
  }
  // A level's type is never larger than that of the level below: half partials stay half. No partial crosses to another
  // device, so partialsType.interIPU changes nothing.
  result.half_between_blocks = result.half_partials || half_between_tiles;
  return result;
}

}  // namespace softamp
