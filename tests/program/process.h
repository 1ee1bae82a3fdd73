// Runs the command `softamp`, as a user would, and collects what it says.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/files.h"

namespace softamp::test {

struct Outcome {
  int code;  ///< exit code; -1 where a signal ended the program
  std::string out, err;
};

/// Runs a shell command with `input` on its standard input.
inline Outcome run_shell(const std::string& command, const std::string& input = "") {
  const TemporaryFolder folder;
  write_text(folder.file("in"), input);
  const std::string line =
      "( " + command + " ) < " + folder.file("in") + " > " + folder.file("out") + " 2> " + folder.file("err");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder.file("out")), read_text(folder.file("err"))};
}

/// Runs `softamp` with these arguments, written as in a shell.
inline Outcome run_softamp(const std::string& arguments, const std::string& input = "") {
  return run_shell("'" SOFTAMP_PROGRAM "' " + arguments, input);
}

/// The message, once it has been seen to be a usage error.
inline std::string error_of(const std::string& arguments) {
  const Outcome outcome = run_softamp(arguments);
  EXPECT_EQ(outcome.code, 2) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  return outcome.err;
}

/// A usage error of `verb` with these words, before anything is printed.
inline void expect_complaint(const std::string& verb, const std::string& arguments, const std::string& words) {
  const Outcome o = run_softamp(verb + " " + arguments);
  EXPECT_EQ(o.code, 2) << arguments;
  EXPECT_EQ(o.err.find("softamp " + verb.substr(0, verb.find(' ')) + ": "), 0u) << o.err;
  EXPECT_NE(o.err.find(words), std::string::npos) << arguments << ": " << o.err;
  EXPECT_EQ(o.out, "") << arguments;
}

/// The words of a usage error of `verb` after its name, @ for the folder.
inline std::string complaint_of(const std::string& verb, const Outcome& o, const TemporaryFolder& folder,
                                const std::string& arguments) {
  const std::string name = "softamp " + verb + ": ";
  EXPECT_EQ(o.code, 2) << arguments << "\n" << o.err;
  EXPECT_EQ(o.out, "") << arguments;
  EXPECT_EQ(o.err.find(name), 0u) << o.err;
  return folder.without(o.err.substr(std::min(o.err.size(), name.size())), "@");
}

/// The JSON document of a text, without its provenance.
inline nlohmann::json without_provenance(const std::string& text) {
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_object()) document.erase("provenance");
  return document;
}

/// That of a run which ended well.
inline nlohmann::json json_of(const Outcome& o) {
  EXPECT_EQ(o.code, 0) << o.err;
  return without_provenance(o.out);
}
inline nlohmann::json json_of(const std::string& arguments) { return json_of(run_softamp(arguments)); }

}  // namespace softamp::test
