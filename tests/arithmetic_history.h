// What must hold of the history in arithmetic.json, as texts that say what does not.
#pragma once

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/pinned_digests.h"

namespace softamp::test {

using Faults = std::vector<std::string>;

/// Of a suite that is made, not written down: a digest of what it asks. Where it changes, the answers may.
inline const char* const kSuiteItself = "graphs and feeds";

/// Reads entry after entry, and knows what is pinned so far.
class HistoryReader {
 public:
  explicit HistoryReader(Faults& faults) : faults_(faults) {}

  void read(const nlohmann::json& entry) {
    ++number_;
    const auto allowed = std::set<std::string>{"version", "date", "moved", "suites", "digests"};
    for (const auto& [key, value] : entry.items())
      if (!allowed.contains(key)) fault("'" + key + "' is no part of an entry");
    const bool moved = entry.contains("moved");
    if (moved == entry.contains("suites")) fault("expected either 'moved' or 'suites'");
    read_version(entry.value("version", nlohmann::json()), moved);
    read_date(entry.value("date", std::string()));
    if (entry.value(moved ? "moved" : "suites", std::string()).empty()) fault("does not say what it is for");
    if (!moved && !entry.contains("digests")) fault("a change of suites without digests");
    const auto sections = entry.value("digests", nlohmann::json::object());
    for (const auto& [section, lines] : sections.items()) read_section(section, lines, moved);
  }

  int version() const { return version_; }
  const std::map<std::string, std::map<std::string, std::string>>& pinned() const { return pinned_; }

 private:
  void fault(const std::string& what) { faults_.push_back("entry " + std::to_string(number_) + ": " + what); }

  void read_version(const nlohmann::json& version, bool moved) {
    const int expected = version_ + (moved ? 1 : 0);
    if (version != expected) fault("version " + version.dump() + "; expected " + std::to_string(expected));
    if (version.is_number_integer()) version_ = version;
  }
  void read_date(const std::string& date) {
    static const std::regex kDate("20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])");
    if (!std::regex_match(date, kDate)) fault("date '" + date + "'; expected YYYY-MM-DD");
    if (date < date_) fault("date '" + date + "' is before " + date_);
    date_ = date;
  }
  void read_section(const std::string& section, const nlohmann::json& lines, bool moved) {
    std::map<std::string, std::string> digests;
    for (const std::string line : lines) {
      static const std::regex kDigest("[0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{64}");
      const auto [name, digest] = digest_of_line(line);
      if (name.empty() || !std::regex_match(digest, kDigest)) fault(section + ": '" + line + "' is no digest");
      if (!digests.insert({name, digest}).second) fault(section + ": '" + name + "' stands twice");
    }
    if (digests.empty()) fault(section + ": no digests");
    auto& before = pinned_[section];
    const bool other_suite = before.contains(kSuiteItself) && digests.contains(kSuiteItself) &&
                             before.at(kSuiteItself) != digests.at(kSuiteItself);
    for (const auto& [name, digest] : before) {
      const auto now = digests.find(name);
      if (moved || other_suite || (now != digests.end() && now->second == digest)) continue;
      fault(section + ": '" + name + (now == digests.end() ? "' is gone" : "' changed") +
            ", and the version did not; expected a new version, and what moved");
    }
    before = std::move(digests);
  }

  Faults& faults_;
  int number_ = 0, version_ = 0;
  std::string date_;
  std::map<std::string, std::map<std::string, std::string>> pinned_;
};

/// What is wrong with a history by itself, and with the version that the code has.
inline Faults faults_of_history(const nlohmann::json& file, int code_version) {
  Faults faults;
  HistoryReader reader(faults);
  for (const auto& entry : file.at("history")) reader.read(entry);
  if (reader.version() != code_version)
    faults.push_back("kArithmeticVersion is " + std::to_string(code_version) + "; expected " +
                     std::to_string(reader.version()) + ", as the newest entry has");
  return faults;
}

/// What of an earlier state of the file is not in a later one. Texts may be worded better.
inline Faults faults_between(const nlohmann::json& earlier, const nlohmann::json& later) {
  Faults faults;
  const auto& was = earlier.at("history");
  const auto& is = later.at("history");
  for (size_t i = 0; i < was.size(); ++i) {
    const std::string entry = "entry " + std::to_string(i + 1);
    if (i >= is.size()) {
      faults.push_back(entry + " is gone");
      continue;
    }
    for (const char* key : {"version", "date", "digests"})
      if (was[i].value(key, nlohmann::json()) != is[i].value(key, nlohmann::json()))
        faults.push_back(entry + ": its " + key + " changed; expected a new entry at the end");
  }
  return faults;
}

}  // namespace softamp::test
