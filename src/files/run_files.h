// What a run reads and writes, so that nothing is written over what is read, and no two outputs are one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace softamp::files {

/// Every verb lists its files here before it starts. Files are compared by identity, links followed; pipes and devices
/// are nobody's. Empty names are left out.
class RunFiles {
 public:
  /// what: in the words of messages, "the graph that is read".
  RunFiles& reads(std::string what, std::filesystem::path file);
  /// Everything in the folder is read.
  RunFiles& reads_folder(std::string what, std::filesystem::path folder);
  /// option: "--trace".
  RunFiles& writes(std::string option, std::filesystem::path file);

  /// Throws std::invalid_argument: "--trace: 'g.json' is the graph that is read; expected another file", "--plot:
  /// 'x.svg' is the file of --csv; expected another file", "--out: 'results' is a folder; expected the name of a file".
  void check() const;

 private:
  struct Entry {
    std::string what;
    std::filesystem::path file;
    bool folder = false;
  };
  std::vector<Entry> read_, written_;
};

}  // namespace softamp::files
