// What a run reads and writes, so that nothing is written over what is read, and no two outputs are one file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace softamp::files {

struct Place;

/// Every verb lists its files here before it starts. Files are compared by identity, links followed; pipes and devices
/// are nobody's. Empty names are left out.
class RunFiles {
 public:
  /// what: in the words of messages, "the graph that is read".
  RunFiles& reads(std::string what, std::filesystem::path file);
  RunFiles& reads(const std::string& what, const std::vector<std::filesystem::path>& files);
  /// option: "--trace".
  RunFiles& writes(std::string option, std::filesystem::path file);
  /// The same for a file that may be one that is read: it is replaced after that, as by `softamp round A A`. The words
  /// of what is read name it.
  RunFiles& replaces(std::string option, std::filesystem::path file, std::string what);
  /// Files in a folder of which only the run knows which they are: all of the names that `may_be` knows, there or not.
  RunFiles& writes_into(std::string option, std::filesystem::path folder,
                        std::function<bool(const std::string& name)> may_be);

  /// Throws std::invalid_argument: "--trace: 'g.json' is the graph that is read; expected another file", "--plot:
  /// 'x.svg' is the file of --csv; expected another file", "--markdown: 'out/sums.csv' is one of the files of --out;
  /// expected another file", "--log: '.a.npz.part' is where --checkpoint has its file while that is written; expected
  /// another file", "--log: 'out' is standard output; expected another file, or /dev/stdout", "--csv:
  /// 'results' is a folder; expected the name of a file", "OUT: '-' does not stand for standard output; ...".
  void check() const;

  /// What is read, as it was named.
  std::vector<std::filesystem::path> inputs() const;

 private:
  struct Folder {
    std::string option;
    std::filesystem::path folder;
    std::function<bool(const std::string& name)> may_be;
    bool has(const Place& place) const;
  };
  struct Entry {
    std::string what;
    std::filesystem::path file;
    std::string but{};  ///< what is read and may be replaced
  };
  std::vector<Entry> read_, written_;
  std::vector<Folder> folders_;
};

}  // namespace softamp::files
