// PNG files, sample by sample and damaged in every way; and folders of them, one for each class.
#include "src/data/image_classes.h"

#include <gtest/gtest.h>

#include "src/data/image_files.h"
#include "src/data/image_formats.h"
#include "src/data/png_image.h"
#include "tests/data/png_bytes.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> parsed(std::string bytes, int64_t height, int64_t width, int64_t channels) {
  std::vector<uint8_t> pixels(static_cast<size_t>(height * width * channels));
  parse_png(std::as_writable_bytes(std::span(bytes)), "p", height, width, channels, pixels);
  return pixels;
}

std::string refused(const std::string& bytes, int64_t height = 2, int64_t width = 2, int64_t channels = 1) {
  return refusal<DataError>([&] { (void)parsed(bytes, height, width, channels); });
}

/// Samples by a rule of their own, and what they mean.
struct Example {
  PngImage image;
  std::vector<uint8_t> pixels;
};
Example example_of(int type, int depth, bool interlaced, uint32_t height, uint32_t width) {
  Example e{{.height = height, .width = width, .type = type, .depth = depth, .interlaced = interlaced}, {}};
  const unsigned values = 1u << depth;
  if (type == PNG_COLOR_TYPE_PALETTE)
    for (unsigned i = 0; i < values; ++i)
      e.image.palette.push_back(
          {static_cast<uint8_t>(7 * i + 1), static_cast<uint8_t>(255 - i), static_cast<uint8_t>(i * i)});
  for (uint32_t i = 0; i < height * width * e.image.samples_of_pixel(); ++i) {
    const auto sample = static_cast<uint8_t>((i * 2654435761u >> 13) % values);
    e.image.samples.push_back(sample);
    if (type == PNG_COLOR_TYPE_PALETTE)
      for (const uint8_t c : e.image.palette[sample]) e.pixels.push_back(c);
    else
      e.pixels.push_back(static_cast<uint8_t>(sample * 255u / (values - 1)));
  }
  return e;
}

}  // namespace

TEST(Png, EveryColourTypeAndDepthGivesItsSamples) {
  const std::pair<int, int> kinds[] = {
      {PNG_COLOR_TYPE_GRAY, 1},    {PNG_COLOR_TYPE_GRAY, 2},     {PNG_COLOR_TYPE_GRAY, 4},
      {PNG_COLOR_TYPE_GRAY, 8},    {PNG_COLOR_TYPE_PALETTE, 1},  {PNG_COLOR_TYPE_PALETTE, 2},
      {PNG_COLOR_TYPE_PALETTE, 4}, {PNG_COLOR_TYPE_PALETTE, 8},  {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
      {PNG_COLOR_TYPE_RGB, 8},     {PNG_COLOR_TYPE_RGB_ALPHA, 8}};
  for (const auto& [type, depth] : kinds)
    for (const bool interlaced : {false, true})
      for (const auto& [height, width] : {std::pair{1u, 1u}, {3u, 5u}, {17u, 9u}, {40u, 33u}}) {
        const Example e = example_of(type, depth, interlaced, height, width);
        EXPECT_EQ(parsed(png_bytes(e.image), height, width, e.image.channels()), e.pixels)
            << "type " << type << ", " << depth << " bits, " << height << 'x' << width
            << (interlaced ? ", interlaced" : "");
      }
}

TEST(Png, GreyIsExpandedExactly) {
  const std::string rows = std::string("\0\x1b", 2);  // 00 01 10 11
  const std::string two =
      kPngSignature + png_header(1, 4, 2, 0) + png_chunk("IDAT", zlib_stored(rows)) + png_chunk("IEND", "");
  EXPECT_EQ(parsed(two, 1, 4, 1), (std::vector<uint8_t>{0, 85, 170, 255}));
}

TEST(Png, OtherChunksChangeNothing) {
  const Example e = example_of(PNG_COLOR_TYPE_RGB, 8, false, 3, 4);
  const std::string plain = png_bytes(e.image);
  const size_t end = plain.size() - 12;
  const std::string others = png_chunk("gAMA", big(45455)) + png_chunk("iCCP", "no profile") +
                             png_chunk("sRGB", "\xff") + png_chunk("PLTE", "abcdef") + png_chunk("sBIT", "") +
                             png_chunk("tEXt", "k") + png_chunk("acTL", "x");
  EXPECT_EQ(
      parsed(plain.substr(0, 33) + others + plain.substr(33, end - 33) + png_chunk("tIME", "?") + plain.substr(end), 3,
             4, 3),
      e.pixels);
}

TEST(Png, PixelsMayLieInManyPieces) {
  const std::string rows("\0\1\2\0\3\4", 6), data = zlib_stored(rows);
  std::string pieces;
  for (const char c : data) pieces += png_chunk("IDAT", std::string(1, c)) + png_chunk("IDAT", "");
  EXPECT_EQ(parsed(kPngSignature + png_header(2, 2, 8, 0) + pieces + png_chunk("IEND", ""), 2, 2, 1),
            (std::vector<uint8_t>{1, 2, 3, 4}));
}

TEST(Png, EveryCutAndEveryFlippedBitIsRefused) {
  for (const bool palette : {false, true}) {
    const Example e = example_of(palette ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_GRAY, 4, palette, 5, 3);
    const std::string whole = png_bytes(e.image);
    const int64_t channels = e.image.channels();
    EXPECT_EQ(refused(whole, 5, 3, channels), "");
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string said = refused(whole.substr(0, size), 5, 3, channels);
      expect_text(said, "p: byte " + std::to_string(size) + ": the file is cut off: expected");
    }
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      EXPECT_NE(refused(flipped, 5, 3, channels), "") << "bit " << bit;
    }
    expect_text(refused(whole + '\0', 5, 3, channels),
                "p: byte " + std::to_string(whole.size()) + ": other bytes follow the chunk IEND");
  }
}

TEST(Png, RefusesWithPlaceAndExpectation) {
  const std::string begin = kPngSignature + png_header(2, 2, 8, 0), end = png_chunk("IEND", "");
  const std::string rows("\0\1\2\0\3\4", 6), zlib = zlib_stored(rows), data = png_chunk("IDAT", zlib);
  const std::string of_palette = kPngSignature + png_header(2, 2, 8, 3), colours = png_chunk("PLTE", "abcdefghijkl");
  ASSERT_EQ(refused(begin + data + end), "");
  ASSERT_EQ(parsed(of_palette + png_chunk("PLTE", "abcdefghijklmno") + data + end, 2, 2, 3).back(), 'o');
  std::string wrong_sum = zlib;
  wrong_sum.back() ^= 1;
  const auto header = [&](int depth, int type, int interlace = 0) {
    return kPngSignature + png_header(2, 2, depth, type, interlace) + data + end;
  };
  const struct {
    std::string bytes, message;
    int64_t channels = 1;
  } rows_of[] = {
      {"\xff\xd8\xff\xe0 JFIF", "p: byte 0: not a PNG file, but a JPEG one: expected it to begin with 89 50 4e 47"},
      {"GIF89a", "p: byte 0: not a PNG file: expected"},
      {kPngSignature + data, "p: byte 8: expected the chunk IHDR of 13 bytes"},
      {header(16, 0), "p: byte 24: 16 bits a sample; expected 8 or fewer: images are 8-bit"},
      {header(3, 0), "p: byte 24: 3 bits a sample; expected 8, 4, 2 or 1"},
      {header(4, 2), "p: byte 24: 4 bits a sample; expected 8", 3},
      {header(16, 3), "p: byte 24: 16 bits a sample; expected 8, 4, 2 or 1", 3},
      {header(8, 1), "p: byte 25: colour type 1; expected 0, 2, 3, 4 or 6"},
      {header(8, 2), "p: an image of 2x2x3 (RGB); expected 2x2x1: images are neither resized nor converted"},
      {header(8, 3), "p: an image of 2x2x3 (palette); expected 2x2x4", 4},
      {header(8, 4), "p: an image of 2x2x2 (grey with alpha); expected 2x2x1"},
      {header(8, 6), "p: an image of 2x2x4 (RGBA); expected 2x2x3", 3},
      {kPngSignature + png_header(~0u, ~0u, 8, 0) + data + end,
       "p: an image of 4294967295x4294967295x1 (grey); expected"},
      {header(8, 0, 2), "p: damaged: libpng says: "},
      {begin + end, "p: damaged: libpng says: "},
      {begin + png_chunk("IDAT", zlib.substr(0, 9)) + end, "p: damaged: libpng says: "},
      {begin + png_chunk("IDAT", wrong_sum) + end, "p: damaged: libpng says: "},
      {begin + png_chunk("IDAT", zlib + "more") + end, "p: damaged: libpng says: "},
      {begin + png_chunk("IDAT", zlib_stored(rows + "more")) + end, "p: damaged: libpng says: "},
      {begin + png_chunk("IDAT", zlib_stored("\7" + rows.substr(1))) + end, "p: damaged: libpng says: "},
      {begin + data + png_chunk("IEND", "more"), "p: damaged: libpng says: "},
      {begin + data + png_chunk("tEXt", "") + data + end, "p: byte 74: the chunk 'IDAT' is out of place"},
      {begin + png_header(2, 2, 8, 0) + data + end, "p: byte 33: the chunk 'IHDR' is out of place"},
      {begin + colours + data + end, "p: byte 33: the chunk 'PLTE' is out of place"},
      {of_palette + data + end, "p: byte 33: the chunk 'IDAT' is out of place", 3},
      {of_palette + colours + colours + data + end, "p: byte 57: the chunk 'PLTE' is out of place", 3},
      {of_palette + png_chunk("PLTE", "abcd") + data + end,
       "p: byte 33: a palette of 4 bytes; expected 3 for each colour", 3},
      {of_palette + png_chunk("PLTE", std::string(771, 'a')) + data + end,
       "p: byte 33: a palette of 771 bytes; expected 3 for each colour, of which there are 1 .. 256", 3},
      {of_palette + colours + data + end, "p: pixel 3 has the colour 4 of a palette; expected 0 .. 3", 3},
      {of_palette + colours + png_chunk("tRNS", "a") + data + end, "p: byte 57: a chunk tRNS makes colours transparent",
       3},
      {begin + png_chunk("CgBI", "") + data + end,
       "p: byte 33: the chunk 'CgBI' is not known, and it says that pixels"},
      {begin + png_chunk("I AT", "") + data + end, "p: byte 33: expected a chunk of a PNG file"},
      {begin + big(~0u) + "IDAT" + data + end,
       "the file is cut off: expected the 4294967295 bytes of the chunk 'IDAT' at byte 33"},
  };
  for (const auto& row : rows_of) expect_text(refused(row.bytes, 2, 2, row.channels), row.message);
}

TEST(Png, SizesAreComparedBeforeAFileIsRead) {
  const Folder folder;
  uint8_t pixels[4] = {};
  const auto said = [&](const fs::path& file) { return refusal<DataError>([&] { read_png(file, 2, 2, 1, pixels); }); };
  const fs::path large = folder.write("l.png", kPngSignature + png_header(3, 2, 8, 0));
  fs::resize_file(large, uint64_t{1} << 40);  // with a hole
  expect_text(said(large), "l.png: an image of 3x2x1 (grey); expected 2x2x1");
  folder.write("l.png", kPngSignature + png_header(2, 2, 8, 0));
  fs::resize_file(large, uint64_t{1} << 40);
  expect_text(said(large), "l.png: has 1099511627776 bytes; expected at most 16777224");
  expect_text(said(folder.path() / "none.png"), "none.png: cannot open: No such file");
  EXPECT_EQ(said(folder.write("s.png", small_png(2, 2, 1, 1))), "");
}

namespace {

/// Images of 2x3 whose first samples are told apart by `seed`.
void write_image(const Folder& folder, const std::string& name, uint32_t seed) {
  folder.write(name, small_png(2, 3, 1, seed));
}
ImageSets load(const Folder& folder, double split = 0.1) { return load_images(folder.path(), 2, 3, 1, split); }
std::string load_refused(const Folder& folder, double split = 0.5) {
  return folder.without(refusal<DataError>([&] { (void)load(folder, split); }));
}
/// The seeds of a set's images.
std::vector<uint32_t> seeds_of(const ImageSet& set) {
  std::vector<uint32_t> seeds;
  for (int64_t i = 0; i < set.count; ++i)
    for (uint32_t seed = 0; seed < 50; ++seed) {
      const std::vector<uint8_t> pixels = parsed(small_png(2, 3, 1, seed), 2, 3, 1);
      if (std::equal(pixels.begin(), pixels.end(), set.pixels.begin() + 6 * i)) seeds.push_back(seed);
    }
  return seeds;
}

}  // namespace

TEST(ImageClasses, TrainAndTestFolders) {
  const Folder folder;
  write_image(folder, "train/dog/b.png", 2);
  write_image(folder, "train/dog/a.PNG", 1);
  write_image(folder, "train/dog/c.png", 3);
  write_image(folder, "train/Zebra/x.png", 11);
  write_image(folder, "train/Zebra/10.png", 10);
  write_image(folder, "train/\xC3\xA9t\xC3\xA9/1.png", 20);
  write_image(folder, "test/dog/1.png", 30);
  write_image(folder, "test/\xC3\xA9t\xC3\xA9/1.png", 31);
  write_image(folder, "test/Zebra/1.png", 32);
  for (const char* passed_over :
       {"train/dog/.hidden.jpg", "train/.git/x", "train/readme.txt", "val/cat/1.jpg", "test.csv"})
    folder.write(passed_over, "x");
  const ImageSets sets = load(folder, 0);
  EXPECT_EQ(sets.train.class_names, (std::vector<std::string>{"Zebra", "dog", "\xC3\xA9t\xC3\xA9"}));
  EXPECT_EQ(sets.test.class_names, sets.train.class_names);
  EXPECT_EQ(sets.train.classes, 3);
  EXPECT_EQ(sets.train.labels, (std::vector<int32_t>{0, 1, 2, 0, 1, 1}));
  EXPECT_EQ(seeds_of(sets.train), (std::vector<uint32_t>{10, 1, 20, 11, 2, 3}));
  EXPECT_EQ(sets.test.labels, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(seeds_of(sets.test), (std::vector<uint32_t>{32, 30, 31}));
  EXPECT_EQ(sets.train.name, folder.path().filename().string() + "/train");
  EXPECT_EQ(sets.test.name, folder.path().filename().string() + "/test");
  EXPECT_EQ(sets.train.height, 2);
  EXPECT_EQ(sets.train.width, 3);
  EXPECT_EQ(image_files(folder.path()).size(), 9u);
  // What is found first does not hide what is there besides.
  EXPECT_EQ(image_files(folder.path() / "train").size(), 6u);
  fs::remove_all(folder.path() / "train/Zebra");
  EXPECT_EQ(load_refused(folder),
            "train: no folder 'Zebra', which is a class in test; expected the same classes in both");
  EXPECT_TRUE(image_files(folder.path()).empty());
  fs::remove_all(folder.path() / "test/Zebra");
  fs::remove_all(folder.path() / "test/dog");
  EXPECT_EQ(load_refused(folder),
            "test: no folder 'dog', which is a class in train; expected the same classes in both");
  fs::remove_all(folder.path() / "test");
  expect_text(load_refused(folder),
              ": classes in train alone; expected the folders train and test, or a folder for each class");
}

TEST(ImageClasses, TheLastOfEachClassAreToTestWith) {
  const Folder folder;
  for (uint32_t i = 0; i < 7; ++i) write_image(folder, "a/" + std::to_string(i) + ".png", i);
  for (uint32_t i = 0; i < 3; ++i) write_image(folder, "b/" + std::to_string(i) + ".png", 10 + i);
  write_image(folder, "c/only.png", 20);
  const ImageSets half = load(folder, 0.5);
  EXPECT_EQ(seeds_of(half.train), (std::vector<uint32_t>{0, 10, 20, 1, 11, 2, 3}));
  EXPECT_EQ(half.train.labels, (std::vector<int32_t>{0, 1, 2, 0, 1, 0, 0}));
  EXPECT_EQ(seeds_of(half.test), (std::vector<uint32_t>{4, 12, 5, 6}));
  EXPECT_EQ(half.test.labels, (std::vector<int32_t>{0, 1, 0, 0}));
  EXPECT_EQ(load(folder, 0.15).test.count, 1);
  expect_text(load_refused(folder, 0.1),
              ": 11 images in 3 classes, and 'validation_split' leaves none of them to test with");
  EXPECT_EQ(refusal<std::invalid_argument>([&] { load(folder, 1); }),
            "load_images: validation_split is 1.000000; expected a number from 0 up to, but not including, 1");
}

TEST(ImageClasses, RefusesWithPlaceAndExpectation) {
  const struct {
    const char *file, *message;
  } rows[] = {
      {"a/1.jpg",
       "a/1.jpg: is not named as a PNG file; expected .png files alone in the folder of a class: convert others first, "
       "as "
       "decoders may differ in the last bit"},
      {"a/notes.txt", "a/notes.txt: is not named as a PNG file; expected .png files alone in the folder of a class"},
      {"a/deeper/1.png", "a/deeper: is a folder in that of a class; expected .png files alone"},
      {"c/.empty", "c: no .png file; expected at least one in the folder of each class"},
  };
  for (const auto& row : rows) {
    const Folder folder;
    write_image(folder, "a/0.png", 1);
    write_image(folder, "b/0.png", 2);
    folder.write(row.file, "");
    EXPECT_EQ(load_refused(folder), row.message);
    EXPECT_TRUE(image_files(folder.path()).empty()) << row.file;
  }
  const Folder folder;
  write_image(folder, "a/0.png", 1);
  expect_text(load_refused(folder),
              "a: the only folder with images; expected a folder for each of two classes or more");
  folder.write("b/0.png", small_png(3, 2, 1, 1));
  EXPECT_EQ(load_refused(folder, 0.9), folder.path().string() +
                                           ": 2 images in 2 classes, and 'validation_split' leaves "
                                           "none of them to test with; expected at least one");
  write_image(folder, "a/1.png", 1);
  expect_text(load_refused(folder), "b/0.png: an image of 3x2x1 (grey); expected 2x3x1: images are neither resized");
  folder.write("b/0.png", small_png(2, 3, 1, 1).substr(0, 60));
  expect_text(load_refused(folder), "b/0.png: byte 60: the file is cut off");
  fs::remove(folder.path() / "b/0.png");
  fs::create_symlink("nowhere", folder.path() / "b/0.png");
  EXPECT_EQ(load_refused(folder), "b/0.png: is no file; expected a .png file");
  // JPEG alone is told so, and not passed over.
  const Folder jpeg;
  jpeg.write("a/0.jpeg", "");
  jpeg.write("b/0.jpeg", "");
  expect_text(load_refused(jpeg), "a/0.jpeg: is not named as a PNG file");
  // No images: as before.
  const Folder none;
  none.write("a/0.txt", "");
  none.write("train/0.png", "");
  none.write("test/0.png", "");
  expect_text(load_refused(none), ": no images of 2x3x1; looked for ");
  expect_text(load_refused(none), ": no folders with .png files, one for each class");
}

TEST(ImageClasses, MoreThanTheLimitIsRefusedBeforeAFileIsRead) {
  const Folder folder;
  for (int i = 0; i < 2048; ++i) folder.write((i % 2 ? "a/" : "b/") + std::to_string(i) + ".png", "");
  const auto said = [&] { return refusal<DataError>([&] { load_images(folder.path(), 1024, 512, 2, 0.5); }); };
  expect_text(said(), "a/1.png: byte 0: the file is cut off");
  EXPECT_EQ(image_files(folder.path()).size(), 2048u);
  folder.write("a/2048.png", "");
  expect_text(said(), ": 2049 images of 1024x512x2; expected at most 2^31 samples of pixels together");
}

}  // namespace softamp::test
