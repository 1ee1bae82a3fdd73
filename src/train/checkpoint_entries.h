// A checkpoint as the entries of its archive.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "softamp/train/checkpoint.h"
#include "src/data/archive.h"

namespace softamp::train_detail {

/// The text of checkpoint.json, whose fields after the checksum are `rest` ("\"settings\":{...},...}"), behind these
/// entries.
std::string with_checksum(std::span<const archive::Entry> tensors, const std::string& rest);

/// What save_checkpoint packs. Throws CheckpointError, which names `file`.
std::vector<archive::Entry> entries_of(const Checkpoint& checkpoint, const std::filesystem::path& file);

/// The checkpoint that these entries make, the last of them checkpoint.json. Throws CheckpointError; `file` is its name
/// in messages.
Checkpoint checkpoint_of(std::span<const archive::Entry> entries, const std::filesystem::path& file);

}  // namespace softamp::train_detail
