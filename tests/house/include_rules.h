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

/// A room of the house: the folders and files that are its place, and the rooms on which it stands. "emu/*": the files
/// in that folder itself, not those of folders in it.
struct Room {
  std::string name;
  std::vector<std::string> place;
  std::vector<std::string> stands_on;
  /// Takes the public headers alone of what it stands on (`include/`).
  bool by_public_headers = false;
};

inline const std::string kPublic = "include/softamp/";

/// A room of the library: its public headers, and its own.
inline Room library(const std::string& name, std::vector<std::string> stands_on) {
  return {name, {kPublic + name + "/", "src/" + name + "/"}, std::move(stands_on)};
}

/// An engine in a folder: what serves all families of operations lies in the folder itself, `bulk/` (emu alone) below
/// the families.
inline void add_engine(std::vector<Room>& rooms, const std::string& engine) {
  const std::vector<std::string> below = {"numerics", "numerics/block", "kernel", "machine",
                                          "names",    "tensor",         "graph",  "engine"};
  struct Family {
    const char* name;
    std::vector<const char*> stands_on;
  };
  static const std::vector<Family> kFamilies = {
      {"bulk", {}},
      {"blocks", {"bulk"}},
      {"structure", {"bulk"}},
      {"reductions", {"bulk"}},
      {"pooling", {"bulk"}},
      {"products", {"bulk"}},
      {"elementwise", {"bulk"}},
      {"quantization", {"bulk"}},
      {"convolutions", {"bulk", "products"}},
      {"functions", {"bulk", "elementwise"}},
      {"casts", {"bulk", "elementwise"}},
      {"random", {"bulk", "elementwise", "functions"}},
      {"optimizers", {"bulk", "elementwise", "reductions"}},
      {"softmax", {"bulk", "reductions"}},
      {"norms", {"bulk", "reductions"}},
  };
  const auto add = [&](const std::string& name, const std::string& place, std::vector<std::string> own) {
    own.insert(own.end(), below.begin(), below.end());
    rooms.push_back({name, {place}, std::move(own), true});
  };
  add(engine, engine + "/*", {});
  std::vector<std::string> all = {engine};
  for (const Family& family : kFamilies) {
    const std::string name = engine + "/" + family.name;
    std::vector<std::string> own = {engine};
    for (const char* other : family.stands_on) own.push_back(engine + "/" + other);
    add(name, name + "/", own);
    all.push_back(name);
  }
  add(engine + "/engine", engine + "/engine.cpp", all);
}

/// The rooms from the ground up. A room stands on rooms before it alone. docs/ARCHITECTURE.md draws the same picture.
inline const std::vector<Room>& rooms() {
  static const std::vector<Room> kRooms = [] {
    std::vector<Room> all = {
        {"numerics", {kPublic + "numerics/"}, {}},
        {"numerics/block", {kPublic + "numerics/block/"}, {"numerics"}},
        library("text", {}),
        library("files", {"text"}),
        library("machine", {"text"}),
        library("kernel", {"numerics", "numerics/block"}),
        library("names", {"numerics", "numerics/block", "text"}),
        library("numbers", {"numerics", "text", "machine"}),
        library("results", {"numerics", "text", "numbers"}),
        library("chips", {"numerics", "text", "names", "numbers"}),
        library("inspection", {"numerics", "text", "names", "numbers"}),
        library("tensor", {"numerics", "numerics/block", "text", "names", "numbers"}),
        library("arithmetic", {"numerics", "names", "chips"}),
        library("data", {"numerics", "text", "files", "machine", "tensor"}),
        library("findings", {"numerics", "text", "machine", "names", "numbers", "tensor"}),
        library("pictures", {"numerics", "text", "files", "machine", "numbers", "tensor"}),
        library("sums", {"numerics", "machine", "names", "numbers", "tensor"}),
        library("graph", {"numerics", "numerics/block", "text", "files", "machine", "kernel", "names", "numbers",
                          "tensor", "data", "findings"}),
        library("engine", {"numerics", "text", "machine", "kernel", "names", "tensor", "findings", "graph"}),
        library("precision",
                {"numerics", "text", "files", "machine", "names", "numbers", "results", "tensor", "graph"}),
        library("train", {"numerics", "text", "files", "machine", "kernel", "names", "numbers", "chips", "tensor",
                          "data", "findings", "pictures", "graph", "engine", "precision"}),
    };
    const std::vector<std::string> facade = {"numerics", "text",      "files", "machine",  "names",
                                             "numbers",  "tensor",    "data",  "findings", "graph",
                                             "engine",   "precision", "train"};
    for (const char* name : {"train/keras", "train/mindspore", "train/graphcore"}) all.push_back(library(name, facade));
    all.push_back({"minimal",
                   {"src/minimal/"},
                   {"numerics", "text", "files", "machine", "numbers", "data", "precision", "train"}});
    all.push_back({"exchange", {"src/exchange/"}, {"machine", "train"}});
    all.push_back({"reproduce",
                   {"src/reproduce/"},
                   {"numerics", "text", "files", "kernel", "names", "numbers", "results", "chips", "tensor", "data",
                    "findings", "pictures", "sums", "graph", "train"}});
    add_engine(all, "emu");
    add_engine(all, "cuda");
    all.push_back({"backend",
                   {"src/backend.h", "src/backend.cpp"},
                   {"machine", "names", "chips", "tensor", "graph", "emu", "cuda"}});
    const std::vector<std::string> shown = {
        "numerics", "numerics/block", "files", "machine",     "names",           "numbers",
        "chips",    "tensor",         "data",  "findings",    "pictures",        "sums",
        "graph",    "precision",      "train", "train/keras", "train/mindspore", "train/graphcore"};
    all.push_back({"softamp.h", {kPublic + "softamp.h"}, shown, true});
    std::vector<std::string> users = shown;
    users.insert(users.end(), {"text", "results", "inspection", "arithmetic", "reproduce", "backend"});
    all.push_back({"python", {"src/python/"}, users});
    users.push_back("exchange");
    std::erase_if(users, [](const std::string& name) { return name.starts_with("train/"); });
    all.push_back({"program", {"src/program/"}, users});
    std::vector<std::string> examples = shown;
    examples.push_back("softamp.h");
    all.push_back({"examples", {"examples/"}, examples, true});
    // Tests and benchmarks look into every room.
    std::vector<std::string> every;
    for (const Room& room : all) every.push_back(room.name);
    all.push_back({"tests", {"tests/"}, every});
    every.push_back("tests");
    all.push_back({"bench", {"bench/"}, every});
    return all;
  }();
  return kRooms;
}

inline bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

/// Whether a file lies in `folder`: a prefix, or "emu/*".
inline bool lies_in(const std::string& file, const std::string& folder) {
  if (!folder.ends_with('*')) return starts_with(file, folder);
  const size_t length = folder.size() - 1;
  return file.compare(0, length, folder, 0, length) == 0 && file.find('/', length) == std::string::npos;
}

/// The room of a file: that of the longest place; null if it lies in none.
inline const Room* room_of(const std::string& file) {
  const Room* found = nullptr;
  size_t longest = 0;
  for (const Room& room : rooms())
    for (const std::string& place : room.place)
      if (lies_in(file, place) && place.size() > longest) found = &room, longest = place.size();
  return found;
}

/// What is wrong with the list itself: a room that stands on one that does not come before it.
inline std::vector<std::string> wrong_order(const std::vector<Room>& list) {
  std::vector<std::string> faults, before;
  for (const Room& room : list) {
    for (const std::string& below : room.stands_on)
      if (std::find(before.begin(), before.end(), below) == before.end())
        faults.push_back(room.name + ": stands on " + below + ", which does not come before it");
    before.push_back(room.name);
  }
  return faults;
}

/// What is wrong with `file` including `target` (both relative to the repository root); empty if nothing.
// implements: N381, N387
inline std::string wrong_arrow(const std::string& file, const std::string& target) {
  const Room *room = room_of(file), *other = room_of(target);
  if (!room) return file + ": lies in no known folder";
  if (!other) return file + ": includes " + target + ", which lies in no known folder";
  // A public header shows nothing that is not installed.
  if (starts_with(file, kPublic) && !starts_with(target, kPublic))
    return file + ": is installed, and includes " + target + ", which is not";
  if (room == other) return {};
  if (std::find(room->stands_on.begin(), room->stands_on.end(), other->name) == room->stands_on.end())
    return file + ": may not include " + target + ": " + room->name + " does not stand on " + other->name;
  const bool inside_engine = starts_with(target, room->name.substr(0, room->name.find('/')) + "/");
  if (room->by_public_headers && !starts_with(target, kPublic) && !inside_engine)
    return file + ": may not include " + target + ": " + room->name + " takes public headers alone";
  return {};
}

/// The same for <header>: numerics/ takes the standard library without its containers, public headers the standard
/// library, all others anything.
inline std::string wrong_outside_header(const std::string& file, const std::string& header) {
  if (!starts_with(file, "include/")) return {};
  if (file == "include/softamp/findings/gtest.h" && header == "gtest/gtest.h") return {};
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
      const std::string ending = entry.path().extension().string();
      const bool includes = ending == ".h" || ending == ".cpp" || ending == ".cu" || ending == ".cuh";
      std::ifstream in(entry.path());
      int lines = 0;
      for (std::string line; std::getline(in, line); ++lines) {
        std::smatch match;
        if (!includes || !std::regex_search(line, match, kInclude)) continue;
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
