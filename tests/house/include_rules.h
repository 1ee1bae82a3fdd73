// The arrows of the house as data: which folder may include which, and a reader of #include lines that checks them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace softamp::house {

/// A folder (or one file) and what its files may include; the room with the longest matching prefix counts. "emu/*":
/// the files in that folder itself, not those of folders in it.
struct Room {
  std::string prefix;
  std::vector<std::string> may_include;
};

/// The families of operations in an engine's folder: what serves all of them lies above them, `bulk/` (emu alone)
/// below.
inline void add_families(std::vector<Room>& rooms, const std::string& engine, const std::string& inc) {
  struct Family {
    const char* name;
    std::vector<const char*> stands_on;
  };
  static const std::vector<Family> kFamilies = {
      {"bulk", {}},
      {"blocks", {}},
      {"structure", {}},
      {"reductions", {}},
      {"pooling", {}},
      {"products", {}},
      {"elementwise", {}},
      {"convolutions", {"products"}},
      {"functions", {"elementwise"}},
      {"casts", {"elementwise"}},
      {"random", {"elementwise", "functions"}},
      {"optimizers", {"elementwise", "reductions"}},
      {"softmax", {"reductions"}},
      {"norms", {"reductions"}},
      {"quantization", {}},
  };
  for (const Family& family : kFamilies) {
    Room room = {engine + family.name + "/", {inc, engine + "*", engine + "bulk/", engine + family.name + "/"}};
    for (const char* below : family.stands_on) room.may_include.push_back(engine + below + "/");
    rooms.push_back(room);
  }
}

/// docs/ARCHITECTURE.md draws the same picture.
inline const std::vector<Room>& rooms() {
  static const std::string inc = "include/softamp/";
  static const std::vector<Room> kRooms = [] {
    std::vector<Room> all = {
        {inc + "softamp.h", {inc}},
        {inc + "numerics/", {inc + "numerics/*"}},
        {inc + "numerics/block/", {inc + "numerics/"}},
        {inc + "kernel/", {inc + "kernel/", inc + "numerics/"}},
        {inc + "tensor/", {inc + "tensor/", inc + "numerics/"}},
        {inc + "data/", {inc + "data/", inc + "tensor/", inc + "numerics/"}},
        {inc + "report/", {inc + "report/", inc + "data/", inc + "tensor/", inc + "numerics/"}},
        {inc + "graph/", {inc + "graph/", inc + "report/", inc + "data/", inc + "tensor/", inc + "numerics/"}},
        {inc + "engine/",
         {inc + "engine/", inc + "kernel/", inc + "graph/", inc + "report/", inc + "data/", inc + "tensor/",
          inc + "numerics/"}},
        {inc + "precision/",
         {inc + "precision/", inc + "graph/", inc + "report/", inc + "data/", inc + "tensor/", inc + "numerics/"}},
        {inc + "train/",
         {inc + "train/*", inc + "precision/", inc + "graph/", inc + "report/", inc + "data/", inc + "tensor/",
          inc + "numerics/"}},
        {inc + "train/keras/",
         {inc + "train/*", inc + "train/keras/", inc + "precision/", inc + "graph/", inc + "tensor/"}},
        {inc + "train/mindspore/",
         {inc + "train/*", inc + "train/mindspore/", inc + "precision/", inc + "graph/", inc + "data/",
          inc + "tensor/"}},
        {inc + "train/graphcore/",
         {inc + "train/*", inc + "train/graphcore/", inc + "graph/", inc + "data/", inc + "tensor/"}},
        {"emu/", {"emu/*", inc}},
        {"emu/engine.cpp", {"emu/", inc}},
        {"cuda/", {"cuda/*", inc}},
        {"src/backend.cpp", {"src/", inc, "emu/", "cuda/"}},
        {"src/", {"src/", inc}},
        {"src/files/", {"src/files/"}},
        {"src/text/", {"src/text/"}},
        {"src/exchange/", {"src/exchange/", inc + "train/*", inc + "report/interrupt.h"}},
        {"bench/", {"bench/", "tests/", "emu/", "cuda/", "src/", inc}},
        {"examples/", {inc}},
        {"examples/tutorial/", {"examples/tutorial/", inc}},
        {"tests/", {"tests/", "emu/", "cuda/", "src/", inc}},
    };
    add_families(all, "emu/", inc);
    add_families(all, "cuda/", inc);
    return all;
  }();
  return kRooms;
}

inline bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

/// Whether a file lies in `folder`: a room's prefix, or "emu/*".
inline bool lies_in(const std::string& file, const std::string& folder) {
  if (!folder.ends_with('*')) return starts_with(file, folder);
  const size_t length = folder.size() - 1;
  return file.compare(0, length, folder, 0, length) == 0 && file.find('/', length) == std::string::npos;
}

/// What is wrong with `file` including `target` (both relative to the repository root); empty if nothing.
// implements: N381, N387
inline std::string wrong_arrow(const std::string& file, const std::string& target) {
  const Room* room = nullptr;
  for (const Room& r : rooms())
    if (starts_with(file, r.prefix) && (!room || r.prefix.size() > room->prefix.size())) room = &r;
  if (!room) return file + ": lies in no known folder";
  for (const char* folder : {"kernel/", "engine/"})
    if (starts_with(target, std::string("include/softamp/") + folder) &&
        (file == "include/softamp/softamp.h" || starts_with(file, "examples/")))
      return file + ": includes " + target + ", but " + folder + " is for executors, not for users";
  if (starts_with(target, "src/program/") && starts_with(file, "src/") && !starts_with(file, "src/program/"))
    return file + ": includes " + target + ", but the program stands on top of the library";
  if (starts_with(target, "src/python/") && !starts_with(file, "src/python/"))
    return file + ": includes " + target + ", but the module of Python stands on top of the library";
  if (starts_with(target, "src/reproduce/") && starts_with(file, "src/") && !starts_with(file, "src/program/") &&
      !starts_with(file, "src/python/") && !starts_with(file, "src/reproduce/"))
    return file + ": includes " + target + ", but the experiments stand on top of the library";
  if (starts_with(target, "src/exchange/") && starts_with(file, "src/") && !starts_with(file, "src/program/") &&
      !starts_with(file, "src/exchange/"))
    return file + ": includes " + target + ", but processes are the program's business, not the library's";
  for (const char* facade : {"train/keras/", "train/mindspore/", "train/graphcore/"})
    if (starts_with(file, "src/") && !starts_with(file, std::string("src/") + facade) &&
        (starts_with(target, std::string("include/softamp/") + facade) ||
         starts_with(target, std::string("src/") + facade)))
      return file + ": includes " + target + ", but what " + facade +
             " shows to its users stands on top of the library";
  for (const std::string& allowed : room->may_include)
    if (lies_in(target, allowed)) return {};
  return file + ": may not include " + target;
}

/// The same for <header>: numerics/ takes the standard library without its containers, public headers the standard
/// library, all others anything.
inline std::string wrong_outside_header(const std::string& file, const std::string& header) {
  if (!starts_with(file, "include/")) return {};
  if (file == "include/softamp/report/gtest.h" && header == "gtest/gtest.h") return {};
  if (header.find_first_of("/.") != std::string::npos)
    return file + ": public headers include the standard library alone, not <" + header + ">";
  static const std::vector<std::string> kContainers = {"vector", "map",  "unordered_map", "set",   "unordered_set",
                                                       "deque",  "list", "queue",         "stack", "forward_list"};
  if (starts_with(file, "include/softamp/numerics/") &&
      std::find(kContainers.begin(), kContainers.end(), header) != kContainers.end())
    return file + ": numerics/ includes no container, not <" + header + ">";
  return {};
}

/// Where a quoted #include of `file` leads: the public tree, the repository root, or the file's own folder.
inline std::string resolve(const std::filesystem::path& root, const std::string& file, const std::string& name) {
  if (starts_with(name, "softamp/")) return "include/" + name;
  if (std::filesystem::exists(root / name)) return name;
  return (std::filesystem::path(file).parent_path() / name).lexically_normal().generic_string();
}

inline bool is_source(const std::filesystem::path& path) {
  static const std::vector<std::string> kEndings = {".h", ".cpp", ".cu", ".cuh", ".sh", ".py", ".cmake"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

/// Every fault of the tree below `root`: wrong arrows, files above 600 lines, folders of more than 40 files or named
/// for nothing.
inline std::vector<std::string> faults_of(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^">]+)[">])");
  constexpr int kMostLines = 600;
  constexpr int kMostFiles = 40;
  std::vector<std::string> faults;
  std::map<std::string, int> files_in;
  for (const char* folder : {"include", "emu", "cuda", "src", "bench", "examples", "tests", "cmake"}) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string file = fs::relative(entry.path(), root).generic_string();
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && (name == "core" || name == "common" || name == "utils"))
        faults.push_back(file + ": a folder is named for what is in it, not " + name);
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      ++files_in[fs::path(file).parent_path().generic_string()];
      std::ifstream in(entry.path());
      int lines = 0;
      for (std::string line; std::getline(in, line); ++lines) {
        std::smatch match;
        if (!std::regex_search(line, match, kInclude)) continue;
        const bool quoted = match[1] == "\"";
        const std::string fault = quoted || starts_with(match[2], "softamp/")
                                      ? wrong_arrow(file, resolve(root, file, match[2]))
                                      : wrong_outside_header(file, match[2]);
        if (!fault.empty()) faults.push_back(fault);
      }
      if (lines > kMostLines) faults.push_back(file + ": has " + std::to_string(lines) + " lines, more than 600");
    }
  }
  for (const auto& [folder, count] : files_in)
    if (count > kMostFiles) faults.push_back(folder + ": has " + std::to_string(count) + " files, more than 40");
  return faults;
}

}  // namespace softamp::house
