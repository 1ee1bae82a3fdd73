// `softamp train` on images by class.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/data/png_bytes.h"
#include "tests/program/process.h"

namespace softamp::test {
namespace {

/// Classes of dark, middle and bright images of 4x5, RGB.
void write_images(const Folder& folder, int count) {
  const char* const names[] = {"bright", "dark", "middle"};
  const uint8_t levels[] = {220, 20, 120};
  for (size_t c = 0; c < 3; ++c)
    for (int i = 0; i < count; ++i) {
      PngImage image{.height = 4, .width = 5, .type = PNG_COLOR_TYPE_RGB};
      for (int k = 0; k < 60; ++k) image.samples.push_back(static_cast<uint8_t>(levels[c] + (7 * k + 13 * i) % 31));
      folder.write(std::string(names[c]) + "/" + std::to_string(100 + i) + ".png", png_bytes(image));
    }
}

std::string network_of(const Folder& folder, int classes) {
  return folder
      .write("net.json", R"({"softamp_network": 1, "input": {"kind": "image", "shape": [4, 5, 3]},
    "output": {"kind": "classes", "count": )" +
                             std::to_string(classes) + R"(},
    "layers": [{"type": "flatten"}, {"type": "dense", "units": )" +
                             std::to_string(classes) + "}]}")
      .string();
}

TEST(TrainImages, AFolderForEachClass) {
  const Folder images, files;
  write_images(images, 20);
  const std::string run =
      "train --quiet --set validation_split=0.2 --set batch_size=8 --set learning_rate=0.1 --set epochs=30 "
      "--data " +
      images.path().string() + " --network ";
  const nlohmann::json result = json_of(run + network_of(files, 3) + " --json");
  EXPECT_TRUE(contains(result["verdict"]["text"], "12 of 12 test images are right")) << result.dump(2);
  const Outcome few = run_softamp(run + network_of(files, 2));
  EXPECT_EQ(few.err,
            "softamp train: " + images.path().filename().string() +
                "/train: the class 'middle' has the label 2 of 3 classes; expected 0 .. 1, as the network has 2 "
                "classes\n");
  EXPECT_EQ(few.code, 2);
  // No image is written over.
  const Outcome over = run_softamp(run + network_of(files, 3) + " --plot " + images.file("dark/100.png"));
  EXPECT_EQ(over.code, 2);
  EXPECT_TRUE(contains(over.err, "is one of the files of data that are read; expected another file")) << over.err;
  images.write("dark/101.png", small_png(5, 4, 3, 1));
  const Outcome wrong = run_softamp(run + network_of(files, 3));
  EXPECT_TRUE(contains(wrong.err, "dark/101.png: an image of 5x4x3 (RGB); expected 4x5x3")) << wrong.err;
}

}  // namespace
}  // namespace softamp::test
