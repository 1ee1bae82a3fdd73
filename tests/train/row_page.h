// Reads docs/TUTORIAL.md and docs/MIXED_PRECISION.md: tables of rows `| G01 | what it is | where it is shown |`, the
// last cell with one or more spans `file` or `file: Suite.Name` or `file: Suite.Name, Suite.Other`, files from the root
// of the repository.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/files.h"

namespace softamp::rows {

/// A page and the rows that it must have, each once.
struct Page {
  std::string file;
  std::vector<std::string> names;
};

inline void add_rows(std::vector<std::string>& names, const std::string& letter, int last, bool two_digits = true) {
  for (int i = 1; i <= last; ++i) names.push_back(letter + (two_digits && i < 10 ? "0" : "") + std::to_string(i));
}

/// TUTORIAL G01 to G47, X1 to X15: the rows of Graphcore's tutorial, and the traps.
inline Page tutorial() {
  Page page{"docs/TUTORIAL.md", {}};
  add_rows(page.names, "G", 47);
  add_rows(page.names, "X", 15, false);
  return page;
}

/// The rows of TensorFlow, Keras, MindSpore and Gaudi.
inline Page mixed_precision() {
  Page page{"docs/MIXED_PRECISION.md", {}};
  add_rows(page.names, "T", 19);
  add_rows(page.names, "K", 25);
  add_rows(page.names, "M", 20);
  add_rows(page.names, "H", 22);
  return page;
}

/// What is wrong with `file` or `file: Suite.Name, ...`.
inline std::vector<std::string> faults_of_reference(const std::string& reference, const std::filesystem::path& root) {
  const size_t colon = reference.find(": ");
  const std::string file = reference.substr(0, colon);
  if (!std::filesystem::is_regular_file(root / file)) return {"there is no file " + file};
  std::vector<std::string> faults;
  if (colon == std::string::npos) return faults;
  const std::string text = test::read_text(root / file);
  std::istringstream tests(reference.substr(colon + 2));
  for (std::string test; std::getline(tests >> std::ws, test, ',');) {
    const size_t dot = test.find('.');
    const bool there = dot != std::string::npos &&
                       std::regex_search(text, std::regex("(^|\n)(TYPED_)?TEST(_F|_P)?\\(" + test.substr(0, dot) +
                                                          ",\\s+" + test.substr(dot + 1) + "\\)"));
    if (!there) faults.push_back(file + " has no test " + test);
  }
  return faults;
}

/// Everything that is wrong with a page's text, in its order; missing rows last.
inline std::vector<std::string> faults_of(const std::string& page, const std::vector<std::string>& names,
                                          const std::filesystem::path& root) {
  static const std::regex kRow(R"(^\| ([A-Z][0-9]+) \|([^|]*)\|(.*)\|$)"), kSpan("`([^`]*)`");
  const std::set<std::string> known(names.begin(), names.end());
  std::set<std::string> seen;
  std::vector<std::string> faults;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, kRow)) continue;
    const std::string name = row[1], what = row[2], where = row[3];
    if (!known.contains(name)) {
      faults.push_back("row " + name + " is no row of this page");
      continue;
    }
    if (!seen.insert(name).second) faults.push_back("row " + name + " is there twice");
    if (what.find_first_not_of(' ') == std::string::npos) faults.push_back("row " + name + " does not say what it is");
    int references = 0;
    for (std::sregex_iterator span(where.begin(), where.end(), kSpan); span != std::sregex_iterator(); ++span) {
      ++references;
      for (const std::string& fault : faults_of_reference((*span)[1], root))
        faults.push_back("row " + name + ": " + fault);
    }
    if (references == 0) faults.push_back("row " + name + " points to nothing");
  }
  for (const std::string& name : names)
    if (!seen.contains(name)) faults.push_back("row " + name + " is missing");
  return faults;
}

inline std::vector<std::string> faults_of(const Page& page, const std::filesystem::path& root) {
  return faults_of(test::read_text(root / page.file), page.names, root);
}

}  // namespace softamp::rows
