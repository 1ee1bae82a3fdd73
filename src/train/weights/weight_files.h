// First weights and batches of a run in files, for other programs and from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "softamp/data/sampler.h"
#include "softamp/train/train_settings.h"
#include "softamp/train/trainer.h"
#include "src/files/run_files.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {

/// Sets every variable of the model, on all replicas, to the array of its name, or to what a checkpoint has of it.
/// Returns how many arrays had another floating dtype and were rounded. Throws npy::Error, CheckpointError: arrays that
/// are missing (all are named), that no variable has (with the nearest), of another shape, not of floating type, with a
/// finite number that the variable's dtype does not reach; nothing is set then.
int64_t set_weights(Trainer& trainer, const std::filesystem::path& file);

/// The variables of the model, of replica 0. Throws npy::Error.
void write_weights(const Trainer& trainer, const std::filesystem::path& file);

/// Lists the files that write_batches writes.
void list_batches(files::RunFiles& files, const std::string& place);

/// The micro-batches of `steps` steps: RunOutput::write_batches. Settled settings. inputs: what the array of inputs is
/// called, as Model::images. Throws npy::Error.
void write_batches(const TrainSettings& settings, const Samples& samples, const Sampler& sampler, int64_t steps,
                   const std::string& place, const std::string& inputs);

}  // namespace softamp::train_detail
