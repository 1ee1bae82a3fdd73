// Settings of training that change nothing: every door refuses them.
#pragma once

#include <span>

#include "src/train/settings/settings_fields.h"

namespace softamp::train_detail {

/// The first setting that differs from its default and that no case of a study uses, with the reason; the key is empty
/// where there is none. What depends on the network is asked of the network that the settings name, where that can be
/// built without the data. Each case must be valid.
SettingFault first_idle_setting(std::span<const TrainSettings> cases);

}  // namespace softamp::train_detail
