// Instead of src/data/png_image.cpp: without libpng, PNG files are refused.
#include "softamp/data/images.h"
#include "src/data/png_image.h"

namespace softamp {

void read_png(const std::filesystem::path& file, int64_t, int64_t, int64_t, std::span<uint8_t>) {
  throw DataError(file.string() +
                  ": a PNG file, and this build (SOFTAMP_MINIMAL=ON) reads none; expected images as .npy");
}

}  // namespace softamp
