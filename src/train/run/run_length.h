// How long a training run is, and what of its trainer follows from that.
#pragma once

#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {

/// The word for one sample of a network, and for several: "image" where it reads images.
const char* sample_word(const NetworkInfo& network, bool several = true);

/// Whole steps that the samples fill once. Throws std::invalid_argument where there is none.
int64_t steps_per_epoch(const TrainSettings& settings, const NetworkInfo& network, int64_t samples);

/// Of the whole run, with its warm-up epochs. Throws std::invalid_argument for more than the random bits have addresses
/// for.
int64_t steps_of_run(const TrainSettings& settings, int64_t steps_per_epoch);

/// TrainSettings::trainer_options with a schedule that ends with the run, unless `decay_steps` says where. Throws
/// std::invalid_argument for a warm-up that is no shorter.
TrainerOptions options_of_run(const TrainSettings& settings, int64_t steps);

}  // namespace softamp::train_detail
