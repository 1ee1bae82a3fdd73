#include "src/data/image_classes.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "src/data/image_formats.h"
#include "src/data/png_image.h"
#include "src/text/lower_case.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;

/// What a name ends with where a file is an image, readable or not.
constexpr std::string_view kImageEndings[] = {".png",  ".jpg",  ".jpeg", ".bmp", ".gif", ".tif",
                                              ".tiff", ".webp", ".ppm",  ".pgm", ".avif"};

struct ImageClass {
  std::string name;
  fs::path folder;
  std::vector<fs::path> files;
};
using ImageClasses = std::vector<ImageClass>;

std::string ending(const fs::path& file) { return lower_case(file.extension().string()); }

bool is_image(const fs::path& file) {
  return std::find(std::begin(kImageEndings), std::end(kImageEndings), ending(file)) != std::end(kImageEndings);
}

/// A folder, or a link to one.
bool folder_is_at(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

/// Calls visit(path) for what is in a folder and not hidden, until it returns false.
void each_entry(const fs::path& folder, const auto& visit) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (!entry->path().filename().string().starts_with('.') && !visit(entry->path())) return;
  if (error) throw DataError(folder.string() + ": cannot list the folder: " + error.message());
}

/// By the bytes of their names, which no locale changes.
std::vector<fs::path> in_order(std::vector<fs::path> paths) {
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return paths;
}

ImageClasses class_folders(const fs::path& folder) {
  std::vector<fs::path> folders;
  each_entry(folder, [&](const fs::path& path) {
    if (folder_is_at(path)) folders.push_back(path);
    return true;
  });
  ImageClasses classes;
  for (const fs::path& path : in_order(std::move(folders))) classes.push_back({path.filename().string(), path, {}});
  return classes;
}

bool holds_image(const ImageClass& one) {
  bool found = false;
  try {
    each_entry(one.folder, [&](const fs::path& path) { return !(found = is_image(path) && !folder_is_at(path)); });
  } catch (const DataError&) {
    // A folder that is closed to us is a class only if others are.
  }
  return found;
}

bool hold_images(const ImageClasses& classes) { return std::any_of(classes.begin(), classes.end(), holds_image); }

void list_files(ImageClass& one) {
  each_entry(one.folder, [&](const fs::path& path) {
    std::error_code none;
    if (folder_is_at(path))
      throw DataError(path.string() + ": is a folder in that of a class; expected .png files alone");
    if (ending(path) != ".png")
      throw DataError(path.string() +
                      ": is not named as a PNG file; expected .png files alone in the folder of a class" +
                      (is_image(path) ? ": convert others first, as decoders may differ in the last bit" : ""));
    if (!fs::is_regular_file(path, none)) throw DataError(path.string() + ": is no file; expected a .png file");
    one.files.push_back(path);
    return true;
  });
  if (one.files.empty())
    throw DataError(one.folder.string() + ": no .png file; expected at least one in the folder of each class");
  one.files = in_order(std::move(one.files));
}

/// Both have been sorted.
void check_same_classes(const ImageClasses& train, const ImageClasses& test, const fs::path& folder) {
  const auto lacks = [&](const ImageClasses& some, const ImageClasses& others, const char* part) {
    for (const ImageClass& one : some)
      if (std::none_of(others.begin(), others.end(), [&](const ImageClass& other) { return other.name == one.name; }))
        throw DataError((folder / part).string() + ": no folder '" + one.name + "', which is a class in " +
                        one.folder.parent_path().string() + "; expected the same classes in both");
  };
  lacks(train, test, "test");
  lacks(test, train, "train");
}

struct Found {
  ImageClasses train, test;
  bool parted = false;  ///< into train and test; else all are in `train`
};

/// Nothing where no folder of a class has an image.
std::optional<Found> find_classes(const fs::path& folder) {
  const fs::path train = folder / "train", test = folder / "test";
  Found found;
  found.parted = folder_is_at(train) && folder_is_at(test);
  found.train = class_folders(found.parted ? train : folder);
  if (found.parted) found.test = class_folders(test);
  if (!hold_images(found.train) && !hold_images(found.test)) {
    for (const fs::path& alone : {train, test})
      if (!found.parted && folder_is_at(alone) && hold_images(class_folders(alone)))
        throw DataError(folder.string() + ": classes in " + alone.filename().string() +
                        " alone; expected the folders train and test, or a folder for each class");
    return std::nullopt;
  }
  if (found.train.size() == 1)
    throw DataError(found.train[0].folder.string() +
                    ": the only folder with images; expected a folder for each of two classes or more");
  if (found.parted) check_same_classes(found.train, found.test, folder);
  for (ImageClasses* part : {&found.train, &found.test})
    for (ImageClass& one : *part) list_files(one);
  return found;
}

void take_last(Found& found, double share, const fs::path& folder) {
  size_t all = 0, tested = 0;
  found.test = found.train;
  for (size_t c = 0; c < found.train.size(); ++c) {
    std::vector<fs::path>&train = found.train[c].files, &test = found.test[c].files;
    const auto count = static_cast<size_t>(static_cast<double>(train.size()) * share);
    all += train.size();
    tested += count;
    test.erase(test.begin(), test.end() - static_cast<ptrdiff_t>(count));
    train.resize(train.size() - count);
  }
  if (tested == 0)
    throw DataError(folder.string() + ": " + std::to_string(all) + " images in " + std::to_string(found.train.size()) +
                    " classes, and 'validation_split' leaves none of them to test with; expected at least one");
}

/// The first image of every class, then the second of every class, and so on.
ImageSet read_images(const ImageClasses& classes, int64_t height, int64_t width, int64_t channels) {
  ImageSet set;
  set.height = height, set.width = width, set.channels = channels;
  set.classes = static_cast<int32_t>(classes.size());
  size_t most = 0, all = 0;
  for (const ImageClass& one : classes) most = std::max(most, one.files.size()), all += one.files.size();
  const auto elements = static_cast<size_t>(set.image_elements());
  set.pixels.reserve(all * elements);
  set.labels.reserve(all);
  for (size_t i = 0; i < most; ++i)
    for (size_t c = 0; c < classes.size(); ++c) {
      if (i >= classes[c].files.size()) continue;
      set.pixels.resize(set.pixels.size() + elements);
      read_png(classes[c].files[i], height, width, channels, std::span(set.pixels).last(elements));
      set.labels.push_back(static_cast<int32_t>(c));
    }
  set.count = static_cast<int64_t>(all);
  return set;
}

}  // namespace

std::optional<ImageSets> load_image_classes(const fs::path& folder, int64_t height, int64_t width, int64_t channels,
                                            double validation_split) {
  if (height < 1 || width < 1 || channels < 1) return std::nullopt;
  std::optional<Found> found = find_classes(folder);
  if (!found) return std::nullopt;
  uint64_t images = 0;
  for (const ImageClasses* part : {&found->train, &found->test})
    for (const ImageClass& one : *part) images += one.files.size();
  const double samples = static_cast<double>(images) * static_cast<double>(height) * static_cast<double>(width) *
                         static_cast<double>(channels);
  if (samples > static_cast<double>(kMostPixels))
    throw DataError(folder.string() + ": " + std::to_string(images) + " images of " +
                    extents_text(height, width, channels) + "; expected at most 2^31 samples of pixels together");
  if (!found->parted) take_last(*found, validation_split, folder);
  ImageSets sets{read_images(found->train, height, width, channels), read_images(found->test, height, width, channels)};
  for (const ImageClass& one : found->train) sets.train.class_names.push_back(one.name);
  sets.test.class_names = sets.train.class_names;
  return sets;
}

std::vector<fs::path> image_class_files(const fs::path& folder) {
  std::vector<fs::path> files;
  try {
    if (const std::optional<Found> found = folder_is_at(folder) ? find_classes(folder) : std::nullopt)
      for (const ImageClasses* part : {&found->train, &found->test})
        for (const ImageClass& one : *part) files.insert(files.end(), one.files.begin(), one.files.end());
  } catch (const DataError&) {
    files.clear();
  }
  return files;
}

}  // namespace softamp
