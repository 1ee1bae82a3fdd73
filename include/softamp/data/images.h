// Labelled images: IDX and CIFAR-10 files, plain, gzipped or in a tar.gz as distributed; .npy; PNG files in a
// folder for each class; and a generated set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "softamp/tensor/tensor.h"

namespace softamp {

/// Names the file, the byte offset (of the unpacked data), what was found and what was expected.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// 8-bit images in NHWC order with one label each.
struct ImageSet {
  std::string name;  ///< "fashion-mnist/train", "cifar-10/data_batch_1", "generated 28x28x1"
  int64_t count = 0, height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;  ///< 0 .. classes - 1
  int32_t classes = 10;
  std::vector<std::string> class_names;  ///< where they are known

  int64_t image_elements() const { return height * width * channels; }
  /// Images [first, first + count) as a copy. Throws std::out_of_range, as the functions of indices below do.
  ImageSet slice(int64_t first, int64_t count) const;
};

struct ImageSets {
  ImageSet train, test;
};

/// IDX (Y. LeCun's format of MNIST), .gz or not: images of rank 3 (magic 0x00000803), labels of rank 1 (0x00000801).
ImageSet load_idx(const std::filesystem::path& images, const std::filesystem::path& labels);
/// CIFAR-10's binary records (label byte, 3072 bytes CHW), .bin or .bin.gz; several files are joined.
ImageSet load_cifar10(std::span<const std::filesystem::path> files);
/// Images uint8 [n, h, w] or [n, h, w, c], labels uint8 or int32 [n], as .npy.
ImageSet load_npy_images(const std::filesystem::path& images, const std::filesystem::path& labels);

/// The set in a folder (or archive): Fashion-MNIST's four files, CIFAR-10's data_batch_*.bin[.gz] and
/// test_batch.bin[.gz], its cifar-10-binary.tar.gz, or {train,test}_{images,labels}.npy. `folder` may be the one above:
/// then the subfolder "fashion-mnist", "mnist" or "cifar-10" (also "cifar-10-batches-bin") that fits height x width x
/// channels is taken. Throws DataError that lists what was looked for.
///
/// Last, PNG files by class: train/CLASS/NAME.png and test/CLASS/NAME.png, with the same classes in both; or
/// CLASS/NAME.png, of which the last floor(n x validation_split) of each class's n are to test with [=0.1; 0 .. below
/// 1, else std::invalid_argument]. Classes are numbered, and files taken, in the order of the bytes of their names: the
/// first image of every class, then the second of every class, and so on. Each is height x width, and has as many
/// channels as its colour type: grey 1, grey with alpha 2, RGB or a palette 3, RGBA 4. Nothing is resized or converted;
/// gamma and colour profiles are ignored. 16 bits, transparent colours, other files in the folder of a class, and more
/// than 2^31 bytes of pixels are refused; files whose names begin with a dot are passed over, and those outside the
/// classes' folders.
ImageSets load_images(const std::filesystem::path& folder, int64_t height, int64_t width, int64_t channels,
                      double validation_split = 0.1);

/// Ten classes of generated images: for each class a fixed smooth pattern, shifted, scaled in contrast and covered with
/// noise, image by image; a function of (seed, index) only, in integer arithmetic. A small net learns it to more than
/// 90 %; a classifier by the nearest class mean does not. height, width (8 .. 1024), channels (1 .. 64); else
/// std::invalid_argument. Random bits have step 2^32 - 3 in their address, which no run of a graph uses.
ImageSets generated_images(int64_t height, int64_t width, int64_t channels, int64_t train_count = 4096,
                           int64_t test_count = 1024, uint64_t seed = 0);

/// The folder of real data: `given` if not empty, else the environment variable SOFTAMP_DATA if set.
std::optional<std::filesystem::path> data_folder(std::string_view given = {});

/// The identity of a set, in whatever folder and packing: XXH3-128 over pixels and labels, 32 hexadecimal digits.
std::string contents_hash(const ImageSet& set);

/// Images as a tensor [indices, h, w, c] of a floating dtype, x/255 correctly rounded to nearest even in that dtype
/// (TUTORIAL G41); labels as int32 [indices].
Tensor normalise(const ImageSet& set, std::span<const int64_t> indices, DType dtype);
Tensor labels_of(const ImageSet& set, std::span<const int64_t> indices);

}  // namespace softamp
