// The files that a folder of images is read from.
#pragma once

#include <filesystem>
#include <vector>

namespace softamp {

/// Every file there that load_images may read, for images of any size: nothing writes over it. An archive: itself.
/// Images by class are listed where they would be read: not where a folder among them is no class's.
std::vector<std::filesystem::path> image_files(const std::filesystem::path& folder);

}  // namespace softamp
