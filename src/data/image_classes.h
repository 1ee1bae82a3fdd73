// Images in a folder for each class.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "softamp/data/images.h"

namespace softamp {

/// The images of DIR/train/CLASS/NAME.png and DIR/test/CLASS/NAME.png where both folders are there, else of
/// DIR/CLASS/NAME.png, as load_images says. Nothing where no folder of a class has an image. Throws DataError.
std::optional<ImageSets> load_image_classes(const std::filesystem::path& folder, int64_t height, int64_t width,
                                            int64_t channels, double validation_split);
/// The files that it would read; none where it would refuse their names.
std::vector<std::filesystem::path> image_class_files(const std::filesystem::path& folder);

}  // namespace softamp
