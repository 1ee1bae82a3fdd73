// Checkpoints: the state of a training run in one file, a NumPy .npz archive (`numpy.load` reads it): one .npy entry
// per tensor, "variables/<name>.npy", or "<replica>/<name>.npy" where replicas differ (bfloat16 as u2), and
// "checkpoint.json" with everything else and an XXH3-128 checksum over all. Equal states give equal files.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include "softamp/train/trainer.h"

namespace softamp {

/// Names the file, the place in it, what was found and what was expected.
class CheckpointError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Checkpoint {
  std::string settings;  ///< JSON object: the run's settings (train_settings.h); compared when a run is resumed
  std::string progress;  ///< JSON object of the run's own: place in the data, sums of losses
  Trainer::State state;
};

/// Writes the file whole or not at all: a temporary file beside it is synchronised to disk, then renamed, so that a
/// broken checkpoint never replaces a good one. A link is followed. Throws CheckpointError: also where another run
/// writes the file.
void save_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& file);
/// Throws CheckpointError: not an archive, truncated, a checksum that does not match (both are printed), an entry
/// missing.
Checkpoint load_checkpoint(const std::filesystem::path& file);

}  // namespace softamp
