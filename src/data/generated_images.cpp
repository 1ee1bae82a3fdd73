// A set of images that needs no file. All arithmetic uses integers: the same bytes everywhere.
//
// A class has two shapes, each a smooth random field. An image is one of its class's fields, moved by up to a ninth of
// the side, with its own contrast, colour and grey; another smooth field of the image's own and noise are added.
// Movement, contrast and the two shapes blur a class's mean; a net finds the shapes.
#include <algorithm>

#include "softamp/data/images.h"
#include "softamp/numerics/random.h"
#include "src/data/image_formats.h"

namespace softamp {
namespace {

constexpr uint32_t kStep = 0xFFFFFFFD;  // 2^32 - 3: no graph, sampler or initialiser uses it
enum Operation : uint32_t { kClassFields = 0, kTrainImages = 1, kTestImages = 2 };
constexpr int kDrawsLog2 = 28;  // room for the draws of one image

constexpr int32_t kClasses = 10, kShapes = 2;
constexpr int64_t kCells = 4;   // cells of a field's lattice along the image's side
constexpr int64_t kMoves = 9;   // an image moves by at most 1/kMoves of the side
constexpr int32_t kFull = 256;  // of a field, of a channel's gain
// In grey levels of 0 .. 255.
constexpr int32_t kLeastContrast = 80, kContrastRange = 60, kClutter = 12, kGrey = 30, kNoise = 14;

/// A number of 0 .. n - 1; the error of the probabilities, n/2^32, is the definition here.
int32_t below(int32_t n, PhiloxGenerator& random) {
  return static_cast<int32_t>(uint64_t{random()} * static_cast<uint64_t>(n) >> 32);
}
/// A number of -n .. n.
int32_t around(int32_t n, PhiloxGenerator& random) { return below(2 * n + 1, random) - n; }

/// Makes smooth random fields of height x width numbers of -kFull .. kFull: random values on a lattice, between them
/// the quadratic B-spline, stretched to the whole range.
struct FieldMaker {
  int64_t height, width, cell_height, cell_width;  ///< pixels
  std::vector<int32_t> lattice, rows;

  /// The spline's three weights, of 2^9 in all, at pixel t of `cell`.
  static void weights(int64_t t, int64_t cell, int32_t out[3]) {
    const int64_t u = (2 * t + 1) * 16 / cell;  // the pixel's middle: 0 .. 31, of 32
    out[0] = static_cast<int32_t>((32 - u) * (32 - u) / 4);
    out[2] = static_cast<int32_t>(u * u / 4);
    out[1] = 512 - out[0] - out[2];
  }

  void make(PhiloxGenerator& random, std::vector<int32_t>& field) {
    const int64_t lattice_width = width / cell_width + 3;
    lattice.resize(static_cast<size_t>((height / cell_height + 3) * lattice_width));
    for (int32_t& value : lattice) value = around(128, random);
    field.resize(static_cast<size_t>(height * width));
    rows.resize(static_cast<size_t>(lattice_width));
    int32_t weight[3], largest = 1;
    for (int64_t y = 0; y < height; ++y) {
      weights(y % cell_height, cell_height, weight);
      const int32_t* from = lattice.data() + y / cell_height * lattice_width;
      for (int64_t i = 0; i < lattice_width; ++i)
        rows[static_cast<size_t>(i)] =
            weight[0] * from[i] + weight[1] * from[i + lattice_width] + weight[2] * from[i + 2 * lattice_width];
      for (int64_t x = 0; x < width; ++x) {
        weights(x % cell_width, cell_width, weight);
        const int32_t* row = rows.data() + x / cell_width;
        const int32_t value = (weight[0] * row[0] + weight[1] * row[1] + weight[2] * row[2]) / 1024;
        field[static_cast<size_t>(y * width + x)] = value;
        largest = std::max(largest, value < 0 ? -value : value);
      }
    }
    for (int32_t& value : field) value = value * kFull / largest;
  }
};

// implements: N287
struct Generator {
  int64_t height, width, channels, move_y, move_x;
  uint64_t seed;
  std::vector<std::vector<int32_t>> fields;  ///< of each class's shapes, larger than the image by the movement

  Generator(int64_t h, int64_t w, int64_t c, uint64_t s)
      : height(h),
        width(w),
        channels(c),
        move_y(std::max<int64_t>(1, h / kMoves)),
        move_x(std::max<int64_t>(1, w / kMoves)),
        seed(s),
        fields(kClasses * kShapes) {
    PhiloxGenerator random(RandomBits{.seed = seed}, kStep, kClassFields);
    FieldMaker maker{height + 2 * move_y, width + 2 * move_x, height / kCells, width / kCells, {}, {}};
    for (std::vector<int32_t>& field : fields) maker.make(random, field);
  }

  ImageSet images(int64_t count, Operation operation) const {
    ImageSet set;
    set.count = count;
    set.height = height;
    set.width = width;
    set.channels = channels;
    set.classes = kClasses;
    set.pixels.resize(static_cast<size_t>(count * set.image_elements()));
    set.labels.resize(static_cast<size_t>(count));
    FieldMaker maker{height, width, height / kCells, width / kCells, {}, {}};
    std::vector<int32_t> clutter;
    for (int64_t i = 0; i < count; ++i) {
      PhiloxGenerator random(RandomBits{.seed = seed}, kStep, operation);
      random.discard(static_cast<uint64_t>(i) << kDrawsLog2);
      const int32_t shape = below(kClasses * kShapes, random);
      set.labels[static_cast<size_t>(i)] = shape / kShapes;
      maker.make(random, clutter);
      draw(random, fields[static_cast<size_t>(shape)], clutter, set.pixels.data() + i * set.image_elements());
    }
    return set;
  }

  void draw(PhiloxGenerator& random, const std::vector<int32_t>& field, const std::vector<int32_t>& clutter,
            uint8_t* pixel) const {
    const int64_t down = move_y + around(static_cast<int32_t>(move_y), random);
    const int64_t right = move_x + around(static_cast<int32_t>(move_x), random);
    const int32_t contrast = kLeastContrast + below(kContrastRange + 1, random);
    const int32_t grey = 128 + around(kGrey, random);
    // All channels show the same, each with a random strength.
    std::vector<int32_t> gain(static_cast<size_t>(channels), kFull);
    if (channels > 1)
      for (int32_t& g : gain) g = kFull / 2 + below(kFull / 2 + 1, random);
    uint32_t bits = 0;
    bool half_used = false;
    for (int64_t y = 0; y < height; ++y) {
      const int32_t* shape = field.data() + (y + down) * (width + 2 * move_x) + right;
      const int32_t* behind = clutter.data() + y * width;
      for (int64_t x = 0; x < width; ++x) {
        const int32_t signal = contrast * shape[x] + kClutter * behind[x];
        for (const int32_t g : gain) {
          bits = half_used ? bits >> 16 : random();
          half_used = !half_used;
          // The sum of two numbers of 0 .. 255 is likelier to be in the middle.
          const int32_t noise = static_cast<int32_t>(bits & 255) + static_cast<int32_t>(bits >> 8 & 255) - 255;
          const int32_t value = grey + (signal * g / kFull + kNoise * noise) / kFull;
          *pixel++ = static_cast<uint8_t>(std::clamp(value, 0, 255));
        }
      }
    }
  }
};

void check(int64_t value, int64_t least, int64_t most, const char* what) {
  if (value < least || value > most)
    throw std::invalid_argument("generated images: " + std::string(what) + " " + std::to_string(value) + "; expected " +
                                std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

// implements: N287
ImageSets generated_images(int64_t height, int64_t width, int64_t channels, int64_t train_count, int64_t test_count,
                           uint64_t seed) {
  check(height, 8, 1024, "height");
  check(width, 8, 1024, "width");
  check(channels, 1, 64, "channels");
  const int64_t most = static_cast<int64_t>(kMostPixels) / (height * width * channels);
  check(train_count, 1, most, "images to train with");
  check(test_count, 1, most, "images to test with");
  const Generator generator(height, width, channels, seed);
  ImageSets sets{generator.images(train_count, kTrainImages), generator.images(test_count, kTestImages)};
  const std::string name = "generated " + extents_text(height, width, channels);
  sets.train.name = name + "/train";
  sets.test.name = name + "/test";
  return sets;
}

}  // namespace softamp
