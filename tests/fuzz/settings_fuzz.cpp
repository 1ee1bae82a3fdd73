// libFuzzer target: any bytes given to the readers of settings are refused with std::invalid_argument, or give a value
// that reads back equal after it is written. The first byte says which reader.
#include <stdexcept>
#include <string>

#include "softamp/precision/mechanism.h"
#include "softamp/train/keras/layer.h"
#include "softamp/train/keras/loss_scale_optimizer.h"
#include "softamp/train/train_settings.h"
#include "tests/fuzz/require.h"

using namespace softamp;

namespace {

void read(char reader, std::string_view text) {
  switch (reader) {
    case 'p': {
      const Policy policy = Policy::from_json(text);
      require(Policy::from_json(policy.to_json()) == policy, "a policy reads back equal");
      return;
    }
    case 'l': LayerOptions::from_config(text); return;
    case 'o': {
      const std::string config = LossScaleOptimizer::from_config(text).get_config();
      require(LossScaleOptimizer::from_config(config).get_config() == config, "an optimizer reads back equal");
      return;
    }
    case 'm': {
      const Mechanism mechanism = Mechanism::parse(text);
      require(Mechanism::parse(mechanism.text()) == mechanism, "a mechanism reads back equal");
      return;
    }
    case 's': LossScaleOptions::parse(text).validate(); return;
    default: {
      const std::string json = TrainSettings::from_json(text).to_json();
      require(TrainSettings::from_json(json).to_json() == json, "settings read back equal");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A mechanism may name a recipe's file: no devices, which may wait for ever.
  if (text.empty() || text.find('/') != std::string_view::npos) return 0;
  try {
    read(text[0], text.substr(1));
  } catch (const std::invalid_argument& e) {
    require(*e.what() != 0, "a refusal says why");
  }
  return 0;
}
