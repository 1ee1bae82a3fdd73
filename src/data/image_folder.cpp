// Finds the files of a folder or archive that form an image set of the requested extents.
#include <algorithm>
#include <cstdlib>

#include "src/data/image_classes.h"
#include "src/data/image_files.h"
#include "src/data/image_formats.h"
#include "src/data/npy_header.h"

namespace softamp {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCifarArchive = "cifar-10-binary.tar.gz";
/// Where a set may lie: the folder itself, or one in it.
constexpr const char* kIdxFolders[] = {"", "fashion-mnist", "mnist"};
constexpr const char* kCifarFolders[] = {"", "cifar-10", "cifar-10-batches-bin"};

/// Images and labels to train with, then those to test with.
const std::vector<std::string> kIdxNames = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                            "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
const std::vector<std::string> kNpyNames = {"train_images.npy", "train_labels.npy", "test_images.npy",
                                            "test_labels.npy"};
/// Arrays of samples, of images and others.
const std::vector<std::string> kSampleNames = {"x_train.npy", "y_train.npy", "x_test.npy",
                                               "y_test.npy",  "x.npy",       "y.npy"};
const std::vector<std::string> kCifarNames = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                              "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

std::vector<std::string> fashion_names() {
  return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
}

/// The last name of a path such as "data/mnist", "data/mnist/" or ".".
std::string last_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// `name` in `folder`, or the gzipped one; empty if neither exists.
fs::path plain_or_gzipped(const fs::path& folder, const std::string& name) {
  for (const std::string& candidate : {name, name + ".gz"})
    if (is_file(folder / candidate)) return folder / candidate;
  return {};
}

/// What has been looked for, for the error at the end.
struct Search {
  int64_t height, width, channels;
  std::vector<std::string> missing;  ///< a line for each kind of set

  bool fits(int64_t h, int64_t w, int64_t c) const { return height == h && width == w && channels == c; }
  /// The files that a set needs; false, and a line naming the missing ones, if one does not exist.
  bool all(const fs::path& folder, std::span<const std::string> names, std::vector<fs::path>& files) {
    std::string absent;
    files.clear();
    for (const std::string& name : names) {
      files.push_back(plain_or_gzipped(folder, name));
      if (files.back().empty()) absent += (absent.empty() ? "" : ", ") + name + (name.ends_with(".npy") ? "" : "[.gz]");
    }
    if (!absent.empty()) missing.push_back(folder.string() + ": no " + absent);
    return absent.empty();
  }
};

void check_extents(const ImageSet& set, const Search& search, const fs::path& file) {
  if (!search.fits(set.height, set.width, set.channels))
    throw DataError(file.string() + ": images of " + extents_text(set.height, set.width, set.channels) + "; expected " +
                    extents_text(search.height, search.width, search.channels));
}

void name_sets(ImageSets& sets, const std::string& name, const std::vector<std::string>& class_names) {
  sets.train.name = name + "/train";
  sets.test.name = name + "/test";
  sets.train.class_names = sets.test.class_names = class_names;
}

/// Images and labels in four files of these names.
std::optional<ImageSets> set_of_four(const fs::path& folder, Search& search, const auto& names, auto* load,
                                     const std::vector<std::string>& classes) {
  std::vector<fs::path> files;
  if (!search.all(folder, names, files)) return std::nullopt;
  ImageSets sets{load(files[0], files[1]), load(files[2], files[3])};
  check_extents(sets.train, search, files[0]);
  check_extents(sets.test, search, files[2]);
  name_sets(sets, last_name(folder), classes);
  return sets;
}

std::optional<ImageSets> idx_set(const fs::path& folder, Search& search) {
  const std::string name = last_name(folder);
  std::vector<std::string> classes;
  if (name.find("fashion") != std::string::npos)
    classes = fashion_names();
  else if (name == "mnist")
    for (int digit = 0; digit < 10; ++digit) classes.push_back(std::to_string(digit));
  return set_of_four(folder, search, kIdxNames, load_idx, classes);
}

std::optional<ImageSets> npy_set(const fs::path& folder, Search& search) {
  return set_of_four(folder, search, kNpyNames, load_npy_images, {});
}

/// "data_batch_3" out of a path that ends in data_batch_3.bin; empty if it is none of CIFAR-10's files.
std::string cifar_stem(std::string_view path) {
  const std::string name = fs::path(path).filename().string();
  const bool known = std::find(kCifarNames.begin(), kCifarNames.end(), name) != kCifarNames.end();
  return known ? name.substr(0, name.find('.')) : std::string();
}

ImageSets cifar_archive(const fs::path& file) {
  archive::Source source(file);
  std::vector<archive::Entry> entries = archive::read_tar(source, [](std::string_view path) -> uint64_t {
    return cifar_stem(path).empty() ? 0 : kMostCifarRecords * kCifarRecord;
  });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return cifar_stem(a.name) < cifar_stem(b.name); });
  ImageSets sets;
  std::string before;
  for (const archive::Entry& entry : entries) {
    const std::string stem = cifar_stem(entry.name), place = file.string() + ": " + npy::quoted(entry.name);
    if (stem == before) throw DataError(place + ": the archive holds " + stem + ".bin twice");
    before = stem;
    append_cifar10(entry.bytes, place, stem == "test_batch" ? sets.test : sets.train);
  }
  for (const ImageSet* set : {&sets.train, &sets.test})
    if (set->count == 0)
      throw DataError(file.string() + ": the archive holds no " +
                      (set == &sets.train ? "data_batch_1.bin" : "test_batch.bin"));
  return sets;
}

std::optional<ImageSets> cifar_set(const fs::path& folder, Search& search) {
  std::vector<fs::path> train;
  for (const std::string& name : kCifarNames)
    if (fs::path file = plain_or_gzipped(folder, name); !file.empty()) train.push_back(std::move(file));
  const fs::path test = plain_or_gzipped(folder, kCifarNames.back());
  if (!test.empty()) train.pop_back();
  ImageSets sets;
  if (!train.empty() && !test.empty()) {
    sets = {load_cifar10(train), load_cifar10({&test, 1})};
  } else if (is_file(folder / kCifarArchive)) {
    sets = cifar_archive(folder / kCifarArchive);
  } else {
    search.missing.push_back(folder.string() + ": no " + (train.empty() ? "data_batch_1.bin[.gz]" : "") +
                             (train.empty() && test.empty() ? ", " : "") + (test.empty() ? "test_batch.bin[.gz]" : "") +
                             " and no " + kCifarArchive);
    return std::nullopt;
  }
  name_sets(sets, "cifar-10", cifar_class_names());
  return sets;
}

}  // namespace

ImageSets load_images(const fs::path& folder, int64_t height, int64_t width, int64_t channels,
                      double validation_split) {
  if (!(validation_split >= 0 && validation_split < 1))
    throw std::invalid_argument("load_images: validation_split is " + std::to_string(validation_split) +
                                "; expected a number from 0 up to, but not including, 1");
  Search search{height, width, channels, {}};
  if (is_file(folder)) {
    if (!search.fits(kCifarSide, kCifarSide, 3))
      throw DataError(folder.string() + ": an archive is read as CIFAR-10's, of 32x32x3; expected images of " +
                      extents_text(height, width, channels));
    ImageSets sets = cifar_archive(folder);
    name_sets(sets, "cifar-10", cifar_class_names());
    return sets;
  }
  if (!is_folder(folder))
    throw DataError(folder.string() + ": no such folder or archive; expected images of " +
                    extents_text(height, width, channels));
  if (channels == 1)
    for (const char* name : kIdxFolders)
      if (const fs::path place = *name ? folder / name : folder; is_folder(place))
        if (std::optional<ImageSets> sets = idx_set(place, search)) return std::move(*sets);
  if (search.fits(kCifarSide, kCifarSide, 3))
    for (const char* name : kCifarFolders)
      if (const fs::path place = *name ? folder / name : folder; is_folder(place))
        if (std::optional<ImageSets> sets = cifar_set(place, search)) return std::move(*sets);
  if (std::optional<ImageSets> sets = npy_set(folder, search)) return std::move(*sets);
  if (std::optional<ImageSets> sets = load_image_classes(folder, height, width, channels, validation_split)) {
    const std::vector<std::string> classes = sets->train.class_names;
    name_sets(*sets, last_name(folder), classes);
    return std::move(*sets);
  }
  search.missing.push_back(folder.string() + ": no folders with .png files, one for each class");

  std::string message = folder.string() + ": no images of " + extents_text(height, width, channels) + "; looked for";
  for (size_t i = 0; i < search.missing.size(); ++i) message += (i ? "; " : " ") + search.missing[i];
  throw DataError(message);
}

std::vector<fs::path> image_files(const fs::path& folder) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& file) {
    if (is_file(file)) files.push_back(file);
  };
  const auto add_all = [&](const fs::path& place, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      for (const char* ending : {"", ".gz"}) add(place / (name + ending));
  };
  add(folder);
  for (const char* name : kIdxFolders) add_all(folder / name, kIdxNames);
  for (const char* name : kCifarFolders) {
    add_all(folder / name, kCifarNames);
    add(folder / name / kCifarArchive);
  }
  add_all(folder, kNpyNames);
  add_all(folder, kSampleNames);
  const std::vector<fs::path> by_class = image_class_files(folder);
  files.insert(files.end(), by_class.begin(), by_class.end());
  return files;
}

std::optional<fs::path> data_folder(std::string_view given) {
  if (!given.empty()) return fs::path(given);
  if (const char* folder = std::getenv("SOFTAMP_DATA"); folder && *folder) return fs::path(folder);
  return std::nullopt;
}

}  // namespace softamp
